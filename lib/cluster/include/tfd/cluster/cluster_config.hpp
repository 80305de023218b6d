#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The document that tools pass to each other: a cluster spec and this process's task. A superset of TF_CONFIG; unknown
// keys are kept. Thread rule: plain value.
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tfd/cluster/cluster_spec.hpp"

namespace tfd::cluster {

struct ClusterConfig {
  ClusterSpec cluster;
  std::optional<TaskId> task;  // absent when it can't be known
  std::optional<std::string> rpc_layer;
  std::optional<std::string> environment;
  std::optional<std::string> master;
  std::map<std::string, int> num_accelerators;
  std::optional<std::string> resolver;  // the resolver that made this
  std::string extra = "{}";  // a JSON object: the keys that tfd doesn't know, in their order; those of "task" under it

  // Fields of this process alone, never in the JSON:
  std::optional<std::string> visible_devices = {};  // value for the variable below, in this process and its children
  std::string visible_devices_variable = "CUDA_VISIBLE_DEVICES";
  std::string no_task_reason = {};  // why `task` is absent, for formats that need it
};

/// Reads one JSON document. kInvalidArgument names `source` and the JSON path: "TF_CONFIG: cluster.worker[2]: port …".
/// Addresses are not validated here (TensorFlow doesn't), only their types.
Result<ClusterConfig> cluster_config_from_json(std::string_view text, std::string_view source);
/// Only the jobs: {"worker": ["h1:8888"], "ps": {"3": "h3:8888"}}. Errors as above, TensorFlow's TypeErrors among them.
Result<ClusterSpec> cluster_spec_from_json(std::string_view text, std::string_view source);
/// A job is a list where it is dense, else an object; one without tasks is {} (TensorFlow's as_dict).
std::string cluster_spec_to_json(const ClusterSpec& spec);
/// Returns the string under a key that isn't TensorFlow's, such as "key_file"; empty if it is absent or no string.
std::string stated_text(const ClusterConfig& config, std::string_view key);
/// One line, keys in design order, then the unknown ones. With a final newline when `pretty` (two spaces) or not.
std::string cluster_config_to_json(const ClusterConfig& config, bool pretty = false);

}  // namespace tfd::cluster
