// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/run_end.hpp"

#include <chrono>
#include <filesystem>

#include "notes.hpp"
#include "tfd/base/json_line.hpp"

namespace tfd::strategy {
namespace {

std::string path_in(const std::string& directory) { return directory + "/end.json"; }

std::string rule_of(const program::TrainDef& train) {
  if (!train.stop) return {};
  const program::StopDef& stop = *train.stop;
  return fmt::format("{} {} patience {} min_delta {}", stop.by.higher ? "max" : "min", stop.by.metric, stop.patience,
                     stop.min_delta);
}

}  // namespace

RunEnd make_run_end(const program::TrainDef& train, const std::string& reason, std::int64_t step) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {reason,
          step,
          rule_of(train),
          fmt::format("{}", std::chrono::duration_cast<std::chrono::microseconds>(now).count()),
          {}};
}

std::string rule_of_epochs(std::int64_t stated) { return fmt::format("{} steps of epochs", stated); }

bool is_over(const RunEnd& end, const program::TrainDef& train) {
  if (end.reason == "stopped") return train.stop && end.rule == rule_of(train);
  if (end.reason == "end_of_data") return !train.steps;
  if (end.reason != "done" || !train.steps) return false;
  return end.step >= *train.steps || end.rule == rule_of_epochs(*train.steps);
}

Result<void> save_run_end(const std::string& directory, const RunEnd& end) {
  JsonLine line;
  line.add("v", 1)
      .add("reason", end.reason)
      .add("step", end.step)
      .add("rule", end.rule)
      .add("time", end.time)
      .add("run", end.run);
  return save_file(path_in(directory), std::move(line).text());
}

std::optional<RunEnd> find_run_end(const std::string& directory) {
  const auto json = load_note(path_in(directory));
  if (!json || text_in(*json, "v") != "1") return std::nullopt;
  RunEnd end{text_in(*json, "reason"), 0, text_in(*json, "rule"), text_in(*json, "time"), text_in(*json, "run")};
  const auto step = number_in<std::int64_t>(*json, "step");
  if (!step) return std::nullopt;
  end.step = *step;
  return end;
}

void remove_run_end(const std::string& directory) {
  std::error_code error;
  std::filesystem::remove(path_in(directory), error);
}

}  // namespace tfd::strategy
