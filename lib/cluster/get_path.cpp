// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "tfd/base/text.hpp"
#include "tfd/cluster/formats.hpp"
#include "tfd/cluster/spec_json.hpp"

namespace tfd::cluster {
namespace {

/// "cluster.worker[1]" -> cluster, worker, [1].
struct Step {
  std::string text;
  bool index = false;
};

Result<std::vector<Step>> parse_path(std::string_view path) {
  std::vector<Step> steps;
  std::size_t at = 0;
  while (at < path.size()) {
    if (path[at] == '[') {
      const std::size_t close = path.find(']', at);
      if (close == std::string_view::npos || close == at + 1 ||
          path.substr(at + 1, close - at - 1).find_first_not_of("0123456789") != std::string_view::npos)
        return fail(Code::kInvalidArgument, "path '{}': '[' does not begin an [INDEX]", printable(path));
      steps.push_back({std::string(path.substr(at + 1, close - at - 1)), true});
      at = close + 1;
    } else {
      if (path[at] == '.' && at > 0) ++at;
      const std::size_t end = std::min(path.find_first_of(".[", at), path.size());
      if (end == at) return fail(Code::kInvalidArgument, "path '{}': a name is missing", printable(path));
      steps.push_back({std::string(path.substr(at, end - at)), false});
      at = end;
    }
  }
  if (steps.empty()) return fail(Code::kInvalidArgument, "the path is empty");
  return steps;
}

const JsonValue* step_into(const JsonValue& value, const Step& step) {
  if (!step.index || value.is(JsonValue::Kind::kObject)) return value.find(step.text);  // [3] of a sparse job
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(step.text.data(), step.text.data() + step.text.size(), index);
  if (error != std::errc{} || !value.is(JsonValue::Kind::kArray) || index >= value.items.size()) return nullptr;
  return &value.items[index];
}

std::string did_you_mean_member(const JsonValue& value, const Step& step) {
  const bool is_number = step.text.find_first_not_of("0123456789") == std::string::npos;
  if (!step.index && is_number && value.is(JsonValue::Kind::kArray))
    return fmt::format(" (a list: write [{}])", step.text);
  return step.index ? std::string() : did_you_mean(step.text, value.keys);
}

}  // namespace

Result<std::string> get_path(const ClusterConfig& config, std::string_view path) {
  const std::vector<Step> steps = TFD_TRY(parse_path(path));
  // 10 000 addresses are parsed only where they are asked for.
  const bool in_cluster = steps.front().text == "cluster";
  const JsonValue root =
      TFD_TRY(parse_json(config_with_spec_to_json(config, in_cluster ? config.cluster : ClusterSpec{}, false), "spec"));
  const JsonValue* here = &root;
  std::string walked;
  for (const Step& step : steps) {
    const std::string next = step.index ? fmt::format("{}[{}]", walked, step.text)
                                        : fmt::format("{}{}{}", walked, walked.empty() ? "" : ".", step.text);
    const JsonValue* found = step_into(*here, step);
    if (found == nullptr) {
      const std::string why = step.text == "task" && walked.empty() && !config.no_task_reason.empty()
                                  ? fmt::format(" ({})", config.no_task_reason)
                                  : did_you_mean_member(*here, step);
      return fail(Code::kNotFound, "the spec has no '{}'{}", printable(next), why);
    }
    here = found;
    walked = next;
  }
  if (here->is(JsonValue::Kind::kString)) return here->text;
  std::string out;
  append_json(out, *here);
  return out;
}

}  // namespace tfd::cluster
