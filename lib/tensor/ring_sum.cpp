// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/ring_sum.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tfd/tensor/tree_sum.hpp"

namespace tfd::tensor {

std::int64_t ring_chunk(std::int64_t total, std::int64_t replicas, DType dtype) {
  constexpr std::int64_t kAligned = 64;  // bytes
  const auto size = static_cast<std::int64_t>(dtype_size(dtype));
  const std::int64_t bytes = (total + replicas - 1) / replicas * size;
  return total == 0 ? 0 : (bytes / kAligned + 1) * kAligned / size;
}

Result<Tensor> ring_sum(std::span<const Tensor> values, std::int64_t first, std::int64_t total) {
  const auto some = std::ranges::find_if(values, &Tensor::has_value);
  if (some == values.end()) return fail(Code::kInvalidArgument, "no replica has a value");
  const TensorSpec spec = some->spec();
  std::vector<Tensor> flat;
  for (const Tensor& one : values) {
    if (one.has_value() && one.spec() != spec)
      return fail(Code::kInvalidArgument, "{} and {} can't be added", format_spec(spec), format_spec(one.spec()));
    flat.push_back(one.has_value() ? one.reshaped({one.size()}) : Tensor());
  }
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  const std::int64_t end = first + out.size();
  const auto replicas = static_cast<std::int64_t>(values.size());
  const std::int64_t chunk = std::max<std::int64_t>(ring_chunk(total, replicas, spec.dtype), 1);
  std::byte* to = out.mutable_data();
  for (std::int64_t from = first; from < end;) {
    const std::int64_t number = from / chunk;
    const std::int64_t until = std::min(end, (number + 1) * chunk);
    Tensor sum;
    for (std::int64_t i = 0; i < replicas; ++i) {
      const Tensor& whole = flat[static_cast<std::size_t>((number + i) % replicas)];
      if (!whole.has_value()) continue;
      const Tensor own = whole.slice_rows(from - first, until - from);
      sum = sum.has_value() ? TFD_TRY(tree_sum(std::array{sum, own}, spec.dtype)) : own;
    }
    std::memcpy(to, sum.data(), sum.byte_size());
    to += sum.byte_size();
    from = until;
  }
  return out;
}

}  // namespace tfd::tensor
