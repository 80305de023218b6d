// SPDX-License-Identifier: Apache-2.0
#include "data_positions.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tfd/base/sha256.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::coordinator {
namespace {

using Json = nlohmann::ordered_json;

/// Digest of the pipelines that a step takes elements from.
std::string digest_of_data(const program::Program& program) {
  Sha256 sum;
  for (const program::InputBinding& input : program.find_function(program.train->function)->inputs) {
    const auto dataset = program.datasets.find(input.name);
    if (input.kind != program::InputKind::kDataset || dataset == program.datasets.end()) continue;
    sum.add_part(input.name);
    sum.add_part(data::to_json(dataset->second).dump());
  }
  return sum.hex().substr(0, 16);
}

bool is_progress(const Json& json) {
  const auto is_count = [&json](const char* key) {
    return json.contains(key) && json[key].is_number_unsigned() && json[key].get<std::uint64_t>() <= INT64_MAX;
  };
  return json.is_object() && is_count("steps") && is_count("returns");
}

}  // namespace

std::string format_data_progress(const program::Program& program, const std::map<std::string, DataProgress>& progress) {
  Json json{{"datasets", digest_of_data(program)}, {"workers", Json::object()}};
  for (const auto& [worker, one] : progress) json["workers"][worker] = {{"steps", one.steps}, {"returns", one.returns}};
  return json.dump();
}

DataPositions parse_data_positions(const program::Program& program, std::string_view text, std::int64_t step) {
  const Json json = Json::parse(text, nullptr, false);
  const bool is_ours = json.is_object() && json.contains("workers") && json["workers"].is_object() &&
                       json.contains("datasets") && json["datasets"].is_string() &&
                       std::ranges::all_of(json["workers"], is_progress);
  if (!is_ours) return {.shared_steps = step};
  const bool has_changed = json["datasets"].get<std::string>() != digest_of_data(program);
  DataPositions out;
  for (const auto& [worker, one] : json["workers"].items()) {
    DataProgress& progress = out.of[worker];
    progress = {one["steps"].get<std::int64_t>(), one["returns"].get<std::uint64_t>()};
    if (has_changed) progress = {0, progress.returns + 1};
  }
  return out;
}

}  // namespace tfd::coordinator
