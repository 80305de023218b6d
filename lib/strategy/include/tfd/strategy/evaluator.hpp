#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The evaluator: evaluates checkpoints of a training elsewhere as they appear. The directory may be on another host's
// disk, so it is polled. Thread rule: blocks its thread, which alone calls the sinks.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tfd/program/program.hpp"
#include "tfd/step/replica_copies.hpp"
#include "tfd/strategy/parameter_server.hpp"
#include "tfd/strategy/run_options.hpp"
#include "tfd/train/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

struct FollowJob {
  std::string task = {};  // task named in the events; empty: none
  /// Whether it handles train.checkpoint.keep_best, if no other task does.
  bool keeps_best = false;
  std::function<void()> on_begin = {};  // called before the first checkpoint is looked for
  std::function<void()> on_stop = {};   // called by another thread on an interruption, to end evaluate()
  /// Evaluates a checkpoint. kCancelled: interrupted meanwhile.
  std::function<Result<train::Metrics>(const variable::Checkpoint& checkpoint)> evaluate = {};
};

/// Checks the program. kInvalidArgument if it has no train.evaluate or no train.checkpoint.
Result<void> check_followed(const program::Program& program);
/// Evaluates every checkpoint that appears in train.checkpoint.dir and still exists when its turn comes, by step, until
/// the last step's, the last one of a training that has ended (end.json), or an interruption. One that was removed
/// before (train.checkpoint.keep) is reported. TensorFlow's SidecarEvaluator instead evaluates the newest and skips
/// earlier ones.
Result<train::TrainSummary> follow_checkpoints(const program::Program& program, const FollowJob& job,
                                               const train::TrainOptions& options);

/// The same for the evaluator task of a cluster, "evaluator:0", with variables of its own.
Result<train::TrainSummary> follow_as_evaluator(const program::Program& program, const std::string& task,
                                                const RunOptions& options);
/// If that task is started with the others for something other than a training: says that it has no part in it.
train::TrainSummary sit_out(const std::string& task, const train::TrainOptions& options);

struct EvaluationRequest {
  std::string function;
  std::optional<std::int64_t> steps = {};  // elements; absent: one full pass
  bool untrained = false;                  // uses the initial values, and ignores checkpoints
};
/// Evaluates once, with this process's devices, and writes an `eval` event: step and path of the checkpoint, if there
/// is one, metrics, seconds. Weights are found as run_function() finds them. kInvalidArgument as check_evaluation().
Result<train::TrainSummary> evaluate_once(const program::Program& program, const EvaluationRequest& request,
                                          const RunOptions& options);

/// The variables that the function reads, its tables too.
std::vector<std::string> variables_of(const program::FunctionDef& function);
/// The part of a state that the function reads, including its tables, so that no lookup is needed.
step::VariableValues values_for(const program::FunctionDef& function, const tensor::NamedTensors& state);

}  // namespace tfd::strategy
