#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Job -> tasks -> addresses, as tf.train.ClusterSpec (TensorFlow 2.21; facts in semantics: jobs keep insertion order, a
// job is dense or sparse, addresses are any strings until validate()). Thread rule: plain value.
//
//   ClusterSpec spec;
//   spec.add_task("worker", 0, "h1:8888");
//   for (const Task& task : spec.tasks()) …
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/cluster/address.hpp"
#include "tfd/cluster/task_id.hpp"

namespace tfd::cluster {

struct Task {
  TaskId id;
  std::string address;
};

/// A job's addresses by index, ascending. A sorted array: ten thousand tasks are one piece of memory, not ten thousand.
class JobTasks {
 public:
  using Entry = std::pair<int, std::string>;
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  int first_index() const { return entries_.front().first; }  // there is at least one
  int last_index() const { return entries_.back().first; }    // likewise
  /// Finds a task's address; nullptr if there is no such task.
  const std::string* find(int index) const;
  bool contains(int index) const { return find(index) != nullptr; }
  void reserve(std::size_t tasks) { entries_.reserve(tasks); }
  /// Sets or replaces an address. Cheap in ascending order.
  void set(int index, std::string address);
  friend bool operator==(const JobTasks&, const JobTasks&) = default;

 private:
  std::vector<Entry> entries_;
};

class ClusterSpec {
 public:
  /// Adds the job, without tasks, if it doesn't exist yet.
  void add_job(std::string_view job) { job_of(job); }
  /// The job has these tasks and no others.
  void set_job(std::string_view job, JobTasks tasks) { job_of(job) = std::move(tasks); }
  /// Adds a task, or replaces its address.
  void add_task(std::string_view job, int index, std::string address) { job_of(job).set(index, std::move(address)); }

  bool empty() const { return jobs_.empty(); }  // an empty job counts as something
  std::vector<std::string> jobs() const;        // in insertion order
  bool has_job(std::string_view job) const { return find_job(job) != nullptr; }
  bool has_task(const TaskId& task) const;
  /// kNotFound with TensorFlow's wording: "No such job in cluster: 'x'".
  Result<int> num_tasks(std::string_view job) const;
  /// Indices, ascending. kNotFound as above.
  Result<std::vector<int>> task_indices(std::string_view job) const;
  /// kNotFound: "No task with index 5 in job 'ps'".
  Result<std::string> task_address(std::string_view job, int index) const;
  /// Addresses by index, nullopt for the gaps of a sparse job. kNotFound as above; kInvalidArgument for a job without
  /// tasks; kOutOfRange for an index below 0 or of a million and more.
  Result<std::vector<std::optional<std::string>>> job_tasks(std::string_view job) const;
  /// Index -> address, ascending; nullptr if the job doesn't exist.
  const JobTasks* find_job(std::string_view job) const;
  /// Indices are exactly 0..n-1 and there is at least one.
  bool is_dense(std::string_view job) const;
  /// Every task, jobs in insertion order, indices ascending.
  std::vector<Task> tasks() const;
  int size() const;

  /// Addresses can be connected to: HOST:PORT each, no address twice (port 0 may repeat).
  /// kInvalidArgument: "cluster.worker[2]: port 70000 out of range".
  Result<void> validate() const;

  friend bool operator==(const ClusterSpec& a, const ClusterSpec& b);

 private:
  JobTasks& job_of(std::string_view job);  // made if it isn't there yet

  std::vector<std::pair<std::string, JobTasks>> jobs_;
};

/// TensorFlow's textual form, jobs by name: "ClusterSpec({'ps': ['p0:1'], 'worker': {1: 'w1:1'}})".
std::string describe(const ClusterSpec& spec);

}  // namespace tfd::cluster
