// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tfd/base/text.hpp"
#include "tfd/cluster/spec_json.hpp"
#include "tfd/resolve/masters.hpp"

namespace tfd::resolve {
namespace {

using cluster::JsonValue;
using Kind = JsonValue::Kind;

/// `key in value` and then value[key], as Python does it: a list and a string can be asked too, but not indexed.
Result<const JsonValue*> look_up(const JsonValue& value, std::string_view key, std::string_view what) {
  const auto is_key = [&](const JsonValue& item) { return item.is(Kind::kString) && item.text == key; };
  bool refused = false;
  switch (value.kind) {
    case Kind::kObject:
      return value.find(key);
    case Kind::kArray:
      refused = std::any_of(value.items.begin(), value.items.end(), is_key);
      break;
    case Kind::kString:
      refused = value.text.find(key) != std::string::npos;
      break;
    default:
      refused = true;
  }
  if (refused) return fail(Code::kInvalidArgument, "{}: must be an object, not {}", what, kind_name(value));
  return nullptr;
}

/// Python's str(), where that is of use.
Result<std::string> to_text(const JsonValue& value, std::string_view what) {
  switch (value.kind) {
    case Kind::kString:
    case Kind::kInteger:
    case Kind::kFloat:
      return value.text;
    case Kind::kBool:
      return std::string(value.boolean ? "True" : "False");
    case Kind::kNull:
      return std::string("None");
    default:
      return fail(Code::kInvalidArgument, "{}: must be a string, not {}", what, kind_name(value));
  }
}

/// "GPU" of "/job:worker/replica:0/task:0/device:GPU:0".
std::string_view device_type(std::string_view device) {
  constexpr std::string_view kMark = "/device:";
  const std::size_t at = device.rfind(kMark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = device.substr(at + kMark.size());
  return rest.substr(0, rest.find(':'));
}

}  // namespace

TfConfigView::TfConfigView(const std::optional<std::string>& text, MasterQuery overrides)
    : root_(cluster::parse_json(text ? *text : "{}", "TF_CONFIG")), overrides_(std::move(overrides)) {}

Result<const JsonValue*> TfConfigView::find(std::string_view key) const {
  if (!root_) return fail(root_.error());
  return look_up(*root_, key, "TF_CONFIG");
}

Result<const JsonValue*> TfConfigView::find_in_task(std::string_view key) const {
  const JsonValue* task = TFD_TRY(find("task"));
  if (task == nullptr) return nullptr;
  return look_up(*task, key, "TF_CONFIG: task");
}

Result<cluster::ClusterSpec> TfConfigView::cluster_spec() const {
  const JsonValue* value = TFD_TRY(find("cluster"));
  if (value == nullptr) return cluster::ClusterSpec{};
  return TFD_TRY(cluster::spec_from_value(*value, "cluster"), "TF_CONFIG");
}

Result<std::optional<std::string>> TfConfigView::task_type() const {
  if (overrides_.task_type) return overrides_.task_type;
  const JsonValue* type = TFD_TRY(find_in_task("type"));
  if (type == nullptr) return std::nullopt;
  return TFD_TRY(to_text(*type, "TF_CONFIG: task.type"));
}

Result<std::optional<int>> TfConfigView::task_id() const {
  if (overrides_.task_id) return overrides_.task_id;
  const JsonValue* index = TFD_TRY(find_in_task("index"));
  if (index == nullptr) return std::nullopt;
  const auto number = cluster::to_int(*index);
  if (number) return number;
  std::string shown;
  append_json(shown, *index);
  return fail(Code::kInvalidArgument, "TF_CONFIG: task.index: {} is not an integer", printable(shown));
}

Result<std::optional<std::string>> TfConfigView::rpc_layer() const {
  if (overrides_.rpc_layer) return overrides_.rpc_layer;
  const JsonValue* layer = TFD_TRY(find("rpc_layer"));
  if (layer == nullptr || layer->is(Kind::kNull)) return std::nullopt;
  return TFD_TRY(to_text(*layer, "TF_CONFIG: rpc_layer"));
}

Result<std::string> TfConfigView::master(const MasterQuery& query) const {
  const JsonValue* session_master = TFD_TRY(find("session_master"));
  if (session_master != nullptr && !session_master->is(Kind::kNull))
    return to_text(*session_master, "TF_CONFIG: session_master");

  const cluster::ClusterSpec spec = TFD_TRY(cluster_spec());
  const std::vector<std::string> jobs = spec.jobs();
  if (jobs.empty()) return std::string();
  if (jobs.size() == 1) {
    const auto& tasks = *spec.find_job(jobs.front());
    if (tasks.empty()) return fail(Code::kInvalidArgument, "job '{}' has no tasks", printable(jobs.front()));
    if (tasks.last_index() == 0) return std::string();  // a sparse task 3 would be a list of four
  }
  const auto type = query.task_type ? query.task_type : TFD_TRY(task_type());
  const auto id = query.task_id ? query.task_id : TFD_TRY(task_id());
  const auto layer = query.rpc_layer ? query.rpc_layer : TFD_TRY(rpc_layer());
  if (!type) return fail(Code::kNotFound, "No such job in cluster: None");
  if (!spec.has_job(*type)) return fail(spec.num_tasks(*type).error());
  if (!id) return fail(Code::kNotFound, "No task with index None in job '{}'", printable(*type));
  return cluster::format_url(layer.value_or(""), TFD_TRY(spec.task_address(*type, *id)));
}

Result<std::map<std::string, int>> TfConfigView::num_accelerators(std::span<const std::string> devices,
                                                                  const MasterQuery& query) const {
  MasterQuery asked = query;
  if (!asked.task_type) asked.task_type = TFD_TRY(task_type());
  if (!asked.task_id) asked.task_id = TFD_TRY(task_id());
  TFD_TRY(master(asked));  // only its error counts

  std::map<std::string, int> counts;
  for (const std::string& device : devices) {
    const std::string_view type = device_type(device);
    if (type == "CPU" || type == "XLA_CPU") continue;
    if (asked.task_type && asked.task_id &&
        (device.find("/job:" + *asked.task_type) == std::string::npos ||
         device.find(fmt::format("/task:{}", *asked.task_id)) == std::string::npos))
      continue;
    ++counts[std::string(type)];
  }
  return counts;
}

}  // namespace tfd::resolve
