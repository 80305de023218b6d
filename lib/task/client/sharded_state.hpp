#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Converts between sharded variables on parameter servers and whole ones everywhere else. Checkpoints hold whole
// variables and slots, too, so that another number of parameter servers, or another partitioner, can read them.
// Thread rule: pure functions.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/task/placement.hpp"
#include "tfd/task/server_client.hpp"

namespace tfd::task {

/// Entry of every server's state: the closures whose updates it has applied.
inline constexpr std::string_view kIterations = ".iterations";
/// The variable of an entry of a state: "w" of "w/.optimizer/adam/m".
std::string variable_of(const std::string& name);
/// Name of a shard on a parameter server: "table/part_1", or the variable's name if it isn't sharded.
std::string stored_name(const variable::PlacedVariable& placed, std::size_t shard);

/// Splits a whole value into shards, which share its buffer. The shape must be the variable's.
std::vector<tensor::Tensor> cut_value(const variable::PlacedVariable& placed, const tensor::Tensor& value);
/// Joins shards into one buffer. kInternal: parts that aren't its shards.
Result<tensor::Tensor> join_value(const variable::PlacedVariable& placed, const std::vector<tensor::Tensor>& parts);

/// Joins the states of all parameter servers. Counters become the largest, since each server counts what it applied. A
/// slot that only some shards have (the very first update reached only those) is left out.
Result<tensor::NamedTensors> join_state(const Placement& placement, std::vector<tensor::NamedTensors> parts);
/// Splits a state by parameter server; names unknown to the placement are left out. kInvalidArgument: a value of
/// another shape.
Result<std::vector<tensor::NamedTensors>> cut_state(const Placement& placement, const tensor::NamedTensors& state);

/// Each parameter server's share of a checkpoint in parts, and the coordinator's.
struct PartsPlan {
  struct Server {
    std::vector<std::uint32_t> written;  // positions in what it exports
    std::vector<std::uint32_t> counters;
    std::vector<std::string> counted;  // their names in the checkpoint
  };
  std::vector<Server> servers;
  std::vector<variable::ShardedValue> sharded = {};
};
/// Plans the parts of an export so that they have the same values as join_state() makes of it.
Result<PartsPlan> plan_parts(const Placement& placement, const std::vector<ExportedState>& exports);

}  // namespace tfd::task
