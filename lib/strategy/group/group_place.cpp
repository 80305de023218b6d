// SPDX-License-Identifier: Apache-2.0
#include "group_place.hpp"

#include "tfd/cluster/roles.hpp"

namespace tfd::strategy {

Result<GroupPlace> place_in_group(const cluster::ClusterConfig& config) {
  TFD_TRY(cluster::validate_roles(config.cluster, config.task));
  if (!config.task)
    return fail(Code::kInvalidArgument,
                "nothing says which task of the cluster this process is: use --task, or TF_CONFIG");
  if (config.task->job == "evaluator") return GroupPlace{};
  GroupPlace out{{}, TFD_TRY(cluster::id_in_cluster(config.cluster, *config.task))};
  for (const char* const job : {"chief", "worker"}) {
    if (!config.cluster.has_job(job)) continue;
    for (const int index : TFD_TRY(config.cluster.task_indices(job)))
      out.members.emplace_back(cluster::format_task({job, index}), TFD_TRY(config.cluster.task_address(job, index)));
  }
  return out;
}

}  // namespace tfd::strategy
