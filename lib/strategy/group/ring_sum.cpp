// SPDX-License-Identifier: Apache-2.0
#include "ring_sum.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tfd/variable/replicated.hpp"

namespace tfd::strategy {
namespace {

using tensor::Tensor;

constexpr std::int64_t kChunkBytes = 64;  // of which a chunk's bytes are a multiple

}  // namespace

Result<Tensor> ring_sum(std::span<const Tensor> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const tensor::TensorSpec spec = values.front().spec();
  const std::int64_t elements = values.front().size();
  const auto size = static_cast<std::int64_t>(tensor::dtype_size(spec.dtype));
  const std::int64_t bytes = (elements + count - 1) / count * size;
  const std::int64_t chunk = (bytes + kChunkBytes - 1) / kChunkBytes * kChunkBytes / size;
  if (chunk == 0) return variable::aggregate(variable::Aggregation::kSum, values);
  std::vector<Tensor> flat;
  for (const Tensor& value : values) flat.push_back(value.reshaped({value.size()}));
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  for (std::int64_t first = 0, c = 0; first < elements; first += chunk, ++c) {
    std::vector<Tensor> parts;
    for (std::int64_t i = 0; i < count; ++i)
      parts.push_back(
          flat[static_cast<std::size_t>((c + i) % count)].slice_rows(first, std::min(chunk, elements - first)));
    const Tensor sum = TFD_TRY(variable::aggregate(variable::Aggregation::kSum, parts));
    std::memcpy(out.mutable_data() + first * size, sum.data(), sum.byte_size());
  }
  return out;
}

}  // namespace tfd::strategy
