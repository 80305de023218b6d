#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A server's definition (job, index, protocol), inferred where it isn't stated. Source: tf.distribute.Server,
// server_lib._make_server_def, 2.21. Thread rule: pure function.
//
//   infer_server_def(spec, std::nullopt, std::nullopt, std::nullopt)   // of {"local": ["localhost:0"]}: local, 0, grpc
#include <optional>
#include <string>

#include "tfd/cluster/cluster_spec.hpp"

namespace tfd::cluster {

struct ServerDef {
  TaskId task;
  std::string protocol;
};

/// Defaults of missing arguments: the only job, the only index of that job (a sparse one's own, as 7), protocol grpc.
/// Given arguments aren't checked against the spec. kInvalidArgument: "must specify an explicit
/// job_name"; kNotFound: no such job, noticed only when its index has to be inferred.
Result<ServerDef> infer_server_def(const ClusterSpec& spec, const std::optional<std::string>& job,
                                   const std::optional<int>& index, const std::optional<std::string>& protocol);

}  // namespace tfd::cluster
