#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Job -> tasks -> addresses, as tf.train.ClusterSpec (TensorFlow 2.21; facts in semantics: jobs keep insertion order, a
// job is dense or sparse, addresses are any strings until validate()). Thread rule: plain value.
//
//   ClusterSpec spec;
//   spec.add_task("worker", 0, "h1:8888");
//   for (const Task& task : spec.tasks()) …
#include <map>
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

class ClusterSpec {
 public:
  /// The job, without tasks, if it isn't there yet.
  void add_job(std::string_view job);
  /// Replaces the address where the task is there already.
  void add_task(std::string_view job, int index, std::string address);

  bool empty() const { return jobs_.empty(); }  // an empty job counts as something
  std::vector<std::string> jobs() const;        // in insertion order
  bool has_job(std::string_view job) const { return find_job(job) != nullptr; }
  bool has_task(const TaskId& task) const;
  /// kNotFound with TensorFlow's wording: "No such job in cluster: 'x'".
  Result<int> num_tasks(std::string_view job) const;
  /// Ascending. kNotFound as above.
  Result<std::vector<int>> task_indices(std::string_view job) const;
  /// kNotFound: "No task with index 5 in job 'ps'".
  Result<std::string> task_address(std::string_view job, int index) const;
  /// By index, with holes where a sparse job has none. kNotFound as above; kInvalidArgument for a job without tasks;
  /// kOutOfRange for an index below 0 or of a million and more.
  Result<std::vector<std::optional<std::string>>> job_tasks(std::string_view job) const;
  /// Index -> address, ascending; nullptr for a job that isn't there.
  const std::map<int, std::string>* find_job(std::string_view job) const;
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
  std::vector<std::pair<std::string, std::map<int, std::string>>> jobs_;
};

/// As TensorFlow prints it, jobs by name: "ClusterSpec({'ps': ['p0:1'], 'worker': {1: 'w1:1'}})".
std::string describe(const ClusterSpec& spec);

}  // namespace tfd::cluster
