#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The "cluster" and "task" members alone, for those who read or write them piece by piece. Thread rule: pure functions.
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/cluster/json_value.hpp"

namespace tfd::cluster {

/// Errors name the path below `where`: "cluster.worker[2]: …".
Result<ClusterSpec> spec_from_value(const JsonValue& value, std::string_view where);
void append_spec(std::string& out, const ClusterSpec& spec);
/// {"type": "worker", "index": 1, …}
void append_task(std::string& out, const TaskId& task, const JsonValue* extra);

}  // namespace tfd::cluster
