#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text, for every dtype and every format of text: csv, jsonl, the tensors of pipelines, programs and
// examples. A whole number may be written with a point or an exponent ("2.0", "2e0") and is exact to its last digit.
// NaN and the infinities are values of floats. Everything else has to be in the dtype's range. Thread rule: pure
// functions.
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tfd/tensor/dtype.hpp"
#include "tfd/tensor/native.hpp"

namespace tfd::tensor {

enum class NumberFit : std::uint8_t { kOk, kNotANumber, kNotWhole, kDoesNotFit };

/// Parses all of `text` as one element and writes it to `to`. Floats are rounded once, to nearest; values too small for
/// them become zero. A bool is true, false, 0 or 1. Nothing is written unless it returns kOk.
NumberFit parse_number(std::string_view text, DType dtype, std::byte* to);

/// Reads JSON as a parser of JSON and doubles needs it, and returns the same text if there is nothing to change: NaN,
/// Infinity and -Infinity, which Python's json writes, become strings, as tfd writes them; whole numbers with a point
/// or an exponent that a double doesn't hold exactly become integers.
std::string plain_json(std::string_view text);

/// The first whole number that a double may hold instead of its neighbor.
constexpr double kFirstInexact = 9007199254740992.0;

/// The same rules for a number that a parser of JSON has read, as T: bool, Half, BFloat16, or any C++ number.
template <class T, class Number>
NumberFit convert_number(Number number, T& out) {
  if constexpr (std::is_same_v<T, bool>) {
    if (number != 0 && number != 1) return NumberFit::kDoesNotFit;
    out = number == 1;
  } else if constexpr (std::is_integral_v<T> && std::is_integral_v<Number>) {
    if (!std::in_range<T>(number)) return NumberFit::kDoesNotFit;
    out = static_cast<T>(number);
  } else if constexpr (std::is_integral_v<T>) {
    if (!std::isfinite(number) || std::abs(number) >= kFirstInexact) return NumberFit::kDoesNotFit;
    if (number != std::trunc(number)) return NumberFit::kNotWhole;
    return convert_number(static_cast<std::int64_t>(number), out);
  } else {
    if constexpr (std::is_same_v<T, Half>)
      out = Half{float_to_half(static_cast<float>(number))};
    else if constexpr (std::is_same_v<T, BFloat16>)
      out = BFloat16{float_to_bfloat16(static_cast<float>(number))};
    else
      out = static_cast<T>(number);
    bool is_stated_infinite = false;
    if constexpr (std::is_floating_point_v<Number>) is_stated_infinite = !std::isfinite(number);
    if (!is_stated_infinite && !std::isfinite(widen(out))) return NumberFit::kDoesNotFit;
  }
  return NumberFit::kOk;
}

}  // namespace tfd::tensor
