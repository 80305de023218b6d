#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Evaluates a function once, spread over a group's members (--evaluate with MultiWorkerMirroredStrategy): each takes
// every size-th batch, and the chief writes the metrics of all. Private to the room. Thread rule: each call blocks its
// thread.
#include "group_training.hpp"
#include "tfd/strategy/evaluator.hpp"

namespace tfd::strategy {

/// A member's part of what all evaluate. `seed`: of the shuffles, the same in all.
step::EvaluationPart part_of_evaluation(const collective::Communicator& communicator, std::uint64_t seed);

/// Evaluates as evaluate_once() does, with the chief's weights; only the chief's sinks are called. Errors: those of
/// evaluate_once(), of Group::form() and of the members; kUnavailable names a member that is gone, the same in all.
Result<train::TrainSummary> evaluate_in_group(const program::Program& program, const EvaluationRequest& request,
                                              GroupTrainingOptions options);

}  // namespace tfd::strategy
