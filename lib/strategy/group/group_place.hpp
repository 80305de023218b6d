#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A process's place among the tasks of a cluster that train together: its chief and its workers. Private to the room.
// Thread rule: pure functions.
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/cluster/cluster_config.hpp"

namespace tfd::strategy {

struct GroupPlace {
  std::vector<std::pair<std::string, std::string>> members;  // names and addresses, by rank; none: an evaluator, alone
  int rank = 0;
};

/// kInvalidArgument: errors of cluster::validate_roles(), and a process that isn't one of these tasks, or doesn't know
/// which.
Result<GroupPlace> place_in_group(const cluster::ClusterConfig& config);

}  // namespace tfd::strategy
