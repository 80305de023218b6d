#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs one function on the replicas of a strategy, once for every element of a dataset, and says what each replica
// returned. Source: tf.distribute.Strategy.run and experimental_distribute_dataset.
// Thread rule: blocks its thread, which alone calls the sinks.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tfd/strategy/strategy.hpp"
#include "tfd/train/training.hpp"

namespace tfd::strategy {

/// What becomes of what the replicas returned; nothing: each one's value by itself.
struct Combine {
  std::optional<program::Reduce> reduce = {};
  std::optional<std::vector<std::int64_t>> axes = {};  // of `reduce`: over these of each replica first
  std::optional<std::int64_t> gather_axis = {};
};

struct RunRequest {
  std::string function;
  std::string
      dataset;  // of the program (see program::set_dataset()): what the function's argument is; empty: it has none
  Combine combine = {};
  bool untrained = false;  // with the initial values, whatever checkpoints there are
  /// Instead of lines: each element's results, whose rows are its examples, in their order. The function updates
  /// nothing; modules take them in pieces of their own sizes, the last one padded.
  std::function<Result<void>(const std::vector<tensor::Tensor>&)> predict = {};
};

/// kInvalidArgument: no such function or dataset, a function that takes arguments and no dataset; one that can't
/// predict. Whoever runs the request looks himself.
Result<void> check_request(const program::Program& program, const RunRequest& request);

/// Whether the function means nothing with initial values: it reads variables, and the program says where it saves
/// them; or it reads some that training changes, or that begin at random, and no file gives.
bool needs_weights(const program::Program& program, const program::FunctionDef& function);

/// One line for every element, {"0": […], "1": […]}: what each replica returned for its share of the rows, then the
/// variables that the function says to return; or, reduced or gathered, the one value that these make (a list of them
/// where there are several results). What it wants of the variables is applied, as one update. The variables are those
/// of the checkpoint that TrainOptions names, or the latest of train.checkpoint.dir: kInvalidArgument where there is
/// none and needs_weights(). `on_begin`: from here on it runs. kInvalidArgument, kNotFound: no such function or
/// dataset; errors of LoadedProgram.
Result<train::TrainSummary> run_function(const program::Program& program, Strategy& strategy, const RunRequest& request,
                                         const train::TrainOptions& options,
                                         const std::function<void()>& on_begin = {});

}  // namespace tfd::strategy
