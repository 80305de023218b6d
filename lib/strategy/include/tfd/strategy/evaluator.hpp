#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The evaluator's job: a training somewhere writes checkpoints, this has them evaluated as they appear. The directory
// may be on another host's disk, so it is looked at now and then.
// Thread rule: blocks its thread, which alone calls the sinks.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/strategy/ps_training.hpp"
#include "tfd/train/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

struct FollowJob {
  std::string task = {};  // who prints the events; empty: they don't say
  /// Looks after train.checkpoint.keep_best: where nobody else does.
  bool keeps_best = false;
  std::function<void()> on_begin = {};  // called before the first checkpoint is looked for
  std::function<void()> on_stop = {};   // called on an interruption, by another thread: evaluate() is to end
  /// kCancelled: interrupted meanwhile.
  std::function<Result<train::Metrics>(const variable::Checkpoint& checkpoint)> evaluate = {};
};

/// kInvalidArgument where the program has no train.evaluate or no train.checkpoint.
Result<void> check_followed(const program::Program& program);
/// Every checkpoint that appears in train.checkpoint.dir and is still there when its turn comes, in the order of their
/// steps, until that of the last step, or the last one of a training that says that it is over (end.json), or an
/// interruption. One that was removed before (train.checkpoint.keep) is said. Unlike TensorFlow's SidecarEvaluator,
/// which evaluates the newest and skips those between.
Result<train::TrainSummary> follow_checkpoints(const program::Program& program, const FollowJob& job,
                                               const train::TrainOptions& options);

/// The same as the evaluator of a cluster of ParameterServerStrategy (v1), with variables of its own.
Result<train::TrainSummary> follow_as_evaluator(const program::Program& program,
                                                const ParameterServerStrategy& strategy,
                                                const PsTrainingOptions& options);

/// The variables that the function reads, its tables too.
std::vector<std::string> variables_of(const program::FunctionDef& function);
/// What the function reads of a state, its tables too: nothing is asked for elsewhere.
step::VariableValues values_for(const program::FunctionDef& function, const task::NamedState& state);

}  // namespace tfd::strategy
