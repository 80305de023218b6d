#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Statistics of values for tfd-checkpoint, and their averages. Thread rule: pure functions; an Average is one
// thread's.
#include <cstdint>
#include <optional>
#include <vector>

#include "tfd/tensor/tensor.hpp"

namespace tfd::checkpoint_tool {

/// A tensor's least, greatest and mean element, of those that are finite: absent without any.
struct Summary {
  std::optional<double> min, max, mean;
  std::int64_t not_finite = 0;
};
Summary summarize(const tensor::Tensor& value);

/// Elements in which two tensors of one spec differ by more than `tolerance` (0: in their bits, but for NaN), and by
/// how much at most; infinite where only one of two is finite.
struct Difference {
  std::int64_t count = 0;
  double most = 0;
};
Difference compare(const tensor::Tensor& a, const tensor::Tensor& b, double tolerance);

/// The mean of tensors of one spec, added up in f64 and rounded once. Other types than floats, such as a number of
/// steps, have the last one's value.
class Average {
 public:
  void add(const tensor::Tensor& value);
  tensor::Tensor mean() const;  // at least one was added

 private:
  tensor::Tensor last_;
  std::vector<double> sums_;
  std::int64_t count_ = 0;
};

}  // namespace tfd::checkpoint_tool
