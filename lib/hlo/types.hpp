#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// MLIR tensor types. Thread rule: pure functions.
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::hlo {

struct TensorType {
  tensor::TensorSpec spec;  // for a complex type: its real and imaginary parts, as a last dimension of 2
  bool is_complex = false;
};
/// "64x10xf32", what stands between the angles. kInvalidArgument: dynamic shapes, an element type that tfd has no dtype
/// for, too large.
Result<TensorType> parse_tensor_type(std::string_view inside);
/// "tensor<64x10xf32>".
std::string format_tensor_type(const tensor::TensorSpec& spec);

}  // namespace tfd::hlo
