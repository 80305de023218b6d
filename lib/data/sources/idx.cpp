// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "arrays.hpp"

namespace tfd::data {
namespace {

using tensor::DType;
using tensor::TensorSpec;

constexpr int kMostIdxRank = 64;

Result<DType> idx_dtype(unsigned type, const std::string& name) {
  switch (type) {
    case 0x08:
      return DType::kU8;
    case 0x09:
      return DType::kS8;
    case 0x0B:
      return DType::kS16;
    case 0x0C:
      return DType::kS32;
    case 0x0D:
      return DType::kF32;
    case 0x0E:
      return DType::kF64;
    default:
      return fail(Code::kInvalidArgument, "{}: idx type {:#04x} is unknown", name, type);
  }
}

}  // namespace

Result<TensorSpec> read_idx_spec(const tensor::ByteStream& stream) {
  std::array<std::uint8_t, 4> magic{};
  if (stream.most_bytes < magic.size()) return fail(Code::kInvalidArgument, "{} is not an idx file", stream.name);
  TFD_TRY(stream.read(std::as_writable_bytes(std::span(magic))));
  if (magic[0] != 0 || magic[1] != 0 || magic[3] > kMostIdxRank)
    return fail(Code::kInvalidArgument, "{} is not an idx file", stream.name);
  TensorSpec spec{TFD_TRY(idx_dtype(magic[2], stream.name)), {}};
  for (int i = 0; i < magic[3]; ++i) {
    std::array<std::uint8_t, 4> size{};
    TFD_TRY(stream.read(std::as_writable_bytes(std::span(size))));
    spec.shape.push_back(std::int64_t{size[0]} << 24 | size[1] << 16 | size[2] << 8 | size[3]);
  }
  const std::size_t bytes = TFD_TRY(tensor::checked_byte_size(spec.dtype, spec.shape), stream.name);
  if (bytes > stream.most_bytes)
    return fail(Code::kDataLoss, "{} is cut off: {} takes {} bytes, but there are only {}", stream.name,
                format_spec(spec), bytes, stream.most_bytes);
  return spec;
}

Result<tensor::Tensor> read_idx(const tensor::ByteStream& stream) {
  const TensorSpec spec = TFD_TRY(read_idx_spec(stream));
  tensor::Tensor values = TFD_TRY(tensor::read_tensor(stream, spec));
  const std::size_t size = dtype_size(spec.dtype);
  std::byte* const bytes = values.mutable_data();
  if (size > 1)
    for (std::size_t at = 0; at < values.byte_size(); at += size) std::reverse(bytes + at, bytes + at + size);
  return values;
}

}  // namespace tfd::data
