#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The pods behind label selectors as a cluster. Source: KubernetesClusterResolver of TensorFlow 2.21 and its
// documentation; which pods count and in what order: design.md, "Faithful, and right".
// Thread rule: one thread.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tfd/resolve/resolver_environment.hpp"

namespace tfd::resolve {

enum class PodAddress { kPodIp, kHostIp, kHostname };

struct KubernetesOptions {
  /// job -> label selectors, in order; empty: worker=job-name=tensorflow.
  std::vector<std::pair<std::string, std::vector<std::string>>> selectors;
  JobCounts jobs;  // number of tasks per job; empty: as its Job or JobSet states, else the existing pods
  std::optional<std::string> namespace_;  // nullopt: all
  int port = 8470;
  PodAddress address = PodAddress::kPodIp;
  std::optional<std::string> rpc_layer = "grpc";
  std::optional<cluster::TaskId> task;
  std::string kubeconfig;  // a path; empty: KUBECONFIG, in-cluster configuration, ~/.kube/config
  std::string context;     // empty: the current one
  bool insecure_skip_tls_verify = false;
  std::optional<Duration> wait;  // pending or missing pods are waited for
  Compat compat = Compat::kNone;
};

/// Reads the configuration: kFailedPrecondition: there is none (names the places that were looked at); kNotFound: a
/// named file, context, cluster or user is missing; kInvalidArgument: which one is wrong, and why. Errors of
/// resolve(): kFailedPrecondition: a pod isn't Running (names it and its phase), fewer or more pods than `jobs`, the
/// Job or the StatefulSet say (both numbers), indices that are missing; kPermissionDenied: 401 and 403, with what the
/// server said and what would be needed, a certificate that isn't trusted; kDeadlineExceeded after `wait`: names the
/// pods waited for; kUnavailable: no server, also after retries. wait_change() uses the API's watch from the last
/// list's resource version on, so that it misses nothing; it survives cut connections and restarts, lists again where
/// the version is too old, and is true only when resolve() will answer otherwise. The next resolve() answers from the
/// pods that it saw.
Result<std::unique_ptr<Resolver>> make_kubernetes_resolver(KubernetesOptions options,
                                                           const ResolverEnvironment& environment);

}  // namespace tfd::resolve
