#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tensors of the golden sets. Thread rule: pure functions.
#include "sets.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::vectors {

/// A list of one for each replica, each of its own shape.
std::vector<tensor::Tensor> read_values(const Json& stated, tensor::DType dtype);

/// {"dtype": "float32", "shape": […], "value": …}, or an error.
Json describe(const tensor::Tensor& tensor);
Json describe(const Result<tensor::Tensor>& result);

}  // namespace tfd::vectors
