#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Runs one function for every element of a dataset, wherever its variables are. Private to the room. Thread rule: free
// functions.
#include <functional>
#include <optional>
#include <vector>

#include "tfd/strategy/function_run.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

inline bool takes_arguments(const program::FunctionDef& function) {
  return function.arg_count > 0 || !function.kwargs.empty();
}
/// True if it takes data, as arguments or from its own datasets: without any it would repeat the same call.
bool takes_data(const program::FunctionDef& function);

/// Finds the named checkpoint, or the latest of the program's own, and reports which. kInvalidArgument if there is none
/// and the function needs one.
Result<std::optional<variable::Checkpoint>> find_weights(const program::Program& program, const RunRequest& request,
                                                         const train::TrainOptions& options);
/// Combines the replicas' values into one, according to the request.
using CombineValue = std::function<Result<tensor::Tensor>(const DistributedValue&)>;
/// Writes one line, with the replicas that have results. `places`: their numbers; empty: the first ones.
Result<void> write_results(const RunRequest& request, const std::vector<DistributedValue>& results,
                           const CombineValue& combine, const train::TrainOptions& options,
                           const std::vector<std::size_t>& places = {});

}  // namespace tfd::strategy
