#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// An evaluation that is no training's: whose variables it takes, and what it writes, by one process or by a group.
// Private to the room. Thread rule: free functions; sinks are called on the caller's thread.
#include <optional>
#include <string>

#include "tfd/step/rules.hpp"
#include "tfd/strategy/evaluator.hpp"

namespace tfd::strategy {

/// The evaluated weights: the variables that the function reads, and the checkpoint that they are from.
struct EvaluatedWeights {
  step::VariableValues variables;
  std::optional<std::int64_t> step = {};  // absent: initial values
  std::string path = {};
};

/// Finds them as run_function() does, and says so where no training has made them. kInvalidArgument as
/// check_evaluation(), check_request().
Result<EvaluatedWeights> find_evaluated_weights(const program::Program& program, const EvaluationRequest& request,
                                                const step::MakeEngine& make_engine,
                                                const train::TrainOptions& options);
/// Writes the `eval` event of an evaluation that was begun then.
Result<void> write_evaluation(const EvaluatedWeights& weights, const train::Metrics& metrics, Clock::time_point begun,
                              const train::TrainOptions& options);

}  // namespace tfd::strategy
