#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The cluster that tfd-launch starts: from a count, from jobs, or from a spec. Thread rule: main thread.
#include <optional>
#include <string>

#include "tfd/cli/tool.hpp"
#include "tfd/cluster/cluster_config.hpp"

namespace tfd::tool_launch {

struct ClusterChoice {
  std::optional<std::int64_t> workers;  // -n
  std::string jobs;                     // --jobs
  std::string cluster;                  // --cluster
  std::string hostfile;                 // --hostfile
  Duration join{};                      // how long to wait for a spec
  int fallback = 1;                     // workers where there is no spec either
};

/// Without any of the three: a spec on stdin, then TF_CONFIG, else `fallback` workers. kUsage: two of the three, wrong
/// job counts, or none where the environment states a world of several processes; errors of resolve::find_spec().
Result<cluster::ClusterConfig> find_cluster(const ClusterChoice& choice, cli::Io& io);

/// Where the launchers of a Slurm step meet, one for each of its tasks: on its first node, at a port that follows from
/// job and step, as JAX has it.
struct SlurmMeeting {
  std::string rendezvous;  // "n1:57349"
  std::int64_t launchers = 1;
};
/// kFailedPrecondition: this isn't a task of a step.
Result<SlurmMeeting> slurm_meeting(const Environment& env);

}  // namespace tfd::tool_launch
