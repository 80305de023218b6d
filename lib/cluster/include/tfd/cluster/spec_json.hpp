#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The "cluster" and "task" members alone, for resolvers that read or write them piece by piece. Thread rule: pure
// functions.
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/cluster/json_value.hpp"

namespace tfd::cluster {

/// Errors name the path below `where`: "cluster.worker[2]: …".
Result<ClusterSpec> spec_from_value(const JsonValue& value, std::string_view where);
/// cluster_config_to_json() with another "cluster", such as an empty one if nobody reads it.
std::string config_with_spec_to_json(const ClusterConfig& config, const ClusterSpec& spec, bool pretty);
void append_spec(std::string& out, const ClusterSpec& spec);
/// {"type": "worker", "index": 1, …}
void append_task(std::string& out, const TaskId& task, const JsonValue* extra);

}  // namespace tfd::cluster
