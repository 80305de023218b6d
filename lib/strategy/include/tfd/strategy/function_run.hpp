#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs one function on the replicas of a strategy, once for every element of a dataset, and writes each replica's
// results. Source: tf.distribute.Strategy.run and experimental_distribute_dataset. Thread rule: blocks its thread,
// which alone calls the sinks.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tfd/strategy/strategy.hpp"
#include "tfd/train/training.hpp"

namespace tfd::strategy {

/// Combination of the replicas' results; none: each one's value separately.
struct Combine {
  std::optional<program::Reduce> reduce = {};
  std::optional<std::vector<std::int64_t>> axes = {};  // axes of `reduce`: each replica is first reduced over these
  std::optional<std::int64_t> gather_axis = {};
};

struct RunRequest {
  std::string function;
  std::string
      dataset;  // the program's dataset (see program::set_dataset()) that is the function's argument; empty: none
  /// Replaces the program's dataset: batches whose rows the replicas of this process share.
  std::shared_ptr<const data::Dataset> batches = {};  // shared with iterators
  Combine combine = {};
  bool untrained = false;  // uses the initial values, and ignores checkpoints
  /// Replaces lines: called with each element's results, whose rows are its examples, in order. The function updates
  /// nothing; elements are processed in pieces of the modules' sizes, the last one padded.
  std::function<Result<void>(const std::vector<tensor::Tensor>&)> predict = {};
};

/// Checks a request early; running it checks again. kInvalidArgument: no such function or dataset, a function with
/// arguments but no dataset, one that can't predict.
Result<void> check_request(const program::Program& program, const RunRequest& request);

/// True if the function is meaningless with initial values: it reads variables, and the program states checkpoints; or
/// it reads variables that training changes, or that are initialized at random, without values from a file.
bool needs_weights(const program::Program& program, const program::FunctionDef& function);

/// Runs a function; writes one line for every element, {"0": […], "1": […]}: each replica's results for its share of
/// the rows, then the variables of the function's "returns"; or, reduced or gathered, the combined value (a list if
/// there are several results). Its updates are applied as one. Variables come from the checkpoint that TrainOptions
/// names, or the latest of train.checkpoint.dir: kInvalidArgument if there is none and needs_weights(). `on_begin` is
/// called before it runs. kInvalidArgument, kNotFound: no such function or dataset; errors of LoadedProgram.
Result<train::TrainSummary> run_function(const program::Program& program, Strategy& strategy, const RunRequest& request,
                                         const train::TrainOptions& options,
                                         const std::function<void()>& on_begin = {});

}  // namespace tfd::strategy
