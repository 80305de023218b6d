// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include "tfd/resolve/resolver.hpp"
#include "tfd/resolve/spec_source.hpp"

namespace tfd::tool_launch {

Result<cluster::ClusterConfig> find_cluster(const ClusterChoice& choice, cli::Io& io) {
  const int ways = (choice.workers ? 1 : 0) + (choice.jobs.empty() ? 0 : 1) + (choice.cluster.empty() ? 0 : 1);
  if (ways > 1)
    return fail(Code::kUsage, "-n, --jobs and --cluster exclude each other: each says which tasks there are");
  if (choice.workers) return resolve::resolve_local({{"worker", static_cast<int>(*choice.workers)}}, std::nullopt);
  if (!choice.jobs.empty())
    return resolve::resolve_local(TFD_TRY(cli::as_usage(resolve::parse_job_counts(choice.jobs), "--jobs")),
                                  std::nullopt);
  resolve::InputReader input(io.in_fd);
  auto config = resolve::find_spec({.cluster = choice.cluster, .task = std::nullopt}, input, io.env,
                                   Deadline::after(choice.join), io.log.for_room("resolve"));
  // kUsage is "no cluster spec" here, and then the default of -n holds.
  if (config || !choice.cluster.empty() || config.error().code != Code::kUsage) return config;
  return resolve::resolve_local({{"worker", choice.fallback}}, std::nullopt);
}

}  // namespace tfd::tool_launch
