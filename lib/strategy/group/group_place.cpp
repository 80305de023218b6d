// SPDX-License-Identifier: Apache-2.0
#include "group_place.hpp"

#include "tfd/cluster/address.hpp"
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
    for (const int index : TFD_TRY(config.cluster.task_indices(job))) {
      const cluster::TaskId task{job, index};
      const std::string name = cluster::format_task(task);
      std::string address = TFD_TRY(config.cluster.task_address(job, index));
      if (task != *config.task && TFD_TRY(cluster::parse_address(address), "cluster." + name).port == 0)
        return fail(
            Code::kInvalidArgument,
            "cluster.{}: cannot connect to port 0\nhint: tfd-launch gives tasks their ports: tfd-launch --cluster "
            "SPEC -- tfd-run …",
            name);
      out.members.emplace_back(name, std::move(address));
    }
  }
  return out;
}

}  // namespace tfd::strategy
