// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "tfd/tensor/native.hpp"

namespace tfd::tensor {
namespace {

template <class T>
NumberFit store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
  return NumberFit::kOk;
}

std::string_view without_plus(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return text;
}

/// Any number, as double: beyond the range it is infinite, below it zero.
std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);
  return value;
}

/// The digits of a whole number that is written with a point or an exponent: "12.50e1" is "125"; nullopt: it isn't
/// whole. `text` is a finite number.
std::optional<std::string> whole_digits(std::string_view text) {
  constexpr long kMostZeros = 20, kMostExponent = 1'000'000'000'000;  // more zeros than any dtype has digits
  std::string digits;
  const std::size_t exponent_at = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, exponent_at);
  const std::size_t point = mantissa.find('.');
  for (const char c : mantissa)
    if (c >= '0' && c <= '9') digits += c;
  long exponent = 0;
  if (exponent_at < text.size())
    exponent = std::clamp(std::strtol(std::string(text.substr(exponent_at + 1)).c_str(), nullptr, 10), -kMostExponent,
                          kMostExponent);
  if (point != std::string_view::npos) exponent -= static_cast<long>(mantissa.size() - point - 1);
  while (!digits.empty() && digits.back() == '0') digits.pop_back(), ++exponent;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return "0";
  if (exponent < 0) return std::nullopt;
  const auto zeros = static_cast<std::size_t>(std::min(exponent, kMostZeros));
  return (text.starts_with('-') ? "-" : "") + digits + std::string(zeros, '0');
}

template <class T>
NumberFit store_whole(std::string_view text, std::byte* to) {
  T exact{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
  if (end == text.data() + text.size() && !text.empty()) {
    if (error == std::errc::result_out_of_range) return NumberFit::kDoesNotFit;
    if (error == std::errc()) return store(to, exact);
  }
  const auto number = number_of(text);  // "3.0", "3.000e+00": what numpy.savetxt writes
  if (!number) return NumberFit::kNotANumber;
  if (!std::isfinite(*number)) return NumberFit::kDoesNotFit;
  const auto digits = whole_digits(text);
  if (!digits) return NumberFit::kNotWhole;
  const auto [stop, wrong] = std::from_chars(digits->data(), digits->data() + digits->size(), exact);
  if (wrong != std::errc()) return NumberFit::kDoesNotFit;  // too large, or negative where the dtype has no sign
  return store(to, exact);
}

/// Rounds a number of any size once: by way of double it would be rounded twice.
float single_of(std::string_view text, double number) {
  float single = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), single);
  return error == std::errc() ? single : static_cast<float>(number);
}

NumberFit store_float(std::string_view text, DType dtype, std::byte* to) {
  const auto number = number_of(text);
  if (!number) return NumberFit::kNotANumber;
  const bool is_stated_infinite = text.find_first_of("iI") != std::string_view::npos;
  if (std::isinf(*number) && !is_stated_infinite) return NumberFit::kDoesNotFit;
  if (dtype == DType::kF64) return store(to, *number);
  const float single = single_of(text, *number);
  float kept = single;
  if (dtype == DType::kF16) kept = half_to_float(float_to_half(single));
  if (dtype == DType::kBF16) kept = bfloat16_to_float(float_to_bfloat16(single));
  if (std::isinf(kept) && !is_stated_infinite) return NumberFit::kDoesNotFit;
  if (dtype == DType::kF16) return store(to, float_to_half(single));
  if (dtype == DType::kBF16) return store(to, float_to_bfloat16(single));
  return store(to, single);
}

NumberFit store_bool(std::string_view text, std::byte* to) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (lower == "true" || lower == "false") return store<std::uint8_t>(to, lower == "true");
  std::byte number{};
  const NumberFit fit = store_whole<std::uint8_t>(text, &number);
  if (fit == NumberFit::kOk && number > std::byte{1}) return NumberFit::kDoesNotFit;
  if (fit == NumberFit::kOk) *to = number;
  return fit;
}

}  // namespace

namespace {

bool is_in_number(char c) { return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'; }

/// Position after the string that begins at `at`.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

/// The number as an integer, if it is a whole one that a double may not hold; else empty.
std::string exact_integer(std::string_view number) {
  if (number.find_first_of(".eE") == std::string_view::npos) return "";
  const auto value = number_of(number);
  if (!value || !std::isfinite(*value) || std::abs(*value) < kFirstInexact) return "";
  std::byte unused[8];
  if (parse_number(number, DType::kS64, unused) != NumberFit::kOk &&
      parse_number(number, DType::kU64, unused) != NumberFit::kOk)
    return "";
  return *whole_digits(number);
}

}  // namespace

std::string plain_json(std::string_view text) {
  std::string out;
  std::size_t kept = 0;  // `text` before this position is already in `out`
  const auto replace = [&](std::size_t at, std::size_t length, std::string_view by) {
    out.append(text.substr(kept, at - kept)).append(by);
    kept = at + length;
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    std::size_t next = at + 1;
    if (c == '"') {
      next = skip_string(text, at);
    } else if (c == 'N' || c == 'I' || c == '-' || (c >= '0' && c <= '9')) {
      for (const std::string_view name : {"NaN", "Infinity", "-Infinity"})
        if (text.substr(at).starts_with(name)) {
          next = at + name.size();
          replace(at, name.size(), '"' + std::string(name) + '"');
        }
      if (kept < next) {
        while (next < text.size() && is_in_number(text[next])) ++next;
        if (const std::string exact = exact_integer(text.substr(at, next - at)); !exact.empty())
          replace(at, next - at, exact);
      }
    }
    at = next;
  }
  return out.append(text.substr(kept));
}

NumberFit parse_number(std::string_view text, DType dtype, std::byte* to) {
  text = without_plus(text);
  return with_native(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, bool>)
      return store_bool(text, to);
    else if constexpr (std::is_integral_v<T>)
      return store_whole<T>(text, to);
    else
      return store_float(text, dtype, to);
  });
}

}  // namespace tfd::tensor
