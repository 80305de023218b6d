#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tasks that a launcher starts on this host, and their variables: TensorFlow's TF_CONFIG, PyTorch's ranks, JAX's
// coordinator, tfd's own variables. Thread rule: plain values; plan_members() asks the name service and binds sockets.
#include <string>
#include <vector>

#include "tfd/base/environment.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/launch/listen.hpp"
#include "tfd/launch/placement.hpp"

namespace tfd::launch {

struct Member {
  cluster::TaskId id;
  bool has_rank = false;    // chief and workers; ps and evaluator serve or watch them
  Environment environment;  // whole, but for what changes from start to start
};

struct Members {
  std::vector<Member> here;        // in the spec's order
  int ranks = 0;                   // of the whole cluster
  std::vector<Listener> reserved;  // held while the tasks live, so that nobody else gets their ports
};

/// Reserves a port for each task of this host and tells all. `base` is the environment that they have in common; what
/// an outer launcher put there about ranks is removed. Errors of place_members() and reserve_port(); kInvalidArgument
/// for a job whose name no file can have, and where rank 0's port isn't known.
Result<Members> plan_members(cluster::ClusterConfig config, const LocalLookup& lookup, const Environment& base);

/// The same for a cluster whose ports are all known, of which `here` are this host's tasks. kInvalidArgument as above.
Result<std::vector<Member>> describe_members(const cluster::ClusterConfig& config,
                                             const std::vector<cluster::TaskId>& here, const Environment& base);

/// The number of tasks with a rank that the launcher has which started this process, by its environment; 0: none has.
int launched_ranks(const Environment& env);

}  // namespace tfd::launch
