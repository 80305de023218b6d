#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sums over axes of a tensor, and quotients of sums. Thread rule: pure functions.
// Source: tf.math.reduce_sum and truediv, as tf.distribute.Strategy.reduce uses them.
#include <cstdint>
#include <span>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::variable {

/// The axes as positions from 0, ascending. Negative ones count from the end. kInvalidArgument: an axis that the shape
/// doesn't have, or one twice.
Result<std::vector<std::size_t>> positions_of(std::span<const std::int64_t> axes, const tensor::Shape& shape);

/// The sum over these axes, which the result doesn't have. Floating-point numbers are added up in f64 and rounded once,
/// integers wrap round. kInvalidArgument: bool; else as positions_of().
Result<tensor::Tensor> sum_over(const tensor::Tensor& value, std::span<const std::int64_t> axes);

/// value / count, element by element. For integers it is a fraction: f32 for those of 8 and 16 bits, f64 for others. A
/// count of 0 gives NaN or infinity. kInvalidArgument: bool.
Result<tensor::Tensor> quotient(const tensor::Tensor& value, std::int64_t count);

}  // namespace tfd::variable
