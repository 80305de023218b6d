// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/dtype.hpp"

#include <array>
#include <bit>
#include <vector>

#include "tfd/base/names.hpp"
#include "tfd/base/text.hpp"

namespace tfd::tensor {
namespace {

constexpr NameTable<DType, 13> kNames{{{{DType::kBool, "bool"},
                                        {DType::kS8, "s8"},
                                        {DType::kS16, "s16"},
                                        {DType::kS32, "s32"},
                                        {DType::kS64, "s64"},
                                        {DType::kU8, "u8"},
                                        {DType::kU16, "u16"},
                                        {DType::kU32, "u32"},
                                        {DType::kU64, "u64"},
                                        {DType::kF16, "f16"},
                                        {DType::kBF16, "bf16"},
                                        {DType::kF32, "f32"},
                                        {DType::kF64, "f64"}}}};

constexpr NameTable<DType, 30> kAliases{
    {{{DType::kBool, "i1"},       {DType::kBool, "pred"},   {DType::kS8, "i8"},       {DType::kS16, "i16"},
      {DType::kS32, "i32"},       {DType::kS64, "i64"},     {DType::kS8, "si8"},      {DType::kS16, "si16"},
      {DType::kS32, "si32"},      {DType::kS64, "si64"},    {DType::kU8, "ui8"},      {DType::kU16, "ui16"},
      {DType::kU32, "ui32"},      {DType::kU64, "ui64"},    {DType::kS8, "int8"},     {DType::kS16, "int16"},
      {DType::kS32, "int32"},     {DType::kS64, "int64"},   {DType::kU8, "uint8"},    {DType::kU16, "uint16"},
      {DType::kU32, "uint32"},    {DType::kU64, "uint64"},  {DType::kF16, "float16"}, {DType::kF16, "half"},
      {DType::kBF16, "bfloat16"}, {DType::kF32, "float32"}, {DType::kF32, "float"},   {DType::kF64, "float64"},
      {DType::kF64, "double"},    {DType::kBool, "boolean"}}}};

/// Names of complex dtypes in other systems, and the dtype of their parts.
constexpr NameTable<DType, 6> kComplexNames{{{{DType::kF32, "complex64"},
                                              {DType::kF32, "c64"},
                                              {DType::kF32, "complex<f32>"},
                                              {DType::kF64, "complex128"},
                                              {DType::kF64, "c128"},
                                              {DType::kF64, "complex<f64>"}}}};

}  // namespace

std::string_view dtype_name(DType dtype) { return kNames.name(dtype); }

Result<DType> parse_dtype(std::string_view name) {
  if (const auto own = kNames.find(name)) return *own;
  if (const auto alias = kAliases.find(name)) return *alias;
  if (const auto parts = kComplexNames.find(name))
    return fail(Code::kInvalidArgument,
                "dtype '{}': a complex value is its real and its imaginary part, {} with a last dimension of 2", name,
                dtype_name(*parts));
  const auto known = kNames.names();
  return fail(Code::kInvalidArgument, "unknown dtype '{}'{} (known: {})", name, did_you_mean(name, known),
              join_words(known));
}

std::size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kS8:
    case DType::kU8:
      return 1;
    case DType::kS16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kS32:
    case DType::kU32:
    case DType::kF32:
      return 4;
    case DType::kS64:
    case DType::kU64:
    case DType::kF64:
      return 8;
  }
  return 0;
}

bool is_floating(DType dtype) { return dtype >= DType::kF16; }
bool is_signed_integer(DType dtype) { return dtype >= DType::kS8 && dtype <= DType::kS64; }
bool is_unsigned_integer(DType dtype) { return dtype >= DType::kU8 && dtype <= DType::kU64; }

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1f;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // zero and subnormals
  return sign != 0 ? -magnitude : magnitude;
}

std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (magnitude < 0x38800000u) {                                                    // subnormal: let the FPU round
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float bfloat16_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace tfd::tensor
