#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// `tfd-run --evaluate`: one evaluation in this process. Thread rule: main thread.
#include "run/asked.hpp"
#include "tfd/program/program.hpp"
#include "tfd/strategy/evaluator.hpp"

namespace tfd::run {

/// What --evaluate, --dataset and --untrained ask for; a dataset that is asked for takes the place of the function's
/// own in the program. kUsage: no function is named, and the program has no train.evaluate. kInvalidArgument: no such
/// function or dataset, or one without the function's fields.
Result<strategy::EvaluationRequest> make_evaluation(const Asked& asked, program::Program& program);

}  // namespace tfd::run
