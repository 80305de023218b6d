// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

#include "tfd/base/text.hpp"

namespace tfd::resolve::detail {

Result<void> check_task(const cluster::ClusterSpec& spec, const cluster::TaskId& task) {
  if (spec.has_task(task)) return {};
  if (!spec.has_job(task.job)) {
    if (task.job == "evaluator") return {};  // runs beside its cluster
    const std::vector<std::string> jobs = spec.jobs();
    return fail(Code::kInvalidArgument, "task {}: no job '{}' in the cluster{}", printable(format_task(task)),
                printable(task.job), did_you_mean(task.job, jobs));
  }
  const int count = spec.num_tasks(task.job).value_or(0);
  return fail(Code::kInvalidArgument, "task {}: job '{}' has {} {}, but none with index {}",
              printable(format_task(task)), printable(task.job), count, count == 1 ? "task" : "tasks", task.index);
}

Result<void> check_config(const cluster::ClusterConfig& config) {
  if (config.cluster.size() == 0) return fail(Code::kInvalidArgument, "the cluster is empty: no task in any job");
  TFD_TRY(config.cluster.validate());
  if (config.task) TFD_TRY(check_task(config.cluster, *config.task));
  return {};
}

}  // namespace tfd::resolve::detail
