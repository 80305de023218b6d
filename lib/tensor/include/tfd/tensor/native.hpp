#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The C++ type of a dtype's elements, for code that is alike for all of them. Thread rule: plain values, pure
// functions.
//
//   // The first element of any tensor.
//   const double first = tensor::with_native(t.dtype(), [&](auto type) {
//     return static_cast<double>(tensor::widen(*reinterpret_cast<const decltype(type)*>(t.data())));
//   });
#include <cstdint>
#include <type_traits>

#include "tfd/tensor/dtype.hpp"

namespace tfd::tensor {

struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

/// Converts an element to a type with C++ arithmetic.
inline float widen(Half value) { return half_to_float(value.bits); }
inline float widen(BFloat16 value) { return bfloat16_to_float(value.bits); }
template <class T>
T widen(T value) {
  return value;
}

/// Type through which elements are read before bools are known to be 0 or 1.
template <class T>
using StoredNumber = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// Calls `use` with a value of the C++ type of `dtype` and returns its result: bool, std::int8_t, …, Half, BFloat16,
/// float or double.
template <class Use>
decltype(auto) with_native(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::kBool:
      return use(bool{});
    case DType::kS8:
      return use(std::int8_t{});
    case DType::kS16:
      return use(std::int16_t{});
    case DType::kS32:
      return use(std::int32_t{});
    case DType::kS64:
      return use(std::int64_t{});
    case DType::kU8:
      return use(std::uint8_t{});
    case DType::kU16:
      return use(std::uint16_t{});
    case DType::kU32:
      return use(std::uint32_t{});
    case DType::kU64:
      return use(std::uint64_t{});
    case DType::kF16:
      return use(Half{});
    case DType::kBF16:
      return use(BFloat16{});
    case DType::kF32:
      return use(float{});
    case DType::kF64:
      break;
  }
  return use(double{});
}

}  // namespace tfd::tensor
