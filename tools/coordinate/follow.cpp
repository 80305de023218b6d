// SPDX-License-Identifier: Apache-2.0
#include "coordinate/follow.hpp"

#include "tfd/strategy/evaluator.hpp"

namespace tfd::coordinate {
namespace {

constexpr Duration kStateTimeout = std::chrono::minutes(5);  // to transfer all variables

}  // namespace

Result<train::TrainSummary> follow_checkpoints(const program::Program& program, const coordinator::Connect& connect,
                                               coordinator::CoordinatorOptions with,
                                               const train::TrainOptions& options) {
  TFD_TRY(strategy::check_followed(program));
  with.keep_going = false;
  const auto coordinator = TFD_TRY(connect(std::move(with)));
  const program::EvaluateDef& evaluate = *program.train->evaluate;
  strategy::FollowJob job;
  job.on_stop = [&] { coordinator->stop_evaluating(); };
  job.evaluate = [&](const variable::Checkpoint& checkpoint) -> Result<train::Metrics> {
    TFD_TRY(coordinator->import_state(checkpoint.state, Deadline::after(kStateTimeout)), checkpoint.path);
    return coordinator->evaluate(evaluate.function, evaluate.steps, Deadline::never());
  };
  return strategy::follow_checkpoints(program, job, options);
}

}  // namespace tfd::coordinate
