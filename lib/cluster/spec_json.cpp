// SPDX-License-Identifier: Apache-2.0
#include "tfd/cluster/spec_json.hpp"

#include <map>

#include "tfd/base/json_line.hpp"
#include "tfd/base/text.hpp"

namespace tfd::cluster {
namespace {

std::string shown(const JsonValue& value) {
  std::string text;
  append_json(text, value);
  if (text.size() > 60) text = text.substr(0, 57) + "…";
  return printable(text);
}

struct Entry {
  int index = 0;
  const JsonValue* address = nullptr;
};

/// The tasks of one job, in the order written; the addresses aren't looked at.
Result<std::vector<Entry>> read_entries(const std::string& job, const JsonValue& tasks, std::string_view where) {
  std::vector<Entry> entries;
  entries.reserve(tasks.items.size());
  if (!tasks.is(JsonValue::Kind::kArray) && !tasks.is(JsonValue::Kind::kObject))
    return fail(Code::kInvalidArgument,
                "{}.{}: the tasks for job '{}' must be a list or an object from integers to strings, not {}", where,
                printable(job), printable(job), kind_name(tasks));
  for (std::size_t k = 0; k < tasks.items.size(); ++k) {
    if (tasks.is(JsonValue::Kind::kArray)) {
      entries.push_back({static_cast<int>(k), &tasks.items[k]});
      continue;
    }
    JsonValue key{.kind = JsonValue::Kind::kString};
    key.text = tasks.keys[k];
    const auto index = to_int(key);
    if (!index)
      return fail(Code::kInvalidArgument, "{}.{}: the index '{}' is not an integer", where, printable(job),
                  printable(key.text));
    entries.push_back({*index, &tasks.items[k]});
  }
  return entries;
}

Result<void> check_address(const std::string& job, const Entry& entry, std::string_view where) {
  if (entry.address->is(JsonValue::Kind::kString)) return {};
  return fail(Code::kInvalidArgument, "{}.{}[{}]: task address {} must be a string, not {}", where, printable(job),
              entry.index, shown(*entry.address), kind_name(*entry.address));
}

}  // namespace

Result<ClusterSpec> spec_from_value(const JsonValue& value, std::string_view where) {
  if (!value.is(JsonValue::Kind::kObject))
    return fail(Code::kInvalidArgument, "{}: must be an object from job names to lists of addresses, not {}", where,
                kind_name(value));
  // TensorFlow's order: first all jobs, then the addresses, by job and index.
  std::vector<std::vector<Entry>> jobs;
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    jobs.push_back(TFD_TRY(read_entries(value.keys[i], value.items[i], where)));
    by_name.emplace(value.keys[i], i);
  }
  for (const auto& [job, i] : by_name)
    for (const Entry& entry : jobs[i]) TFD_TRY(check_address(value.keys[i], entry, where));
  ClusterSpec spec;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    spec.add_job(value.keys[i]);
    for (const Entry& entry : jobs[i]) spec.add_task(value.keys[i], entry.index, entry.address->text);
  }
  return spec;
}

void append_spec(std::string& out, const ClusterSpec& spec) {
  out.reserve(out.size() + 32 * static_cast<std::size_t>(spec.size()));
  out += '{';
  bool first_job = true;
  for (const std::string& job : spec.jobs()) {
    if (!std::exchange(first_job, false)) out += ", ";
    append_json_string(job, out);
    const bool dense = spec.is_dense(job);
    out += dense ? ": [" : ": {";
    bool first = true;
    for (const auto& [index, address] : *spec.find_job(job)) {
      if (!std::exchange(first, false)) out += ", ";
      if (!dense) out += fmt::format("\"{}\": ", index);
      append_json_string(address, out);
    }
    out += dense ? ']' : '}';
  }
  out += '}';
}

void append_task(std::string& out, const TaskId& task, const JsonValue* extra) {
  out += "{\"type\": ";
  append_json_string(task.job, out);
  out += fmt::format(", \"index\": {}", task.index);
  for (std::size_t i = 0; extra != nullptr && i < extra->keys.size(); ++i) {
    out += ", ";
    append_json_string(extra->keys[i], out);
    out += ": ";
    append_json(out, extra->items[i]);
  }
  out += '}';
}

}  // namespace tfd::cluster
