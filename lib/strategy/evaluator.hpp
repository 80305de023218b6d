#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Evaluations in this process, of variables as they were at one moment. Private to the room.
// Thread rule: blocks its thread.
#include "tfd/runtime/replica_runner.hpp"
#include "tfd/strategy/ps_training.hpp"

namespace tfd::strategy {

/// The job of the evaluator of a cluster: with variables of its own.
Result<TrainSummary> follow_as_evaluator(const program::Program& program, const ParameterServerStrategy& strategy,
                                         const PsTrainingOptions& options);

/// What the function reads of it, its tables too: nothing is asked for elsewhere.
runtime::VariableValues values_for(const program::FunctionDef& function, const runtime::NamedState& state);

}  // namespace tfd::strategy
