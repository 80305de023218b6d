#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The parameter server that each variable, or each of its shards, is placed on: round-robin in creation order,
// colocated ones beside another. Thread rule: pure functions. Source:
// tensorflow/python/distribute/parameter_server_strategy_v2.py, 2.21.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/variable/partitioner.hpp"
#include "tfd/variable/sharding.hpp"

namespace tfd::variable {

struct VariableToPlace {
  std::string name;
  tensor::TensorSpec spec;
  std::optional<Partitioner> partitioner;  // ignored for scalars, and where colocate_with says another place
  std::string colocate_with;               // a variable named before; empty: round-robin
  /// The result of a custom partitioner, instead of `partitioner`.
  std::optional<std::vector<std::int64_t>> partitions = {};
};

struct PlacedVariable {
  std::string name;
  Sharding sharding;    // one shard: not partitioned
  std::vector<int> ps;  // of each shard
};

/// Places one variable: round-robin goes on with every variable and every shard; colocated ones don't count.
/// kInvalidArgument: no parameter server, a variable to be colocated with that isn't there before, or is in several
/// places.
Result<std::vector<PlacedVariable>> place_variables(const std::vector<VariableToPlace>& variables, int ps_count);

/// The same for variables that come one after another: one that can't be placed doesn't count.
class Placer {
 public:
  explicit Placer(int ps_count) : ps_count_(ps_count) {}
  Result<PlacedVariable> place(const VariableToPlace& variable);

 private:
  Result<PlacedVariable> place_beside(const VariableToPlace& variable) const;

  int ps_count_;
  int next_ = 0;
  std::vector<PlacedVariable> placed_;
};

}  // namespace tfd::variable
