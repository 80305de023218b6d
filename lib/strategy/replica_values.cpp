// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/replica_values.hpp"

#include <cstring>

#include "tfd/variable/replicated.hpp"

namespace tfd::strategy {

using tensor::Tensor;

Result<Tensor> reduce_values(program::Reduce reduce, std::span<const Tensor> values) {
  const bool is_sum = reduce == program::Reduce::kSum;
  return variable::aggregate(is_sum ? variable::Aggregation::kSum : variable::Aggregation::kMean, values);
}

Result<Tensor> gather_values(std::int64_t axis, std::span<const Tensor> values) {
  if (values.empty()) return fail(Code::kInvalidArgument, "no replica has a value to gather");
  tensor::TensorSpec spec = values.front().spec();
  if (axis < 0 || axis >= static_cast<std::int64_t>(spec.shape.size()))
    return fail(Code::kInvalidArgument, "cannot gather along axis {}: the replicas returned {}", axis,
                format_spec(spec));
  const auto at = static_cast<std::size_t>(axis);
  spec.shape[at] = 0;
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < at; ++i) outer *= spec.shape[i];
  std::int64_t all = 0;
  for (const Tensor& value : values) {
    tensor::TensorSpec other = value.spec();
    if (other.shape.size() == spec.shape.size()) {
      all += other.shape[at];
      other.shape[at] = 0;
    }
    if (other != spec)
      return fail(Code::kInvalidArgument, "replicas differ in more than axis {}: {} and {}", axis,
                  format_spec(values.front().spec()), format_spec(value.spec()));
  }
  spec.shape[at] = all;
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  std::byte* to = out.mutable_data();
  for (std::int64_t block = 0; block < outer; ++block)
    for (const Tensor& value : values) {
      const std::size_t bytes = value.byte_size() / static_cast<std::size_t>(outer);
      if (bytes > 0) std::memcpy(to, value.data() + static_cast<std::size_t>(block) * bytes, bytes);
      to += bytes;
    }
  return out;
}

}  // namespace tfd::strategy
