#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// `tfd-run --evaluate`: one evaluation in this process. Thread rule: main thread.
#include "run/asked.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/program/program.hpp"
#include "tfd/strategy/evaluator.hpp"

namespace tfd::run {

struct Evaluation {
  strategy::EvaluationRequest request;
  process::Fd lines;  // what stdin had, with --dataset -

  /// Calls the copy stdin in an error.
  Error named(Error error) const;
};
/// The evaluation for --evaluate, --dataset and --untrained; a given dataset takes the place of the function's
/// own in the program. With --dataset - it reads stdin to its end. kUsage: no function is named, and the program has no
/// train.evaluate. kInvalidArgument: no such function or dataset, one without the function's fields, and as
/// program::check_evaluation().
Result<Evaluation> make_evaluation(const Asked& asked, program::Program& program, int in_fd);

}  // namespace tfd::run
