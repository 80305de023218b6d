// SPDX-License-Identifier: Apache-2.0
#include "tfd/cluster/cluster_config.hpp"

#include "tfd/base/json_line.hpp"
#include "tfd/base/text.hpp"
#include "tfd/cluster/json_value.hpp"
#include "tfd/cluster/spec_json.hpp"

namespace tfd::cluster {
namespace {

using Kind = JsonValue::Kind;

/// null counts as absent.
Result<std::optional<std::string>> string_member(const JsonValue& value, std::string_view where) {
  if (value.is(Kind::kNull)) return std::nullopt;
  if (!value.is(Kind::kString))
    return fail(Code::kInvalidArgument, "{}: must be a string, not {}", where, kind_name(value));
  return value.text;
}

Result<std::map<std::string, int>> read_accelerators(const JsonValue& value) {
  std::map<std::string, int> counts;
  if (value.is(Kind::kNull)) return counts;
  if (!value.is(Kind::kObject))
    return fail(Code::kInvalidArgument, "num_accelerators: must be an object, not {}", kind_name(value));
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const auto count = value.items[i].is(Kind::kInteger) ? to_int(value.items[i]) : std::nullopt;
    if (!count || *count < 0)
      return fail(Code::kInvalidArgument, "num_accelerators.{}: must be an integer >= 0", printable(value.keys[i]));
    counts[value.keys[i]] = *count;
  }
  return counts;
}

/// `extra` gets everything but type and index.
Result<std::optional<TaskId>> read_task(const JsonValue& value, JsonValue& extra) {
  if (value.is(Kind::kNull)) return std::nullopt;
  if (!value.is(Kind::kObject))
    return fail(Code::kInvalidArgument, "task: must be an object, not {}", kind_name(value));
  JsonValue rest{.kind = Kind::kObject};
  for (std::size_t i = 0; i < value.items.size(); ++i)
    if (value.keys[i] != "type" && value.keys[i] != "index") rest.set(value.keys[i], value.items[i]);
  if (!rest.keys.empty()) extra.set("task", std::move(rest));

  const JsonValue* type = value.find("type");
  const JsonValue* index = value.find("index");
  if (type == nullptr && index == nullptr) return std::nullopt;
  if (type == nullptr) return fail(Code::kInvalidArgument, "task.type: missing (task.index requires it)");
  if (index == nullptr) return fail(Code::kInvalidArgument, "task.index: missing (task.type requires it)");
  if (!type->is(Kind::kString))
    return fail(Code::kInvalidArgument, "task.type: must be a string, not {}", kind_name(*type));
  const auto number = to_int(*index);
  if (!number || *number < 0)
    return fail(Code::kInvalidArgument, "task.index: must be an integer >= 0, not {}", kind_name(*index));
  return TaskId{type->text, *number};
}

Result<void> read_member(ClusterConfig& config, const std::string& key, const JsonValue& value, JsonValue& extra) {
  if (key == "cluster") {
    config.cluster = TFD_TRY(spec_from_value(value, key));
  } else if (key == "task") {
    config.task = TFD_TRY(read_task(value, extra));
  } else if (key == "rpc_layer") {
    config.rpc_layer = TFD_TRY(string_member(value, key));
  } else if (key == "environment") {
    config.environment = TFD_TRY(string_member(value, key));
  } else if (key == "master") {
    config.master = TFD_TRY(string_member(value, key));
  } else if (key == "resolver") {
    config.resolver = TFD_TRY(string_member(value, key));
  } else if (key == "num_accelerators") {
    config.num_accelerators = TFD_TRY(read_accelerators(value));
  } else {
    extra.set(key, value);
  }
  return {};
}

Result<ClusterConfig> read_config(const JsonValue& root) {
  if (!root.is(Kind::kObject)) return fail(Code::kInvalidArgument, "must be a JSON object, not {}", kind_name(root));
  ClusterConfig config;
  JsonValue extra{.kind = Kind::kObject};
  for (std::size_t i = 0; i < root.items.size(); ++i) TFD_TRY(read_member(config, root.keys[i], root.items[i], extra));
  if (!extra.keys.empty()) {
    config.extra.clear();
    append_json(config.extra, extra);
  }
  return config;
}

/// Writes members one by one: on one line, or each on a line of its own.
class Members {
 public:
  Members(std::string& out, bool pretty) : out_(out), pretty_(pretty) { out_ += '{'; }
  std::string& key(std::string_view name) {
    if (!first_) out_ += pretty_ ? "," : ", ";
    if (pretty_) out_ += "\n  ";
    first_ = false;
    append_json_string(name, out_);
    return out_ += ": ";
  }
  void text(std::string_view name, const std::optional<std::string>& value) {
    if (value) append_json_string(*value, key(name));
  }
  void end() { out_ += pretty_ && !first_ ? "\n}\n" : "}\n"; }

