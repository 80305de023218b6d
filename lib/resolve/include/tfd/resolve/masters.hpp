#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// master(), num_accelerators() and the single properties of TensorFlow's resolvers, asked one by one as its programs
// ask them: each can fail alone. resolve_simple() and resolve_tf_config() are made of them. Thread rule: plain values.
#include <map>
#include <optional>
#include <span>
#include <string>

#include "tfd/cluster/cluster_spec.hpp"
#include "tfd/cluster/json_value.hpp"

namespace tfd::resolve {

/// Arguments of master().
struct MasterQuery {
  std::optional<std::string> task_type = {};
  std::optional<int> task_id = {};
  std::optional<std::string> rpc_layer = {};
};

/// Source: SimpleClusterResolver.master, 2.21: the address only where type and id are asked for, else `master`.
Result<std::string> simple_master(const cluster::ClusterSpec& spec, const std::string& master,
                                  const std::optional<std::string>& own_layer, const MasterQuery& query);

/// TF_CONFIG as TFConfigClusterResolver of 2.21 sees it.
class TfConfigView {
 public:
  /// `overrides` are the constructor's arguments; `text` is nullopt where the variable is unset.
  TfConfigView(const std::optional<std::string>& text, MasterQuery overrides);

  Result<cluster::ClusterSpec> cluster_spec() const;
  Result<std::optional<std::string>> task_type() const;
  Result<std::optional<int>> task_id() const;
  Result<std::optional<std::string>> rpc_layer() const;
  /// Missing arguments are its own type, id and layer; "" for a cluster of one task.
  Result<std::string> master(const MasterQuery& query) const;
  /// Counts by type those of `devices` ("/job:worker/replica:0/task:0/device:GPU:0") that aren't CPUs and whose names
  /// hold the task's job and index as substrings (task:1 is in task:10 too).
  Result<std::map<std::string, int>> num_accelerators(std::span<const std::string> devices,
                                                      const MasterQuery& query) const;

 private:
  Result<const cluster::JsonValue*> find(std::string_view key) const;
  Result<const cluster::JsonValue*> find_in_task(std::string_view key) const;

  Result<cluster::JsonValue> root_;
  MasterQuery overrides_;
};

}  // namespace tfd::resolve
