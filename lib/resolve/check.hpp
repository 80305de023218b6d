#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Checks that every resolver makes before it returns a spec. Inside the room only. Thread rule: pure functions.
#include "tfd/cluster/cluster_config.hpp"

namespace tfd::resolve::detail {

/// There are tasks, their addresses can be connected to, and this task is one of them (an evaluator needn't be).
Result<void> check_config(const cluster::ClusterConfig& config);
Result<void> check_task(const cluster::ClusterSpec& spec, const cluster::TaskId& task);

}  // namespace tfd::resolve::detail
