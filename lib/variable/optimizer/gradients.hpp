#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Treatment of gradients before an update: they are checked, and clipped as Keras does it. Clipped gradients are
// floating-point numbers. Thread rule: free functions on their arguments.
#include <string_view>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::variable {

/// The gradient has the value's shape and dtype, and that is a floating-point one. kInvalidArgument names the variable.
Result<void> check_gradient(std::string_view name, const tensor::TensorSpec& value, const tensor::TensorSpec& gradient);

/// The sum of the squares of its elements.
double square_sum(const tensor::Tensor& gradient);
/// Every element into [-limit, limit].
void clip_by_value(tensor::Tensor& gradient, double limit);
/// The gradient whose sum of squares this is, or its part of one, so that the norm is at most `norm`.
void clip_by_norm(tensor::Tensor& gradient, double norm, double square_sum);
/// One of the gradients whose sum of squares this is together, so that its root is at most `norm`. NaN where that isn't
/// finite, as in Keras: a gradient that overflowed must not look like a small one.
void clip_by_global_norm(tensor::Tensor& gradient, double norm, double square_sum);

}  // namespace tfd::variable
