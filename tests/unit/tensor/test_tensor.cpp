// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "tfd/tensor/tensor.hpp"

using namespace tfd;
using namespace tfd::tensor;

TEST_CASE("tensor: buffers are 64-byte aligned, shared by copies and written by a sole owner only") {
  Tensor a = Tensor::zeros(DType::kF32, {4, 3});
  CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % kAlignment == 0);
  CHECK(a.byte_size() == 48);
  CHECK(a.is_sole_owner());
  const Tensor b = a;
  CHECK_FALSE(a.is_sole_owner());
  CHECK(a.data() == b.data());
  Tensor c = a.unshared();
  CHECK(c.is_sole_owner());
  c.mutable_as<float>()[0] = 1;
  CHECK(a.as<float>()[0] == 0);
  CHECK_FALSE(same_bytes(a, c));
}

TEST_CASE("tensor: rows are views of the same buffer") {
  Tensor a = Tensor::zeros(DType::kS16, {4, 3});
  for (int i = 0; i < 12; ++i) a.mutable_as<std::int16_t>()[i] = static_cast<std::int16_t>(i);
  const Tensor rows = a.slice_rows(1, 2);
  CHECK(rows.shape() == Shape{2, 3});
  CHECK(rows.offset() == 6);
  CHECK(rows.as<std::int16_t>()[0] == 3);
  CHECK(rows.reshaped({6}).as<std::int16_t>()[5] == 8);
}

TEST_CASE("tensor: sizes that overflow are refused") {
  CHECK(checked_byte_size(DType::kF32, {64, 10}).value() == 2560);
  CHECK(checked_byte_size(DType::kF32, {0, std::int64_t{1} << 40}).value() == 0);
  CHECK_FALSE(checked_byte_size(DType::kF32, {std::int64_t{1} << 40, std::int64_t{1} << 40}));
  CHECK_FALSE(checked_byte_size(DType::kF32, {-1}));
  // Shapes that are counted before they are checked: no undefined behavior, and nothing for an empty one.
  CHECK(element_count({std::int64_t{1} << 62, std::int64_t{1} << 62, 0}) == 0);
  CHECK(format_spec({DType::kBF16, {2, 3}}) == "bf16[2, 3]");
  CHECK(format_spec({DType::kBool, {}}) == "bool[]");
}

TEST_CASE("dtype: names of tfd, StableHLO, NumPy and TensorFlow are understood") {
  CHECK(parse_dtype("f32").value() == DType::kF32);
  CHECK(parse_dtype("ui8").value() == DType::kU8);
  CHECK(parse_dtype("i1").value() == DType::kBool);
  CHECK(parse_dtype("int64").value() == DType::kS64);
  CHECK(parse_dtype("bfloat16").value() == DType::kBF16);
  CHECK(parse_dtype("f33").error().code == Code::kInvalidArgument);
  CHECK(parse_dtype("complex64").error().message ==
        "dtype 'complex64': a complex value is its real and its imaginary part, f32 with a last dimension of 2");
  CHECK(parse_dtype("c128").error().message ==
        "dtype 'c128': a complex value is its real and its imaginary part, f64 with a last dimension of 2");
}

TEST_CASE("dtype: half types round to nearest even and keep every value") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(half_to_float(half)))
      CHECK(float_to_half(half_to_float(half)) == half);
    else
      CHECK(std::isnan(half_to_float(float_to_half(half_to_float(half)))));
    if (!std::isnan(bfloat16_to_float(half))) CHECK(float_to_bfloat16(bfloat16_to_float(half)) == half);
  }
  CHECK(float_to_half(65519.0f) == 0x7bff);
  CHECK(float_to_half(65520.0f) == 0x7c00);
  CHECK(float_to_half(0x1p-25f) == 0);
  CHECK(float_to_half(0x1.8p-24f) == 2);
  CHECK(float_to_half(2049.0f) == float_to_half(2048.0f));
  CHECK(float_to_bfloat16(1.00390625f) == 0x3f80);
}
