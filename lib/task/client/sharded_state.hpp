#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Variables that are cut into shards, as everybody but the parameter servers sees them: whole. Checkpoints hold whole
// variables and slots too, so another number of parameter servers, or another partitioner, reads them.
// Thread rule: pure functions.
#include <string>
#include <utility>
#include <vector>

#include "tfd/task/placement.hpp"

namespace tfd::task {

using State = std::vector<std::pair<std::string, tensor::Tensor>>;  // as VariableStore::export_state

/// What a parameter server calls a shard: "table/part_1", or, of a variable in one piece, its name.
std::string stored_name(const variable::PlacedVariable& placed, std::size_t shard);

/// The shards of a whole value; they share its buffer. The shape must be the variable's.
std::vector<tensor::Tensor> cut_value(const variable::PlacedVariable& placed, const tensor::Tensor& value);
/// Into one buffer. kInternal: parts that are not its shards.
Result<tensor::Tensor> join_value(const variable::PlacedVariable& placed, const std::vector<tensor::Tensor>& parts);

/// The states of all parameter servers as one. Of counters the largest, for a parameter server counts what it applied.
/// A slot that only some shards have (the very first update reached only those) is left out.
Result<State> join_state(const Placement& placement, std::vector<State> parts);
/// For each parameter server its own; names that the placement doesn't know are left out. kInvalidArgument: a value of
/// another shape.
Result<std::vector<State>> cut_state(const Placement& placement, const State& state);

}  // namespace tfd::task
