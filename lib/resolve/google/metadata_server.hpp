#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The metadata server of a Compute Engine VM, GKE pod or TPU VM: GCE_METADATA_HOST, else GCE_METADATA_IP, else
// metadata.google.internal. Every request carries "Metadata-Flavor: Google" and only an answer that does too counts,
// so that another server at that address is not believed. Source: Google's "About VM metadata"; TensorFlow 2.21's
// _get_metadata for the variables. Thread rule: one thread.
#include <optional>
#include <string>
#include <string_view>

#include "tfd/resolve/resolver_environment.hpp"

namespace tfd::resolve::google {

class MetadataServer {
 public:
  /// `environment` must outlive it. Asks nothing yet.
  explicit MetadataServer(const ResolverEnvironment& environment);

  /// "project/project-id", "instance/attributes/tpu-env": the path below /computeMetadata/v1/. kUnavailable where no
  /// metadata server is to be found (within 3 s: off Google Cloud its name isn't known, or nobody answers) or it keeps
  /// failing; kNotFound for what it doesn't have; kPermissionDenied where it refuses. Names `what` was looked for.
  Result<std::string> fetch(std::string_view path, std::string_view what, Deadline deadline);
  /// nullopt for what it doesn't have.
  Result<std::optional<std::string>> find(std::string_view path, std::string_view what, Deadline deadline);
  /// The last part of instance/zone, "projects/123/zones/europe-west4-a".
  Result<std::string> fetch_zone(Deadline deadline);
  Result<std::string> fetch_project(Deadline deadline);

  const std::string& host() const { return host_; }

 private:
  Result<Response> ask(std::string_view path, std::string_view what, Deadline deadline);

  const ResolverEnvironment& environment_;
  std::string host_;
  bool answered_ = false;
  std::optional<Error> absent_;  // asked once, never again: its name stays unknown
};

}  // namespace tfd::resolve::google
