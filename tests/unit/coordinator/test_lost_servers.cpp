// SPDX-License-Identifier: Apache-2.0
//
// Trainings that lose parameter servers and begin again by themselves.
#include "training.hpp"

#include <utility>

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

TEST_CASE("trainer: lost parameter servers are waited for, and no step counts twice") {
  TemporaryDirectory directory;
  Bed bed;
  auto overrides = checkpointing(directory.path(), 20);
  overrides.push_back("train.steps=300");
  Training training(bed, overrides);
  std::vector<std::string> killed;
  training.on_event = [&](const json& event) {
    const auto kill_once = [&](const std::string& server) {
      if (std::ranges::find(killed, server) != killed.end()) return;
      killed.push_back(server);
      bed.kill(server);
    };
    if (event["event"] == "checkpoint" && event["step"] == 40) kill_once("ps:1");
    if (event["event"] == "step" && event["step"] == 150) kill_once("ps:0");
  };
  training.on_lost = [&, failures = 0](Error& lost) mutable -> std::optional<train::ServerLoss> {
    CHECK(lost.task == killed.back());
    bed.start(lost.task);
    return train::ServerLoss{++failures, 3, 20s};
  };
  const auto summary = training.run_well();
  CHECK(summary.reason == "done");
  CHECK(summary.first_step == 0);
  CHECK(summary.step == 300);
  CHECK(value_in(directory.path(), "v") == 300);
  CHECK(value_in(directory.path(), "n") == 300);
  const auto losses = training.of("server"), starts = training.of("start");
  REQUIRE(losses.size() == 2);
  REQUIRE(starts.size() == 3);
  CHECK(losses[0]["task"] == "ps:1");
  CHECK(losses[0]["state"] == "lost");
  CHECK(losses[1]["task"] == "ps:0");
  CHECK(losses[1]["failure"] == 2);
  CHECK(losses[1]["max_failures"] == 3);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(starts[i + 1]["step"] <= losses[i]["step"]);
    CHECK(starts[i + 1]["step"].get<int>() % 20 == 0);
    CHECK(starts[i + 1].contains("resumed_from"));
  }
  for (const json& event : training.of("step"))
    CHECK(event["metrics"]["loss"] == event["step"].get<double>() - 5.5);  // of the ten steps before it
  CHECK(training.of("end").size() == 1);
}

TEST_CASE(
    "trainer: where nothing was saved it starts from the beginning, and what was there before is moved aside once") {
  TemporaryDirectory directory;
  Bed bed;
  auto overrides = checkpointing(directory.path(), 1000);
  overrides.push_back("train.steps=50");
  Training(bed, overrides).run_well();
  Training training(bed, overrides);
  training.options.start_over = true;
  std::vector<std::string> said;
  training.options.say = [&](const std::string& line) { said.push_back(line); };
  training.on_event = [&, first = true](const json& event) mutable {
    if (event["event"] == "step" && event["step"] == 20 && std::exchange(first, false)) bed.kill("ps:0");
  };
  training.on_lost = [&](Error& lost) {
    bed.start(lost.task);
    return train::ServerLoss{1, 1, 20s};
  };
  training.run_well();
  CHECK(training.of("start")[1]["step"] == 0);
  CHECK(value_in(directory.path(), "n") == 50);
  const auto count = [&](std::string_view text) {
    return std::ranges::count_if(said, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  CHECK(count("starting over") == 1);
  CHECK(count("nothing was saved: the training starts from the beginning") == 1);
  CHECK(count("failure 1, at most 1: waiting up to 20s for it (--join)") == 1);
}

TEST_CASE("trainer: a parameter server that doesn't come back ends it, with the checkpoint to continue from") {
  TemporaryDirectory directory;
  Bed bed;
  auto overrides = checkpointing(directory.path(), 20);
  overrides.push_back("train.steps=100000");
  Training training(bed, overrides);
  training.kill_at_checkpoint({"ps:1"});
  SUBCASE("within the time") {
    training.on_lost = [](Error&) { return train::ServerLoss{1, 1, 100ms}; };
    const auto result = training.run();
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Code::kDeadlineExceeded);
    CHECK(result.error().message.find("ps:1") != std::string::npos);
    CHECK(result.error().message.find("the same command continues from") != std::string::npos);
    CHECK(training.of("end")[0]["reason"] == "error");
  }
  SUBCASE("and too many were lost before") {
    training.on_lost = [](Error& lost) -> std::optional<train::ServerLoss> {
      lost.message += "; that was one too many";
      return std::nullopt;
    };
    const auto result = training.run();
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Code::kUnavailable);
    CHECK(result.error().message.find("; that was one too many; once it serves again, the same command") !=
          std::string::npos);
    CHECK(training.of("server").empty());
  }
  SUBCASE("and it is asked to end meanwhile") {
    training.on_lost = [&](Error&) { return train::ServerLoss{1, 1, 60s}; };
    Clock::time_point first_steps;
    Duration trained{};
    training.on_event = [&, kill = training.on_event](const json& event) {
      kill(event);
      if (event["event"] == "step" && event["step"] == 10) first_steps = Clock::now();
      if (event["event"] != "server") return;
      trained = Clock::now() - first_steps;
      training.options.interrupts->ask_stop();
    };
    const auto summary = training.run_well();
    CHECK(summary.reason == "interrupted");
    CHECK(summary.elapsed >= trained);
    CHECK(summary.step % 20 == 0);
    CHECK(value_in(directory.path(), "n") == summary.step);
    CHECK(training.of("end")[0]["reason"] == "interrupted");
  }
}

