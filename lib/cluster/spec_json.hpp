#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The "cluster" member alone, for the files of this room that read or write it. Thread rule: pure functions.
#include "json_value.hpp"
#include "tfd/cluster/cluster_config.hpp"

namespace tfd::cluster::detail {

/// Errors name the path below `where`: "cluster.worker[2]: …".
Result<ClusterSpec> spec_from_value(const JsonValue& value, std::string_view where);
void append_spec(std::string& out, const ClusterSpec& spec);
/// {"type": "worker", "index": 1, …}
void append_task(std::string& out, const TaskId& task, const JsonValue* extra);

}  // namespace tfd::cluster::detail
