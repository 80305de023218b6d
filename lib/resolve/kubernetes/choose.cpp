// SPDX-License-Identifier: Apache-2.0
#include "choose.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "tfd/base/text.hpp"

namespace tfd::resolve::kubernetes {
namespace {

/// The source of a pod's index, and the index. Pods of one group have an order of their own.
struct Place {
  std::string group;       // "Job a", "JobSet s"; empty: none, by name
  std::string namespace_;  // two of a name in several namespaces stay apart
  int outer = 0;           // of a JobSet: which of its Jobs
  std::string middle;      // of a JobSet without global indices: which replicated job
  int index = 0;
  auto key() const { return std::tie(group, namespace_, middle, outer, index); }
  friend bool operator<(const Place& a, const Place& b) { return a.key() < b.key(); }
};

/// nullopt: it goes by its name.
std::optional<Place> place_of(const Pod& pod) {
  Place place;
  place.namespace_ = pod.namespace_;
  if (pod.completion_index) {
    place.index = *pod.completion_index;
    place.group = pod.owner.kind + ' ' + pod.owner.name;
    if (!pod.job_set.empty()) {
      place.group = "JobSet " + pod.job_set;
      place.outer = pod.job_global_index.value_or(pod.job_index.value_or(0));
      if (!pod.job_global_index) place.middle = pod.replicated_job;
    }
    return place;
  }
  if (!pod.ordinal) return std::nullopt;
  place.index = *pod.ordinal;
  place.group = pod.owner.kind + ' ' + pod.owner.name;
  return place;
}

std::string pod_key(const Pod& pod) { return fmt::format("{}/{}/{}", pod.namespace_, pod.name, pod.uid); }

bool newer(const Pod& a, const Pod& b) { return std::tie(a.created, a.uid) > std::tie(b.created, b.uid); }

bool has_address(const Pod& pod, PodAddress address) {
  switch (address) {
    case PodAddress::kPodIp:
      return !pod.pod_ip.empty();
    case PodAddress::kHostIp:
      return !pod.host_ip.empty();
    case PodAddress::kHostname:
      return true;
  }
  return false;
}

/// Checks the pods of one owner for missing ones.
class OwnerCheck {
 public:
  OwnerCheck(const Sizes& sizes, bool asked, std::vector<std::string>& awaited)
      : sizes_(sizes), asked_(asked), awaited_(awaited) {}

  /// `pods`: the chosen ones of one Job or StatefulSet; `gone`: those of it that are no longer live.
  Result<void> check(const std::string& key, const std::vector<const Pod*>& pods, const std::vector<const Pod*>& gone) {
    const Pod& any = *pods.front();
    const std::string name = fmt::format("{} {}", printable(any.owner.kind), printable(any.owner.name));
    const auto found = sizes_.find(key);
    if (found != sizes_.end() && !found->second.wrong.empty() && !asked_)
      return fail(Code::kFailedPrecondition, "{} {}", name, found->second.wrong);
    const std::optional<int> size = found == sizes_.end() ? std::nullopt : found->second.pods;
    const bool indexed = any.completion_index || any.ordinal;
    if (indexed) {
      check_indices(name, pods, gone, size, found == sizes_.end() ? std::optional<int>() : found->second.first);
    } else if (size && static_cast<int>(pods.size()) != *size && !asked_) {
      awaited_.push_back(fmt::format("{} of {} pods of {} exist", pods.size(), *size, name));
    }
    return {};
  }

 private:
  static int index_of(const Pod& pod) { return pod.completion_index.value_or(pod.ordinal.value_or(0)); }

  /// Checks that no index is missing from the first to the last one that there is to be.
  void check_indices(const std::string& name, const std::vector<const Pod*>& pods, const std::vector<const Pod*>& gone,
                     std::optional<int> size, std::optional<int> first_known) {
    std::vector<int> there;
    for (const Pod* pod : pods) there.push_back(index_of(*pod));
    std::sort(there.begin(), there.end());
    there.erase(std::unique(there.begin(), there.end()), there.end());
    const int least = std::min(first_known.value_or(pods.front()->completion_index ? 0 : there.front()), there.front());
    // The owner may be larger where --jobs says how many: only the cluster must be complete.
    const int end = std::max(there.back() + 1, size && !asked_ ? least + *size : 0);
    std::vector<std::string> missing;
    const int missing_count = end - least - static_cast<int>(there.size());
    for (int i = least; i < end && static_cast<int>(missing.size()) < std::min(missing_count, 5); ++i)
      if (!std::binary_search(there.begin(), there.end(), i)) missing.push_back(missing_one(i, gone));
    if (missing.empty()) return;
    if (missing_count > 5) missing.push_back(fmt::format("{} more", missing_count - 5));
    awaited_.push_back(
        fmt::format("{} of {} pods of {} exist, missing {}", there.size(), end - least, name, join_words(missing)));
  }

  static std::string missing_one(int index, const std::vector<const Pod*>& gone) {
    for (const Pod* pod : gone)
      if (index_of(*pod) == index)
        return fmt::format("index {} (pod {} {})", index, printable(pod->name),
                           pod->terminating ? "is being deleted" : "has " + printable(pod->phase));
    return fmt::format("index {}", index);
  }

