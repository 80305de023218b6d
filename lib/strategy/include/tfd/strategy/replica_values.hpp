#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the replicas of a worker returned, made one value. Source: tf.distribute.Strategy.reduce (without an axis) and
// gather. Thread rule: pure functions.
#include <optional>
#include <span>

#include "tfd/base/error.hpp"
#include "tfd/program/program.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::strategy {

/// How; neither: each replica's value by itself.
struct Combine {
  std::optional<program::Reduce> reduce = {};
  std::optional<std::int64_t> gather_axis = {};
};

/// Element by element, in the order of the replicas. kInvalidArgument: shapes or dtypes differ, a mean of integers.
Result<tensor::Tensor> reduce_values(program::Reduce reduce, std::span<const tensor::Tensor> values);
/// One after the other along `axis`. kInvalidArgument: dtypes, or shapes but for this axis, differ; there is no such
/// axis (a scalar has none).
Result<tensor::Tensor> gather_values(std::int64_t axis, std::span<const tensor::Tensor> values);

}  // namespace tfd::strategy
