// SPDX-License-Identifier: Apache-2.0
#include "tfd/cluster/cluster_spec.hpp"

#include <algorithm>
#include <unordered_map>

#include "tfd/base/text.hpp"

namespace tfd::cluster {
namespace {

constexpr int kMostHoles = 1 << 20;  // job_tasks() is dense: one absurd index must not eat the memory

tl::unexpected<Error> no_such_job(std::string_view job) {
  return fail(Code::kNotFound, "No such job in cluster: '{}'", printable(job));
}

std::string python_quoted(std::string_view text) {
  const bool single = text.find('\'') == std::string_view::npos || text.find('"') != std::string_view::npos;
  std::string out(1, single ? '\'' : '"');
  for (const char c : text) {
    if (c == '\\' || (c == '\'' && single)) out += '\\';
    out += c;
  }
  return out += single ? '\'' : '"';
}

}  // namespace

const std::string* JobTasks::find(int index) const {
  const auto at = std::ranges::lower_bound(entries_, index, {}, &Entry::first);
  return at == entries_.end() || at->first != index ? nullptr : &at->second;
}

void JobTasks::set(int index, std::string address) {
  if (entries_.empty() || entries_.back().first < index) {
    entries_.emplace_back(index, std::move(address));
    return;
  }
  const auto at = std::ranges::lower_bound(entries_, index, {}, &Entry::first);
  if (at->first == index)
    at->second = std::move(address);
  else
    entries_.emplace(at, index, std::move(address));
}

JobTasks& ClusterSpec::job_of(std::string_view job) {
  const auto found = std::ranges::find(jobs_, job, &std::pair<std::string, JobTasks>::first);
  return found == jobs_.end() ? jobs_.emplace_back(job, JobTasks{}).second : found->second;
}

std::vector<std::string> ClusterSpec::jobs() const {
  std::vector<std::string> names;
  names.reserve(jobs_.size());
  for (const auto& [job, tasks] : jobs_) names.push_back(job);
  return names;
}

bool ClusterSpec::has_task(const TaskId& task) const {
  const auto* tasks = find_job(task.job);
  return tasks != nullptr && tasks->contains(task.index);
}

Result<int> ClusterSpec::num_tasks(std::string_view job) const {
  const auto* tasks = find_job(job);
  if (tasks == nullptr) return no_such_job(job);
  return static_cast<int>(tasks->size());
}

Result<std::vector<int>> ClusterSpec::task_indices(std::string_view job) const {
  const auto* tasks = find_job(job);
  if (tasks == nullptr) return no_such_job(job);
  std::vector<int> indices;
  indices.reserve(tasks->size());
  for (const auto& [index, address] : *tasks) indices.push_back(index);
  return indices;
}

Result<std::string> ClusterSpec::task_address(std::string_view job, int index) const {
  const auto* tasks = find_job(job);
  if (tasks == nullptr) return no_such_job(job);
  const std::string* address = tasks->find(index);
  if (address == nullptr) return fail(Code::kNotFound, "No task with index {} in job '{}'", index, printable(job));
  return *address;
}

Result<std::vector<std::optional<std::string>>> ClusterSpec::job_tasks(std::string_view job) const {
  const auto* tasks = find_job(job);
  if (tasks == nullptr) return no_such_job(job);
  if (tasks->empty()) return fail(Code::kInvalidArgument, "job '{}' has no tasks", printable(job));
  const int last = tasks->last_index();
  if (tasks->first_index() < 0 || last >= kMostHoles)
    return fail(Code::kOutOfRange, "job '{}' has index {}, but only 0 to {} can be listed", printable(job),
                last >= kMostHoles ? last : tasks->first_index(), kMostHoles - 1);
  std::vector<std::optional<std::string>> out(static_cast<std::size_t>(last) + 1);
  for (const auto& [index, address] : *tasks) out[static_cast<std::size_t>(index)] = address;
  return out;
}

const JobTasks* ClusterSpec::find_job(std::string_view job) const {
  for (const auto& [name, tasks] : jobs_)
    if (name == job) return &tasks;
  return nullptr;
}

bool ClusterSpec::is_dense(std::string_view job) const {
  const auto* tasks = find_job(job);
  return tasks != nullptr && !tasks->empty() && tasks->first_index() == 0 &&
         tasks->last_index() == static_cast<int>(tasks->size()) - 1;
}

std::vector<Task> ClusterSpec::tasks() const {
  std::vector<Task> all;
  all.reserve(static_cast<std::size_t>(size()));
  for (const auto& [job, tasks] : jobs_)
    for (const auto& [index, address] : tasks) all.push_back({{job, index}, address});
  return all;
}

int ClusterSpec::size() const {
  std::size_t count = 0;
  for (const auto& [job, tasks] : jobs_) count += tasks.size();
  return static_cast<int>(count);
}

Result<void> ClusterSpec::validate() const {
  std::unordered_map<std::string, TaskId> seen;
  for (const auto& [job, tasks] : jobs_) {
    if (job.empty()) return fail(Code::kInvalidArgument, "cluster: a job has an empty name");
    for (const auto& [index, text] : tasks) {
      const std::string where = fmt::format("cluster.{}[{}]", printable(job), index);
      if (index < 0) return fail(Code::kInvalidArgument, "{}: an index must be at least 0", where);
      const Address address = TFD_TRY(parse_address(text), where);
      if (address.port == 0) continue;
      const auto [other, fresh] = seen.try_emplace(format_address(address), TaskId{job, index});
      if (!fresh)
        return fail(Code::kInvalidArgument, "{}: {} is also the address of {}", where, text,
                    printable(format_task(other->second)));
    }
  }
  return {};
}

bool operator==(const ClusterSpec& a, const ClusterSpec& b) {
  if (a.jobs_.size() != b.jobs_.size()) return false;
  return std::all_of(a.jobs_.begin(), a.jobs_.end(), [&](const auto& entry) {
    const auto* other = b.find_job(entry.first);
    return other != nullptr && *other == entry.second;
  });
}

std::string describe(const ClusterSpec& spec) {
  std::vector<std::string> jobs = spec.jobs();
  std::sort(jobs.begin(), jobs.end());
  std::string out = "ClusterSpec({";
  for (const std::string& job : jobs) {
    if (out.back() != '{') out += ", ";
    const bool dense = spec.is_dense(job);
    out += python_quoted(job) + (dense ? ": [" : ": {");
    bool first = true;
    for (const auto& [index, address] : *spec.find_job(job)) {
      if (!std::exchange(first, false)) out += ", ";
      if (!dense) out += fmt::format("{}: ", index);
      out += python_quoted(address);
    }
    out += dense ? "]" : "}";
  }
  return out += "})";
}

}  // namespace tfd::cluster
