#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The numbers of pods that Jobs and StatefulSets are to have. Thread rule: one thread.
#include <map>
#include <string>
#include <vector>

#include "choose.hpp"
#include "client.hpp"

namespace tfd::resolve::kubernetes {

/// The size of a Job or a StatefulSet as the API gives it.
Size read_size(std::string_view kind, const cluster::JsonValue& object);

class Owners {
 public:
  Owners(Client& client, const ResolverEnvironment& environment) : client_(client), environment_(environment) {}
  /// Asks about the owners of these pods that weren't asked about since forget(). Where that isn't allowed, or the
  /// owner is gone, it stays unknown and the log says so. Errors: kUnavailable, kDeadlineExceeded.
  Result<void> learn(const std::vector<Pod>& pods, Deadline deadline);
  /// Whether learn() would ask.
  bool knows(const std::vector<Pod>& pods) const;
  void forget();
  const Sizes& sizes() const { return sizes_; }

 private:
  Client& client_;
  const ResolverEnvironment& environment_;
  Sizes sizes_;
  Sizes unknown_;  // asked about in vain
  bool said_ = false;
};

// ---- The pod that this process runs in.

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
