#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the binding of a function's inputs (closure_runner.cpp) and of its outputs (closure_outputs.cpp) share.
// Thread rule: pure functions.
#include <vector>

#include "closure_runner.hpp"

namespace tfd::runtime {

/// What an input gets from variables, elements and the call; a number in this dtype.
Result<tensor::Tensor> bind_source(const program::InputBinding& input, const CallContext& context, tensor::DType dtype);
/// Rank 1, s64.
tensor::Tensor flat_indices(const tensor::Tensor& indices);
/// kInvalidArgument: a metric that is no scalar.
Result<BoundOutputs> bind_outputs(const program::FunctionDef& def, std::vector<tensor::Tensor> results,
                                  const CallContext& context);

}  // namespace tfd::runtime
