// SPDX-License-Identifier: Apache-2.0
#include "tfd/cluster/spec_json.hpp"

#include "tfd/base/text.hpp"

namespace tfd::cluster {
namespace {

std::string shown(const JsonValue& value) {
  std::string text;
  append_json(text, value);
  if (text.size() > 60) text = text.substr(0, 57) + "…";
  return printable(text);
}

Result<void> add_task(ClusterSpec& spec, const std::string& job, int index, const JsonValue& address,
                      std::string_view where) {
  if (!address.is(JsonValue::Kind::kString))
    return fail(Code::kInvalidArgument, "{}.{}[{}]: task address {} must be a string, not {}", where, printable(job),
                index, shown(address), kind_name(address));
  spec.add_task(job, index, address.text);
  return {};
}

}  // namespace

Result<ClusterSpec> spec_from_value(const JsonValue& value, std::string_view where) {
  if (!value.is(JsonValue::Kind::kObject))
    return fail(Code::kInvalidArgument, "{}: must be an object from job names to lists of addresses, not {}", where,
                kind_name(value));
  ClusterSpec spec;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string& job = value.keys[i];
    const JsonValue& tasks = value.items[i];
    spec.add_job(job);
    if (tasks.is(JsonValue::Kind::kArray)) {
      for (std::size_t k = 0; k < tasks.items.size(); ++k)
        TFD_TRY(add_task(spec, job, static_cast<int>(k), tasks.items[k], where));
    } else if (tasks.is(JsonValue::Kind::kObject)) {
      for (std::size_t k = 0; k < tasks.items.size(); ++k) {
        JsonValue key{.kind = JsonValue::Kind::kString};
        key.text = tasks.keys[k];
        const auto index = to_int(key);
        if (!index)
          return fail(Code::kInvalidArgument, "{}.{}: the index '{}' is not an integer", where, printable(job),
                      printable(key.text));
        TFD_TRY(add_task(spec, job, *index, tasks.items[k], where));
      }
    } else {
      return fail(Code::kInvalidArgument,
                  "{}.{}: the tasks for job '{}' must be a list or an object from integers to strings, not {}", where,
                  printable(job), printable(job), kind_name(tasks));
    }
  }
  return spec;
}

void append_spec(std::string& out, const ClusterSpec& spec) {
  out += '{';
  bool first_job = true;
  for (const std::string& job : spec.jobs()) {
    if (!std::exchange(first_job, false)) out += ", ";
    append_json_string(out, job);
    const bool dense = spec.is_dense(job);
    out += dense ? ": [" : ": {";
    bool first = true;
    for (const auto& [index, address] : *spec.find_job(job)) {
      if (!std::exchange(first, false)) out += ", ";
      if (!dense) out += fmt::format("\"{}\": ", index);
      append_json_string(out, address);
    }
    out += dense ? ']' : '}';
  }
  out += '}';
}

void append_task(std::string& out, const TaskId& task, const JsonValue* extra) {
  out += "{\"type\": ";
  append_json_string(out, task.job);
  out += fmt::format(", \"index\": {}", task.index);
  for (std::size_t i = 0; extra != nullptr && i < extra->keys.size(); ++i) {
    out += ", ";
    append_json_string(out, extra->keys[i]);
    out += ": ";
    append_json(out, extra->items[i]);
  }
  out += '}';
}

}  // namespace tfd::cluster
