#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A pod as far as a cluster needs it, and the API's lists and watch events of them. Source: the Kubernetes API,
// core/v1 Pod, PodList, meta/v1 WatchEvent; labels of Job, StatefulSet and JobSet. Thread rule: plain values.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/cluster/json_value.hpp"

namespace tfd::resolve::kubernetes {

/// The maker of a pod: its controller's owner reference.
struct Owner {
  std::string kind, name, uid;
  friend bool operator==(const Owner&, const Owner&) = default;
};

struct Pod {
  std::string name, namespace_, uid;
  std::string created;  // RFC 3339 in UTC: in text order
  std::string phase;
  std::string reason;  // why it doesn't run: "ImagePullBackOff", "Unschedulable: 0/3 nodes …"
  std::string pod_ip, host_ip, node;
  std::string hostname, subdomain;  // of its spec
  bool terminating = false;
  bool host_network = false;
  Owner owner;
  std::map<std::string, std::string> labels;
  std::optional<int> completion_index;  // of an Indexed Job
  std::optional<int> ordinal;           // of a StatefulSet
  std::string job_set, replicated_job;
  std::optional<int> job_index, job_global_index, job_replicas;
  friend bool operator==(const Pod&, const Pod&) = default;

  bool finished() const { return phase == "Succeeded" || phase == "Failed"; }
  bool live() const { return !terminating && !finished(); }
};

Pod read_pod(const cluster::JsonValue& object);

struct PodPage {
  std::vector<Pod> pods;
  std::string resource_version;
  std::string next;  // continue token; empty at the end
};
/// kDataLoss: not a PodList.
Result<PodPage> read_pod_page(const cluster::JsonValue& list);

/// One line of a watch.
struct WatchEvent {
  enum class Kind { kSet, kDeleted, kBookmark, kTooOld, kError } kind = Kind::kError;
  Pod pod;
  std::string resource_version;
  std::string message;  // of kTooOld and kError
};
WatchEvent read_watch_event(std::string_view line);

}  // namespace tfd::resolve::kubernetes
