#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A training on the bed's cluster, and what its checkpoints say.
#include "bed.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "tfd/coordinator/trainer.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::bed {

using coordinator::ClusterCoordinator;
using coordinator::CoordinatorOptions;
using coordinator::Interrupts;
using coordinator::OnServerLost;
using coordinator::TrainOptions;
using coordinator::TrainSummary;
using nlohmann::json;

/// A training with its events.
struct Training {
  Bed& bed;
  program::Program program;
  TrainOptions options;
  std::mutex mutex;
  std::vector<json> events;
  std::function<void(const json&)> on_event;
  OnServerLost on_lost;
  std::function<void()> on_connected;  // before anything is restored

  Training(Bed& with, std::vector<std::string> overrides) : bed(with), program(make_program(std::move(overrides))) {
    options.interrupts = std::make_shared<Interrupts>();
    options.write_event = [this](std::string_view line) -> Result<void> {
      CHECK(line.ends_with("\n"));
      const json event = json::parse(line);
      {
        const std::scoped_lock lock(mutex);
        events.push_back(event);
      }
      if (on_event) on_event(event);
      return {};
    };
  }

  /// Kills these tasks once the checkpoint of step 40 is written, the first time.
  void kill_at_checkpoint(std::vector<std::string> tasks) {
    on_event = [this, tasks = std::move(tasks)](const json& event) mutable {
      if (event["event"] != "checkpoint" || event["step"] != 40) return;
      for (const std::string& task : std::exchange(tasks, {})) bed.kill(task);
    };
  }

  Result<TrainSummary> run() {
    const auto connect = [this](CoordinatorOptions with) {
      auto connected = ClusterCoordinator::connect(program, bed.config(), std::move(with));
      if (connected && on_connected) on_connected();
      return connected;
    };
    return coordinator::train(program, connect, bed.options(), options, on_lost);
  }
  TrainSummary run_well() {
    auto summary = run();
    if (!summary) FAIL(summary.error().message);
    return *summary;
  }
  std::vector<json> of(const std::string& kind) {
    const std::scoped_lock lock(mutex);
    std::vector<json> out;
    for (const json& event : events)
      if (event["event"] == kind) out.push_back(event);
    return out;
  }
};

inline std::int32_t value_in(const std::string& directory, const std::string& name) {
  auto checkpoint = variable::load_latest_checkpoint(directory, nullptr);
  REQUIRE(checkpoint);
  REQUIRE(*checkpoint);
  for (const auto& [key, value] : (*checkpoint)->state)
    if (key == name) return number(value);
  FAIL("no " << name);
  return -1;
}

inline std::vector<std::string> checkpointing(const std::string& directory, int every) {
  return {"train.checkpoint={\"dir\": \"" + directory + "\", \"every\": " + std::to_string(every) + "}"};
}

}  // namespace tfd::bed
