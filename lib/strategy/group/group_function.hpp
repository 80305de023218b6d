#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs one function on the replicas that a group's members share (--function and --predict with
// MultiWorkerMirroredStrategy). Every member reads the whole dataset and runs its own replicas' rows of each element;
// their results and changes are gathered, so each has all variables as one process would, and the chief writes the
// output of one process. Private to the room. Thread rule: each call blocks its thread.
#include "group_training.hpp"
#include "tfd/strategy/function_run.hpp"

namespace tfd::strategy {

/// Runs it; only the chief's sinks are called. The chief's weights are those of all. `least` of the group's options
/// doesn't count: a lost member ends the run. Errors: those of run_function(), of Group::form() and of the members;
/// kUnavailable names a member that is gone, the same in all.
Result<train::TrainSummary> run_function_in_group(const program::Program& program, const RunRequest& request,
                                                  GroupTrainingOptions options);

}  // namespace tfd::strategy
