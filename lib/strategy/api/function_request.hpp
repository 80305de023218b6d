#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What running one function for every element of a dataset is, wherever its variables are. Private to the room.
// Thread rule: free functions.
#include <functional>
#include <optional>
#include <vector>

#include "tfd/strategy/function_run.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

inline bool takes_arguments(const program::FunctionDef& function) {
  return function.arg_count > 0 || !function.kwargs.empty();
}
/// As arguments, or by itself: without any it does the same again and again.
bool takes_data(const program::FunctionDef& function);

/// The checkpoint that is named, or the latest of the program's own; it is said which. kInvalidArgument where there is
/// none and the function needs one.
Result<std::optional<variable::Checkpoint>> find_weights(const program::Program& program, const RunRequest& request,
                                                         const train::TrainOptions& options);
/// One value of those of all replicas, as the request says.
using CombineValue = std::function<Result<tensor::Tensor>(const DistributedValue&)>;
/// One line. Of replicas: those that have results.
Result<void> write_results(const RunRequest& request, const std::vector<DistributedValue>& results,
                           const CombineValue& combine, const train::TrainOptions& options);

}  // namespace tfd::strategy
