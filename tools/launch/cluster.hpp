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
  Duration join{};                      // how long to wait for a spec
  int fallback = 1;                     // workers where there is no spec either
};

/// Without any of the three: a spec on stdin, then TF_CONFIG, else `fallback` workers. kUsage: two of the three, or
/// wrong job counts; errors of resolve::find_spec().
Result<cluster::ClusterConfig> find_cluster(const ClusterChoice& choice, cli::Io& io);

}  // namespace tfd::tool_launch
