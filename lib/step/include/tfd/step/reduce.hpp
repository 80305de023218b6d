#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What several replicas of one step want of the variables, as one list of updates. Private to the room.
// Thread rule: pure functions.
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::step {

/// How the updates of several replicas become one: by the output that they are (the first of several whose rows are put
/// together), and by their variable's aggregation.
struct UpdateRule {
  program::Reduce reduce = program::Reduce::kMean;
  variable::Aggregation aggregation = variable::Aggregation::kNone;
};
/// One for each update that bind_outputs() makes of the function's results, in their order.
std::vector<UpdateRule> update_rules_of(const program::Program& program, const program::FunctionDef& function);

/// updates[replica][i] go by rules[i]; examples[replica] weigh the mean of gradients. Each replica updates its own of
/// the copies. kInvalidArgument: an assignment without an aggregation of several replicas.
Result<std::vector<variable::Update>> reduce_updates(const std::vector<UpdateRule>& rules,
                                                     std::vector<std::vector<variable::Update>> updates,
                                                     const std::vector<double>& examples, const ReplicaCopies& copies);

}  // namespace tfd::step
