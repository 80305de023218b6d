#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reduces the updates of a step's replicas to one list. Private to the room. Thread rule: pure functions.
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::step {

/// How the updates of several replicas are reduced: by their output (the first of several whose rows are merged), and
/// by their variable's aggregation.
struct UpdateRule {
  program::Reduce reduce = program::Reduce::kMean;
  variable::Aggregation aggregation = variable::Aggregation::kNone;
};
/// Rules for the updates that bind_outputs() makes of the function's results, in their order.
std::vector<UpdateRule> update_rules_of(const program::Program& program, const program::FunctionDef& function);

/// Reduces updates[replica][i] by rules[i]; examples[replica] are the weights of gradients' means. Each replica updates
/// its own copies. kInvalidArgument: an assignment by several replicas without an aggregation.
Result<std::vector<variable::Update>> reduce_updates(const std::vector<UpdateRule>& rules,
                                                     std::vector<std::vector<variable::Update>> updates,
                                                     const std::vector<double>& examples, const ReplicaCopies& copies);

}  // namespace tfd::step
