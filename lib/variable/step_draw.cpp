// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/step_draw.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "philox.hpp"

namespace tfd::variable {
namespace {

using tensor::DType;
using tensor::Tensor;

std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint32_t high(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

/// FNV-1a.
std::uint32_t hash_of(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

/// The place first, then the step: each block is the key of the next.
RandomBlocks blocks_of(const StepDraw& draw) {
  const PhiloxCounter place = philox4x32_10(
      {hash_of(draw.function), draw.input, draw.replica, draw.is_closure ? 1U : 0U}, {low(draw.seed), high(draw.seed)});
  const PhiloxCounter key =
      philox4x32_10({low(draw.number), high(draw.number), place[2], place[3]}, {place[0], place[1]});
  return RandomBlocks((static_cast<std::uint64_t>(key[1]) << 32) | key[0]);
}

template <class Write>
void each_block(const RandomBlocks& blocks, std::int64_t count, std::int64_t per_block, Write write) {
  for (std::int64_t first = 0; first < count; first += per_block)
    write(first, std::min(per_block, count - first), blocks.block(static_cast<std::uint64_t>(first / per_block)));
}

Tensor bits(const tensor::TensorSpec& spec, const RandomBlocks& blocks) {
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  std::byte* to = out.mutable_data();
  each_block(blocks, static_cast<std::int64_t>(out.byte_size()), sizeof(PhiloxCounter),
             [&](std::int64_t first, std::int64_t count, const PhiloxCounter& block) {
               std::memcpy(to + first, block.data(), static_cast<std::size_t>(count));
             });
  return out;
}

/// Uniform in [0, 1), of as many bits as the significand has, so that 1 is never reached by rounding.
template <class T, class Convert>
Tensor uniform(const tensor::TensorSpec& spec, const RandomBlocks& blocks, int significand, Convert convert) {
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  T* to = out.mutable_as<T>();
  each_block(blocks, out.size(), 2, [&](std::int64_t first, std::int64_t count, const PhiloxCounter& block) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(2 * i);
      const std::uint64_t word = (static_cast<std::uint64_t>(block[at + 1]) << 32) | block[at];
      to[first + i] = convert(std::ldexp(static_cast<double>(word >> (64 - significand)), -significand));
    }
  });
  return out;
}

}  // namespace

Result<Tensor> draw_for_step(const tensor::TensorSpec& spec, const StepDraw& draw) {
  const RandomBlocks blocks = blocks_of(draw);
  switch (spec.dtype) {
    case DType::kBool:
      return fail(Code::kInvalidArgument, "random numbers can't be bool");
    case DType::kF32:
      return uniform<float>(spec, blocks, 24, [](double x) { return static_cast<float>(x); });
    case DType::kF64:
      return uniform<double>(spec, blocks, 53, [](double x) { return x; });
    case DType::kF16:
      return uniform<std::uint16_t>(spec, blocks, 11,
                                    [](double x) { return tensor::float_to_half(static_cast<float>(x)); });
    case DType::kBF16:
      return uniform<std::uint16_t>(spec, blocks, 8,
                                    [](double x) { return tensor::float_to_bfloat16(static_cast<float>(x)); });
    default:
      return bits(spec, blocks);
  }
}

}  // namespace tfd::variable
