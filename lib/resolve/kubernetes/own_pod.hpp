#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The pod that this process runs in. Thread rule: pure functions.
#include <map>
#include <string>
#include <vector>

#include "choose.hpp"

namespace tfd::resolve::kubernetes {

struct OwnTask {
  std::optional<cluster::TaskId> task;
  std::string reason;  // why there is none
};
/// The task of this process in a pod: the one whose pod has this host's name (a pod's name, or the spec's hostname that
/// an Indexed Job gives its pods; POD_NAME where the pod's spec sets it), in the namespace of the pod where that is
/// known. On the host's network, where the name is the node's, it is the one with JOB_COMPLETION_INDEX on this node.
/// `tasks`: job -> the pods chosen for it, in order; `all`: every pod seen.
OwnTask find_own_task(const std::vector<std::pair<std::string, std::vector<Pod>>>& tasks, const std::vector<Pod>& all,
                      const ResolverEnvironment& environment, const std::string& namespace_name);

}  // namespace tfd::resolve::kubernetes
