// SPDX-License-Identifier: Apache-2.0
#include "own_pod.hpp"

#include <algorithm>

#include "tfd/base/text.hpp"

namespace tfd::resolve::kubernetes {
namespace {

/// Properties of this process's own pod.
struct Self {
  std::string pod_name;  // stated by the pod's author; may be empty
  std::string hostname;  // up to the first dot
  std::string namespace_;
  std::string completion_index;

  bool is(const Pod& pod) const {
    if (!namespace_.empty() && !pod.namespace_.empty() && pod.namespace_ != namespace_) return false;
    if (!pod_name.empty()) return pod.name == pod_name;
    if (pod.host_network)
      return pod.node.substr(0, pod.node.find('.')) == hostname && pod.completion_index &&
             std::to_string(*pod.completion_index) == completion_index;
    if (pod.name.substr(0, pod.name.find('.')) == hostname) return true;
    return !pod.hostname.empty() && pod.hostname == hostname &&
           (completion_index.empty() || !pod.completion_index ||
            std::to_string(*pod.completion_index) == completion_index);
  }
};

}  // namespace

OwnTask find_own_task(const std::vector<std::pair<std::string, std::vector<Pod>>>& tasks, const std::vector<Pod>& all,
                      const ResolverEnvironment& environment, const std::string& namespace_name) {
  const Environment& env = environment.env;
  if (!env.has("KUBERNETES_SERVICE_HOST")) return {std::nullopt, "this isn't a pod; give --task JOB:INDEX"};
  Self self;
  self.pod_name = env.get("POD_NAME");
  self.hostname = env.get("HOSTNAME", environment.hostname);
  self.hostname = self.hostname.substr(0, self.hostname.find('.'));
  self.namespace_ = env.get("POD_NAMESPACE", namespace_name);
  self.completion_index = env.get("JOB_COMPLETION_INDEX");
  const std::string& name = self.pod_name.empty() ? self.hostname : self.pod_name;

  std::vector<cluster::TaskId> found;
  for (const auto& [job, pods] : tasks)
    for (std::size_t i = 0; i < pods.size(); ++i)
      if (self.is(pods[i])) found.push_back({job, static_cast<int>(i)});
  if (found.size() == 1) return {found.front(), {}};
  if (found.size() > 1)
    return {std::nullopt, fmt::format("{} of the pods may be this one ({}): give --task JOB:INDEX, or set POD_NAME",
                                      found.size(), printable(name))};
  const auto other = std::find_if(all.begin(), all.end(), [&](const Pod& pod) { return self.is(pod); });
  if (other != all.end())
    return {std::nullopt, fmt::format("this pod, {}, is {}, so it is not a task of the cluster", printable(other->name),
                                      other->live() ? "replaced by a newer one" : "about to end")};
  return {std::nullopt, fmt::format("this pod, {}, is not in the cluster; give --task JOB:INDEX", printable(name))};
}

}  // namespace tfd::resolve::kubernetes
