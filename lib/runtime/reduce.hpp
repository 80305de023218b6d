#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What several replicas of one step want of the variables, as one list of updates. Private to the room.
// Thread rule: pure function.
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/runtime/replica_copies.hpp"
#include "tfd/variable/store.hpp"

namespace tfd::runtime {

/// updates[replica] are in the order of the function's outputs that update; examples[replica] weigh the mean of
/// gradients. Each replica updates its own of the copies. kInvalidArgument: an assignment without an aggregation of
/// several replicas.
Result<std::vector<variable::Update>> reduce_updates(const program::Program& program,
                                                     const program::FunctionDef& function,
                                                     const std::vector<std::vector<variable::Update>>& updates,
                                                     const std::vector<double>& examples,
                                                     const ReplicaCopies& copies = {});

}  // namespace tfd::runtime
