#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Shapes, as the rewritings for CPUs count with them. Thread rule: pure functions.
#include <cstdint>
#include <limits>

#include "tfd/tensor/tensor.hpp"

namespace tfd::hlo {

/// Dimensions, strides and windows beyond it are left alone, so that no product of two of them overflows.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 30;

/// The largest number where it would be more.
inline std::int64_t product(const tensor::Shape& shape) {
  std::int64_t out = 1;
  bool is_more = false;
  for (const std::int64_t size : shape) {
    if (size == 0) return 0;
    is_more = is_more || __builtin_mul_overflow(out, size, &out);
  }
  return is_more ? std::numeric_limits<std::int64_t>::max() : out;
}
inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Calls `body` with each index of a shape, in row-major order.
template <class Body>
void for_each_index(const tensor::Shape& shape, const Body& body) {
  if (product(shape) == 0) return;
  tensor::Shape index(shape.size(), 0);
  for (;;) {
    body(index);
    std::size_t i = shape.size();
    while (i > 0 && ++index[i - 1] == shape[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace tfd::hlo
