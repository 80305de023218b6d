#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The running instances of a Compute Engine instance group. Source: GCEClusterResolver of TensorFlow 2.21.
// Thread rule: one thread.
#include <memory>
#include <string>

#include "tfd/resolve/masters.hpp"
#include "tfd/resolve/resolver_environment.hpp"

namespace tfd::resolve {

struct GceOptions {
  std::string project;  // empty: the metadata server's
  std::string zone;     // empty: the metadata server's
  std::string instance_group;
  int port = 0;
  std::string job = "worker";
  std::optional<cluster::TaskId> task;  // nullopt: this host's own place in the group, where it is an instance of it
  std::optional<std::string> rpc_layer = "grpc";
  std::string credentials;  // a file; empty: application-default credentials
  /// Empty: CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE, else https://compute.googleapis.com/compute/v1.
  std::string api_url;
  Compat compat = Compat::kNone;
};
/// Asks nobody yet. kInvalidArgument: no group, no port. resolve(): kNotFound: no such group (or a regional one);
/// kFailedPrecondition: nothing runs in it, an instance without an address; kUnavailable, kPermissionDenied as the API
/// says. Order: instances by name, numbers as numbers; with compat the addresses as strings.
Result<std::unique_ptr<Resolver>> make_gce_resolver(GceOptions options, const ResolverEnvironment& environment);

/// master() of the given type and index, else its own; "" if one of them is neither. Source: GCEClusterResolver.master.
Result<std::string> gce_master(const cluster::ClusterConfig& config, const MasterQuery& query);

}  // namespace tfd::resolve
