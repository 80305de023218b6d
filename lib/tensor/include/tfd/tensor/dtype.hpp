#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Element types of tensors. Thread rule: plain values.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"

namespace tfd::tensor {

enum class DType : std::uint8_t { kBool, kS8, kS16, kS32, kS64, kU8, kU16, kU32, kU64, kF16, kBF16, kF32, kF64 };
constexpr DType last_value(DType) { return DType::kF64; }

/// "f32", "s64", "bool", …: tfd's own spelling.
std::string_view dtype_name(DType dtype);
/// Understands tfd's names, StableHLO's (i1, i32, ui8, f32), NumPy's and TensorFlow's (float32, int64, uint8, bfloat16,
/// bool). kInvalidArgument names the nearest one, or the representation of a complex value.
Result<DType> parse_dtype(std::string_view name);
/// Bytes of one element; bool is one byte.
std::size_t dtype_size(DType dtype);
bool is_floating(DType dtype);
bool is_signed_integer(DType dtype);
bool is_unsigned_integer(DType dtype);
inline bool is_integer(DType dtype) { return is_signed_integer(dtype) || is_unsigned_integer(dtype); }

// Half types as bits; round to nearest, ties to even. Source: IEEE 754-2008 binary16; bfloat16 is the high half of
// binary32.
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);

}  // namespace tfd::tensor