  const Sizes& sizes_;
  bool asked_;
  std::vector<std::string>& awaited_;
};

/// The Jobs of a JobSet's replicated job that have no pod yet.
void check_replicas(const std::vector<Pod>& pods, std::vector<std::string>& awaited) {
  std::map<std::string, std::pair<int, std::vector<int>>> seen;  // replicated job -> replicas, job indices
  for (const Pod& pod : pods) {
    if (pod.job_set.empty() || !pod.job_replicas || !pod.job_index) continue;
    auto& [replicas, indices] = seen[pod.namespace_ + '/' + pod.job_set + '/' + pod.replicated_job];
    replicas = *pod.job_replicas;
    indices.push_back(*pod.job_index);
  }
  for (auto& [name, entry] : seen) {
    auto& [replicas, indices] = entry;
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    if (static_cast<int>(indices.size()) < replicas)
      awaited.push_back(fmt::format("{} of {} Jobs of JobSet {} have pods", indices.size(), replicas,
                                    printable(name.substr(name.find('/') + 1))));
  }
}

}  // namespace

std::string owner_key(const Pod& pod) {
  return fmt::format("{}/{}/{}/{}", pod.namespace_, pod.owner.kind, pod.owner.name, pod.owner.uid);
}

bool has_size(const Owner& owner) { return owner.kind == "Job" || owner.kind == "StatefulSet"; }

std::string describe_phase(const Pod& pod) {
  return fmt::format("pod {} is {}{}", printable(pod.name), pod.phase.empty() ? "of no phase" : printable(pod.phase),
                     pod.reason.empty() ? "" : fmt::format(" ({})", printable(pod.reason)));
}

Result<std::string> pod_host(const Pod& pod, PodAddress address) {
  switch (address) {
    case PodAddress::kPodIp:
      return pod.pod_ip;
    case PodAddress::kHostIp:
      return pod.host_ip;
    case PodAddress::kHostname:
      break;
  }
  if (pod.hostname.empty() || pod.subdomain.empty())
    return fail(Code::kFailedPrecondition,
                "pod {} has no name in DNS: its spec has no {}, which a headless service and an Indexed Job or a "
                "StatefulSet would give it; or use --address pod-ip",
                printable(pod.name), pod.hostname.empty() ? "hostname" : "subdomain");
  return fmt::format("{}.{}.{}.svc", pod.hostname, pod.subdomain, pod.namespace_);
}

Result<Choice> choose_pods(const std::string& job, const std::vector<std::vector<Pod>>& selected,
                           const std::vector<std::string>& selectors, const Sizes& sizes, std::optional<int> asked,
                           PodAddress address) {
  Choice choice;
  std::map<std::string, std::vector<const Pod*>> gone;  // by owner
  std::set<std::string> taken;                          // a pod that two selectors match is one task
  for (std::size_t i = 0; i < selected.size(); ++i) {
    std::map<Place, const Pod*> placed;
    std::vector<const Pod*> named;
    for (const Pod& pod : selected[i]) {
      if (taken.count(pod_key(pod)) > 0) continue;
      if (!pod.live()) {
        gone[owner_key(pod)].push_back(&pod);
      } else if (const auto place = place_of(pod)) {
        const Pod*& at = placed[*place];
        if (at == nullptr || newer(pod, *at)) at = &pod;
      } else {
        named.push_back(&pod);
      }
    }
    std::sort(named.begin(), named.end(), [](const Pod* a, const Pod* b) {
      return std::tie(a->name, a->namespace_) < std::tie(b->name, b->namespace_);
    });
    const std::size_t before = choice.tasks.size();
    for (const auto& [place, pod] : placed) choice.tasks.push_back(*pod);
    for (const Pod* pod : named) choice.tasks.push_back(*pod);
    for (std::size_t k = before; k < choice.tasks.size() && i + 1 < selected.size(); ++k)
      taken.insert(pod_key(choice.tasks[k]));
    if (std::none_of(selected[i].begin(), selected[i].end(), [](const Pod& pod) { return pod.live(); }))
      choice.awaited.push_back(fmt::format("no {}pod matches {}", selected[i].empty() ? "" : "live ", selectors[i]));
  }

  for (const Pod& pod : choice.tasks)
    if (pod.phase != "Running")
      choice.awaited.push_back(describe_phase(pod));
    else if (!has_address(pod, address))
      choice.awaited.push_back(fmt::format("pod {} has no address yet", printable(pod.name)));

  std::map<std::string, std::vector<const Pod*>> owned;
  for (const Pod& pod : choice.tasks)
    if (has_size(pod.owner) || place_of(pod)) owned[owner_key(pod)].push_back(&pod);
  OwnerCheck check(sizes, asked.has_value(), choice.awaited);
  for (const auto& [key, pods] : owned) TFD_TRY(check.check(key, pods, gone[key]), job);
  if (!asked) check_replicas(choice.tasks, choice.awaited);
  if (asked && static_cast<int>(choice.tasks.size()) != *asked)
    choice.awaited.push_back(fmt::format("{} found, {} expected", counted(choice.tasks.size(), "pod"), *asked));
  return choice;
}

Choice choose_as_tensorflow(const std::vector<std::vector<Pod>>& selected) {
  Choice choice;
  for (const std::vector<Pod>& pods : selected) {
    const auto first = static_cast<std::ptrdiff_t>(choice.tasks.size());
    choice.tasks.insert(choice.tasks.end(), pods.begin(), pods.end());
    std::stable_sort(choice.tasks.begin() + first, choice.tasks.end(),
                     [](const Pod& a, const Pod& b) { return a.name < b.name; });
  }
  for (const Pod& pod : choice.tasks)
    if (pod.phase != "Running") choice.awaited.push_back(describe_phase(pod));
  return choice;
}

}  // namespace tfd::resolve::kubernetes