 private:
  std::string& out_;
  bool pretty_;
  bool first_ = true;
};

void append_spec_pretty(std::string& out, const ClusterSpec& spec) {
  out += '{';
  bool first = true;
  for (const std::string& job : spec.jobs()) {
    out += std::exchange(first, false) ? "\n    " : ",\n    ";
    ClusterSpec one;
    one.add_job(job);
    for (const auto& [index, address] : *spec.find_job(job)) one.add_task(job, index, address);
    std::string text;
    append_spec(text, one);
    out += std::string_view(text).substr(1, text.size() - 2);
  }
  out += first ? "}" : "\n  }";
}

}  // namespace

Result<ClusterConfig> cluster_config_from_json(std::string_view text, std::string_view source) {
  const JsonValue root = TFD_TRY(parse_json(text, source));
  return TFD_TRY(read_config(root), source);
}

Result<ClusterSpec> cluster_spec_from_json(std::string_view text, std::string_view source) {
  const JsonValue root = TFD_TRY(parse_json(text, source));
  return TFD_TRY(spec_from_value(root, "cluster"), source);
}

std::string cluster_spec_to_json(const ClusterSpec& spec) {
  std::string out;
  append_spec(out, spec);
  return out;
}

std::string stated_text(const ClusterConfig& config, std::string_view key) {
  const auto extra = parse_json(config.extra, "cluster spec");
  const JsonValue* stated = extra ? extra->find(key) : nullptr;
  return stated != nullptr && stated->is(JsonValue::Kind::kString) ? stated->text : "";
}

std::string cluster_config_to_json(const ClusterConfig& config, bool pretty) {
  return config_with_spec_to_json(config, config.cluster, pretty);
}

std::string config_with_spec_to_json(const ClusterConfig& config, const ClusterSpec& spec, bool pretty) {
  JsonValue extra;
  if (config.extra != "{}")
    if (auto parsed = parse_json(config.extra, "extra")) extra = std::move(*parsed);
  const JsonValue* task_extra = extra.find("task");

  std::string out;
  Members members(out, pretty);
  if (pretty) {
    append_spec_pretty(members.key("cluster"), spec);
  } else {
    append_spec(members.key("cluster"), spec);
  }
  if (config.task) {
    append_task(members.key("task"), *config.task, task_extra);
  } else if (task_extra != nullptr) {
    append_json(members.key("task"), *task_extra);
  }
  members.text("rpc_layer", config.rpc_layer);
  members.text("environment", config.environment);
  members.text("master", config.master);
  if (!config.num_accelerators.empty()) {
    std::string& counts = members.key("num_accelerators");
    counts += '{';
    for (const auto& [name, count] : config.num_accelerators) {
      if (counts.back() != '{') counts += ", ";
      append_json_string(name, counts);
      counts += fmt::format(": {}", count);
    }
    counts += '}';
  }
  members.text("resolver", config.resolver);
  for (std::size_t i = 0; i < extra.keys.size(); ++i)
    if (extra.keys[i] != "task") append_json(members.key(extra.keys[i]), extra.items[i]);
  members.end();
  return out;
}

}  // namespace tfd::cluster
