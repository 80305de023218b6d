#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What is done with the gradients of a step before they are sent, which only the worker can: it alone sees all of them,
// and each of them whole. Private to the room. Thread rule: pure function.
#include <map>
#include <string>

#include "tfd/step/function_call.hpp"

namespace tfd::step {

/// Gradients are divided by the loss scale that the function took, looked at as the optimizer's "on_nonfinite" says,
/// then clipped, unless they are accumulated or `clipped` already; a loss scale that moves is told how it went. A step
/// that is skipped updates nothing else and has one metric, "skipped_steps". `variables` are those that the function
/// read. kInvalidArgument: not finite, and "stop".
Result<void> settle_gradients(const program::Program& program, const program::FunctionDef& function,
                              const std::map<std::string, tensor::Tensor>& variables, std::int64_t step, bool clipped,
                              BoundOutputs& bound);

/// Of updates of rows: kInvalidArgument for a number that is no row, where applying it would say kOutOfRange, which is
/// the end of the data.
Result<void> check_row_numbers(const program::Program& program, const std::vector<variable::Update>& updates);

/// What an input bound to "loss_scale" gets.
Result<double> loss_scale_of(const program::InputBinding& input, const variable::Optimizer& rules,
                             const std::map<std::string, tensor::Tensor>& variables);

}  // namespace tfd::step
