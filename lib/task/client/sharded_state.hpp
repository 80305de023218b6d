#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Converts between sharded variables on parameter servers and whole ones everywhere else. Checkpoints hold whole
// variables and slots, too, so that another number of parameter servers, or another partitioner, can read them.
// Thread rule: pure functions.
#include <string>
#include <utility>
#include <vector>

#include "tfd/task/placement.hpp"

namespace tfd::task {

using State = std::vector<std::pair<std::string, tensor::Tensor>>;  // as VariableStore::export_state

/// Name of a shard on a parameter server: "table/part_1", or the variable's name if it isn't sharded.
std::string stored_name(const variable::PlacedVariable& placed, std::size_t shard);

/// Splits a whole value into shards, which share its buffer. The shape must be the variable's.
std::vector<tensor::Tensor> cut_value(const variable::PlacedVariable& placed, const tensor::Tensor& value);
/// Joins shards into one buffer. kInternal: parts that aren't its shards.
Result<tensor::Tensor> join_value(const variable::PlacedVariable& placed, const std::vector<tensor::Tensor>& parts);

/// Joins the states of all parameter servers. Counters become the largest, since each server counts what it applied. A
/// slot that only some shards have (the very first update reached only those) is left out.
Result<State> join_state(const Placement& placement, std::vector<State> parts);
/// Splits a state by parameter server; names unknown to the placement are left out. kInvalidArgument: a value of
/// another shape.
Result<std::vector<State>> cut_state(const Placement& placement, const State& state);

}  // namespace tfd::task
