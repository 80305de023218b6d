#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// "64x10xf32": what stands between the angles of an MLIR tensor type. Thread rule: pure function.
#include <string_view>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::function {

/// kInvalidArgument: dynamic shapes, an element type that tfd has no dtype for, too large.
Result<tensor::TensorSpec> parse_tensor_type(std::string_view inside);

}  // namespace tfd::function
