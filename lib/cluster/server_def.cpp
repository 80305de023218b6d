// SPDX-License-Identifier: Apache-2.0
#include "tfd/cluster/server_def.hpp"

#include "tfd/base/text.hpp"

namespace tfd::cluster {

Result<ServerDef> infer_server_def(const ClusterSpec& spec, const std::optional<std::string>& job,
                                   const std::optional<int>& index, const std::optional<std::string>& protocol) {
  const std::vector<std::string> jobs = spec.jobs();
  if (!job && jobs.size() != 1)
    return fail(Code::kInvalidArgument, "must specify an explicit job_name: the cluster has {} jobs", jobs.size());
  ServerDef out{{job ? *job : jobs.front(), 0}, protocol.value_or("grpc")};
  if (index) {
    out.task.index = *index;
    return out;
  }
  const std::vector<int> indices = TFD_TRY(spec.task_indices(out.task.job));
  if (indices.size() != 1)
    return fail(Code::kInvalidArgument, "must specify an explicit task_index: job '{}' has {} tasks",
                printable(out.task.job), indices.size());
  out.task.index = indices.front();
  return out;
}

}  // namespace tfd::cluster