TEST_CASE("trainer: a parameter server that is lost while the checkpoint is restored is waited for, too") {
  TemporaryDirectory directory;
  Bed bed;
  auto overrides = checkpointing(directory.path(), 20);
  overrides.push_back("train.steps=100");
  Training training(bed, overrides);
  training.kill_at_checkpoint({"ps:1"});
  training.on_connected = [&, connections = 0]() mutable {
    if (++connections == 2) bed.kill("ps:0");
  };
  training.on_lost = [&, failures = 0](Error& lost) mutable {
    bed.start(lost.task);
    return train::ServerLoss{++failures, 3, 20s};
  };
  CHECK(training.run_well().reason == "done");
  const auto losses = training.of("server"), starts = training.of("start");
  REQUIRE(losses.size() == 2);
  CHECK(losses[0]["task"] == "ps:1");
  CHECK(losses[1]["task"] == "ps:0");
  REQUIRE(starts.size() == 2);
  CHECK(starts[1].contains("resumed_from"));
  CHECK(losses[1]["step"] == starts[1]["step"]);
  CHECK(value_in(directory.path(), "v") == 100);
  CHECK(value_in(directory.path(), "n") == 100);
}

TEST_CASE("trainer: a parameter server that is lost before the first step is waited for, too") {
  TemporaryDirectory directory;
  Bed bed;
  auto overrides = checkpointing(directory.path(), 20);
  overrides.push_back("train.steps=50");
  Training(bed, overrides).run_well();
  Training training(bed, overrides);
  training.options.start_over = true;
  training.on_connected = [&, first = true]() mutable {
    if (std::exchange(first, false)) bed.kill("ps:0");
  };
  training.on_lost = [&](Error& lost) {
    bed.start(lost.task);
    return train::ServerLoss{1, 1, 20s};
  };
  const auto begun = Clock::now();
  const auto summary = training.run_well();
  CHECK(summary.reason == "done");
  CHECK(summary.first_step == 0);
  CHECK(summary.elapsed <= Clock::now() - begun);
  CHECK(training.of("server").size() == 1);
  REQUIRE(training.of("start").size() == 1);
  CHECK(training.of("start")[0]["step"] == 0);
  CHECK(value_in(directory.path(), "n") == 50);
}

TEST_CASE("trainer: all parameter servers lost at once are one failure") {
  TemporaryDirectory directory;
  Bed bed;
  auto overrides = checkpointing(directory.path(), 20);
  overrides.push_back("train.steps=100");
  Training training(bed, overrides);
  training.kill_at_checkpoint({"ps:0", "ps:1"});
  training.on_lost = [&](Error&) {
    bed.start("ps:0");
    bed.start("ps:1");
    return train::ServerLoss{1, 1, 20s};
  };
  CHECK(training.run_well().reason == "done");
  CHECK(training.of("server").size() == 1);
  CHECK(value_in(directory.path(), "v") == 100);
  CHECK(value_in(directory.path(), "n") == 100);
}

TEST_CASE("trainer: one that waits for a parameter server doesn't take the cluster from who has come meanwhile") {
  TemporaryDirectory directory;
  Bed bed;
  auto overrides = checkpointing(directory.path(), 20);
  overrides.push_back("train.steps=100000");
  Training training(bed, overrides);
  training.kill_at_checkpoint({"ps:0"});
  std::unique_ptr<ClusterCoordinator> other;
  training.on_lost = [&](Error& lost) {
    bed.start(lost.task);
    other = bed.connect();
    return train::ServerLoss{1, 1, 20s};
  };
  const auto result = training.run();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kPermissionDenied);
  CHECK(result.error().message.find("is in use by") != std::string::npos);
  CHECK(training.of("end")[0]["reason"] == "error");
}
