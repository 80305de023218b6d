#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Processing of a step's gradients before they are sent, which only the worker can do: it alone sees all of them,
// unpartitioned. Private to the room. Thread rule: pure function.
#include <map>
#include <string>

#include "tfd/step/function_call.hpp"

namespace tfd::step {

/// Divides gradients by the loss scale that the function took, checks them according to the optimizer's "on_nonfinite",
/// then clips them, unless they are accumulated or `clipped` already; a dynamic loss scale is adjusted. A skipped step
/// updates nothing else and has one metric, "skipped_steps". `variables` are those that the function read.
/// kInvalidArgument: not finite, with "stop".
Result<void> settle_gradients(const program::Program& program, const program::FunctionDef& function,
                              const std::map<std::string, tensor::Tensor>& variables, std::int64_t step, bool clipped,
                              BoundOutputs& bound);

/// Checks row ids of updates: kInvalidArgument for an id out of range; applying it would fail with kOutOfRange, which
/// means the end of the data.
Result<void> check_row_numbers(const program::Program& program, const std::vector<variable::Update>& updates);

/// Value of an input bound to "loss_scale".
Result<double> loss_scale_of(const program::InputBinding& input, const variable::Optimizer& rules,
                             const std::map<std::string, tensor::Tensor>& variables);

}  // namespace tfd::step
