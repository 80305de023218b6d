#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where the API server is and as whom it is asked, from whichever configuration is there. Looked at in this order:
//   1. the kubeconfig given (--kubeconfig)
//   2. KUBECONFIG: several files, merged; one that isn't there is passed over, but one must be there
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
/// context, cluster or user that was named isn't there; kInvalidArgument: what is wrong with which file. Reads the
/// files of the cluster's authority, no credentials.
Result<Access> load_access(const KubernetesOptions& options, const ResolverEnvironment& environment);

/// "[::1]" for an IPv6 address, else the host itself.
std::string url_host(const std::string& host);

}  // namespace tfd::resolve::kubernetes
