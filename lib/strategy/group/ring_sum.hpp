#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The sum of several values in the order of TensorFlow's ring. Private to the room. Thread rule: pure functions.
// Source: tensorflow/core/common_runtime/ring_reducer.cc and ring_alg.cc, 2.21, measured (facts of 2 to 4 processes).
#include <span>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::strategy {

/// Adds up `values`, in ring order, in their own dtype. Their elements are cut into as many chunks as there are values,
/// of a multiple of 64 bytes but for the last ones; of chunk c first is value c, then come the next ones, and after the
/// last one the first. kInvalidArgument: different specs, bool.
Result<tensor::Tensor> ring_sum(std::span<const tensor::Tensor> values);

}  // namespace tfd::strategy
