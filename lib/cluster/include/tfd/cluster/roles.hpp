#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The roles chief, worker, ps and evaluator. Source: tensorflow/python/distribute/multi_worker_util.py, 2.21.
// Thread rule: pure functions.
#include <optional>
#include <string>

#include "tfd/cluster/cluster_spec.hpp"

namespace tfd::cluster {

/// Checks roles: jobs among chief, worker, ps, evaluator; at most one chief and one evaluator; the task exists (an
/// evaluator needn't). kInvalidArgument in TensorFlow's order of checks.
Result<void> validate_roles(const ClusterSpec& spec, const std::optional<TaskId>& task);
bool is_chief(const ClusterSpec& spec, const TaskId& task);
/// chief and workers together; the evaluators for an evaluator; kInvalidArgument for a ps.
Result<int> worker_count(const ClusterSpec& spec, const std::string& job);
/// The chief is 0, worker i follows the chiefs; kInvalidArgument for a ps.
Result<int> id_in_cluster(const ClusterSpec& spec, const TaskId& task);

/// "/job:chief/replica:0/task:0", else worker's; empty for an empty cluster and for an evaluator.
Result<std::string> collective_leader(const ClusterSpec& spec, const std::optional<TaskId>& task);
/// Leader of the coordination service: the first of ps, chief and worker that exists; empty for an empty cluster.
Result<std::string> coordination_leader(const ClusterSpec& spec);

}  // namespace tfd::cluster
