// SPDX-License-Identifier: Apache-2.0
#include "owners.hpp"

#include <algorithm>

#include "tfd/base/text.hpp"

namespace tfd::resolve::kubernetes {
namespace {

using cluster::JsonValue;

std::optional<int> number_in(const JsonValue* object, std::string_view key) {
  const JsonValue* found = object == nullptr ? nullptr : object->find(key);
  return found != nullptr && found->is(JsonValue::Kind::kInteger) ? to_int(*found) : std::nullopt;
}

/// Only the controllers that the API can be asked about; the group keeps another one of that kind out.
std::string path_of(const Pod& pod) {
  const bool job = pod.owner.kind == "Job";
  return fmt::format("/apis/{}/namespaces/{}/{}/{}", job ? "batch/v1" : "apps/v1", percent_encoded(pod.namespace_),
                     job ? "jobs" : "statefulsets", percent_encoded(pod.owner.name));
}

}  // namespace

Size read_size(std::string_view kind, const JsonValue& object) {
  const JsonValue* spec = object.find("spec");
  Size size;
  if (kind == "StatefulSet") {
    size.pods = number_in(spec, "replicas").value_or(1);
    size.first = number_in(spec == nullptr ? nullptr : spec->find("ordinals"), "start").value_or(0);
    return size;
  }
  const int parallelism = number_in(spec, "parallelism").value_or(1);
  const auto completions = number_in(spec, "completions");
  const JsonValue* mode = spec == nullptr ? nullptr : spec->find("completionMode");
  size.pods = std::min(completions.value_or(parallelism), parallelism);
  if (mode != nullptr && mode->text == "Indexed" && completions && parallelism < *completions)
    size.wrong = fmt::format(
        "runs only {} of its {} pods at a time (parallelism, completions): a cluster needs all of them at once; or "
        "give the number with --jobs",
        parallelism, *completions);
  return size;
}

bool Owners::knows(const std::vector<Pod>& pods) const {
  for (const Pod& pod : pods)
    if (pod.live() && has_size(pod.owner) && !sizes_.contains(owner_key(pod)) && !unknown_.contains(owner_key(pod)))
      return false;
  return true;
}

void Owners::forget() {
  sizes_.clear();
  unknown_.clear();
}

Result<void> Owners::learn(const std::vector<Pod>& pods, Deadline deadline) {
  for (const Pod& pod : pods) {
    const std::string key = owner_key(pod);
    if (!pod.live() || !has_size(pod.owner) || sizes_.contains(key) || unknown_.contains(key)) continue;
    const std::string what = fmt::format("{} {}", printable(pod.owner.kind), printable(pod.owner.name));
    const auto object = client_.get(path_of(pod), "get", what, deadline);
    if (object) {
      sizes_.emplace(key, read_size(pod.owner.kind, *object));
      continue;
    }
    if (object.error().code == Code::kUnavailable || object.error().code == Code::kDeadlineExceeded)
      return fail(object.error());
    if (!said_)
      environment_.log.info("the number of pods of {} is unknown: {}; --jobs can give it", what,
                            object.error().message.substr(0, object.error().message.find('\n')));
    said_ = true;
    unknown_.emplace(key, Size{});
  }
  return {};
}

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
