#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The address of the API server and the credentials for it, from the first configuration that exists, in this order:
//   1. the kubeconfig given (--kubeconfig)
//   2. KUBECONFIG: several files, merged; missing ones are skipped, but one must exist
//   3. in a pod: KUBERNETES_SERVICE_HOST and the service account's token
//   4. HOME/.kube/config
// Thread rule: plain values.
#include <string>

#include "config/kubeconfig.hpp"
#include "tfd/resolve/kubernetes.hpp"

namespace tfd::resolve::kubernetes {

inline constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

struct Access {
  std::string server;      // "https://10.0.0.1:443", without a slash at its end
  std::string origin;      // "context 'a' of /home/u/.kube/config", "this pod's service account"
  std::string namespace_;  // the context's or the pod's own; may be empty
  ClusterEntry cluster;
  UserEntry user;
  Tls tls;  // without the client's certificate, which may come later
};

/// kFailedPrecondition: none anywhere (names the places), or credentials would go over plain http; kNotFound: a file,
/// named file, context, cluster or user is missing; kInvalidArgument: which file is wrong, and why. Reads the
/// files of the cluster's authority, no credentials.
Result<Access> load_access(const KubernetesOptions& options, const ResolverEnvironment& environment);

/// "[::1]" for an IPv6 address, else the host itself.
std::string url_host(const std::string& host);

}  // namespace tfd::resolve::kubernetes
