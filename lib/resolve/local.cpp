// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {

Result<cluster::ClusterConfig> resolve_local(const JobCounts& jobs, const std::optional<cluster::TaskId>& task) {
  cluster::ClusterConfig config;
  for (const auto& [job, count] : jobs) {
    config.cluster.add_job(job);
    for (int i = 0; i < count; ++i) config.cluster.add_task(job, i, "127.0.0.1:0");
  }
  config.task = task;
  config.resolver = "local";
  TFD_TRY(detail::check_config(config));
  return config;
}

}  // namespace tfd::resolve
