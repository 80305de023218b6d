#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Several specs as one. Source: UnionResolver of TensorFlow 2.21. Thread rule: pure functions.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tfd/cluster/cluster_config.hpp"
#include "tfd/resolve/masters.hpp"
#include "tfd/resolve/resolver.hpp"

namespace tfd::resolve {

struct UnionOptions {
  std::optional<std::string> task_type;
  std::optional<int> task_id;
  std::optional<std::string> rpc_layer;
  Compat compat = Compat::kNone;
  std::vector<std::string> sources = {};  // what messages call the specs; "spec 1" and so on where there are none
};

/// Joins the specs job by job: lists are appended, duplicates kept; as soon as one contribution is sparse (or has no
/// task), indices are kept and a clash is kAlreadyExists, naming them and both sources. Everything else is the first
/// spec's, unless the options say otherwise. kInvalidArgument: no specs.
Result<cluster::ClusterSpec> union_specs(const std::vector<cluster::ClusterSpec>& specs,
                                         const std::vector<std::string>& sources = {});
/// The value of an override: with Compat::kTensorflow an empty text and a 0 don't count.
template <class T>
std::optional<T> union_override(const std::optional<T>& asked, const std::optional<T>& first, Compat compat) {
  return asked && (compat == Compat::kNone || *asked != T{}) ? asked : first;
}
/// Source: UnionResolver.master. `own_layer` is the union's own, not the first resolver's; `first` is that one's
/// master(rpc_layer).
Result<std::string> union_master(const std::vector<cluster::ClusterSpec>& specs,
                                 const std::optional<std::string>& own_layer, const MasterQuery& query,
                                 const std::function<Result<std::string>(const std::optional<std::string>&)>& first);

/// kInvalidArgument: no specs, no task in any of them, a task that doesn't exist.
Result<cluster::ClusterConfig> resolve_union(const std::vector<cluster::ClusterConfig>& configs,
                                             const UnionOptions& options);

}  // namespace tfd::resolve
