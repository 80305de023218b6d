// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/run_end.hpp"

#include <charconv>
#include <chrono>
#include <filesystem>

#include "tfd/base/json_line.hpp"
#include "tfd/cluster/json_value.hpp"
#include "tfd/tensor/file.hpp"

namespace tfd::strategy {
namespace {

constexpr std::uint64_t kMostBytes = 64 << 10;

std::string path_in(const std::string& directory) { return directory + "/end.json"; }

std::string rule_of(const program::TrainDef& train) {
  if (!train.stop) return {};
  const program::StopDef& stop = *train.stop;
  return fmt::format("{} {} patience {} min_delta {}", stop.by.higher ? "max" : "min", stop.by.metric, stop.patience,
                     stop.min_delta);
}

std::string text_of(const cluster::JsonValue& object, std::string_view key) {
  const cluster::JsonValue* value = object.find(key);
  return value != nullptr ? value->text : std::string();
}

}  // namespace

RunEnd make_run_end(const program::TrainDef& train, const std::string& reason, std::int64_t step) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {reason, step, rule_of(train),
          fmt::format("{}", std::chrono::duration_cast<std::chrono::microseconds>(now).count())};
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
  line.add("v", 1).add("reason", end.reason).add("step", end.step).add("rule", end.rule).add("time", end.time);
  return tensor::write_file_atomically(path_in(directory), std::move(line).text());
}

std::optional<RunEnd> find_run_end(const std::string& directory) {
  const auto text = tensor::load_file(path_in(directory), kMostBytes);
  if (!text) return std::nullopt;
  const auto json = cluster::parse_json(*text, path_in(directory));
  if (!json || text_of(*json, "v") != "1") return std::nullopt;
  RunEnd end{text_of(*json, "reason"), 0, text_of(*json, "rule"), text_of(*json, "time")};
  const std::string step = text_of(*json, "step");
  if (std::from_chars(step.data(), step.data() + step.size(), end.step).ec != std::errc()) return std::nullopt;
  return end;
}

void remove_run_end(const std::string& directory) {
  std::error_code error;
  std::filesystem::remove(path_in(directory), error);
}

}  // namespace tfd::strategy
