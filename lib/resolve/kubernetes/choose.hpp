#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The pods that are the tasks of a job, in order, and those still waited for. Decisions only: no I/O.
// Thread rule: pure functions.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pods.hpp"
#include "tfd/resolve/kubernetes.hpp"

namespace tfd::resolve::kubernetes {

/// The size that a Job or StatefulSet states.
struct Size {
  std::optional<int> pods;  // how many there are to be at one time
  int first = 0;            // the least index
  std::string wrong = {};   // why its pods are no cluster, if they aren't
};
/// Namespace/kind/name/uid -> size; nothing where it isn't known.
using Sizes = std::map<std::string, Size, std::less<>>;
std::string owner_key(const Pod& pod);
/// Whether the API can be asked how many pods the owner is to have.
bool has_size(const Owner& owner);

struct Choice {
  std::vector<Pod> tasks;            // in order; index in the job = position
  std::vector<std::string> awaited;  // "pod a-2 is Pending (ContainerCreating)"; empty: all pods exist
};

/// The live pods of a job's selectors (`selected`, one list a selector), selector by selector: those with an index (of
/// a Job, a StatefulSet, a JobSet) first, by owner and index, the newest of each; then the others by name. `asked`:
/// --jobs. kFailedPrecondition: the owner's pods can't be a cluster, whoever waits.
Result<Choice> choose_pods(const std::string& job, const std::vector<std::vector<Pod>>& selected,
                           const std::vector<std::string>& selectors, const Sizes& sizes, std::optional<int> asked,
                           PodAddress address);
/// Chooses as TensorFlow 2.21 does: all pods, by name; each of them must be Running.
Choice choose_as_tensorflow(const std::vector<std::vector<Pod>>& selected);

/// Host without brackets. kFailedPrecondition: a pod without a name in DNS.
Result<std::string> pod_host(const Pod& pod, PodAddress address);
/// "pod a-2 is Pending (ImagePullBackOff)".
std::string describe_phase(const Pod& pod);

}  // namespace tfd::resolve::kubernetes
