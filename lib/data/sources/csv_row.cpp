// SPDX-License-Identifier: Apache-2.0
#include "csv_row.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "decimal.hpp"
#include "tfd/base/counted.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/native.hpp"

namespace tfd::data {
namespace {

using tensor::DType;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 40;
  return fmt::format("'{}{}'", printable(text.substr(0, kMost)), text.size() > kMost ? "…" : "");
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// The common case: the number starts here and ends at a delimiter. Null where it takes a closer look.
template <class T>
const char* parse_directly(const char* first, const char* last, std::byte* to) {
  T value{};
  std::from_chars_result parsed;
  if constexpr (std::is_floating_point_v<T>)
    parsed = parse_decimal(first, last, value);
  else
    parsed = std::from_chars(first, last, value);
  if (parsed.ec != std::errc()) return nullptr;
  store(to, value);
  return parsed.ptr;
}

const char* parse_directly(DType dtype, const char* first, const char* last, std::byte* to) {
  return tensor::with_native(dtype, [&](auto type) -> const char* {
    using T = decltype(type);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      return parse_directly<T>(first, last, to);
    else
      return nullptr;
  });
}

// Any number, as double: with a sign in front, beyond the range (then infinite) or below it (then zero).
std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);
  return value;
}

enum class Outcome { kOk, kNotANumber, kNotWhole, kDoesNotFit };

template <class T>
Outcome store_whole(std::string_view text, std::byte* to) {
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  T exact{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exact);
  if (end == digits.data() + digits.size() && !digits.empty()) {
    if (error == std::errc::result_out_of_range) return Outcome::kDoesNotFit;
    if (error == std::errc()) return store(to, exact), Outcome::kOk;
  }
  const auto number = number_of(text);  // "3.0", "3.000e+00": what numpy.savetxt writes
  if (!number) return Outcome::kNotANumber;
  if (!std::isfinite(*number)) return Outcome::kDoesNotFit;
  if (*number != std::trunc(*number)) return Outcome::kNotWhole;
  // Both bounds are powers of two (or zero), so exact in double.
  const double least = static_cast<double>(std::numeric_limits<T>::min());
  const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (*number < least || *number >= beyond) return Outcome::kDoesNotFit;
  return store(to, static_cast<T>(*number)), Outcome::kOk;
}

Outcome store_float(std::string_view text, DType dtype, std::byte* to) {
  const auto number = number_of(text);
  if (!number) return Outcome::kNotANumber;
  const bool said_infinite = text.find_first_of("iI") != std::string_view::npos;
  if (std::isinf(*number) && !said_infinite) return Outcome::kDoesNotFit;
  if (dtype == DType::kF64) return store(to, *number), Outcome::kOk;
  // The number is read straight from the text as a float: by way of double it would be rounded twice.
  float single = 0;
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), single);
  if (error != std::errc()) single = static_cast<float>(*number);
  float kept = single;
  if (dtype == DType::kF16) kept = tensor::half_to_float(tensor::float_to_half(single));
  if (dtype == DType::kBF16) kept = tensor::bfloat16_to_float(tensor::float_to_bfloat16(single));
  if (std::isinf(kept) && !said_infinite) return Outcome::kDoesNotFit;
  if (dtype == DType::kF16)
    store(to, tensor::float_to_half(single));
  else if (dtype == DType::kBF16)
    store(to, tensor::float_to_bfloat16(single));
  else
    store(to, single);
  return Outcome::kOk;
}

Outcome store_bool(std::string_view text, std::byte* to) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (lower == "true" || lower == "false") return store<std::uint8_t>(to, lower == "true"), Outcome::kOk;
  const Outcome outcome = store_whole<std::uint8_t>(text, to);
  return outcome == Outcome::kOk && static_cast<std::uint8_t>(*to) > 1 ? Outcome::kDoesNotFit : outcome;
}

Outcome parse_any(std::string_view text, DType dtype, std::byte* to) {
  return tensor::with_native(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, bool>)
      return store_bool(text, to);
    else if constexpr (std::is_integral_v<T>)
      return store_whole<T>(text, to);
    else
      return store_float(text, dtype, to);
  });
}

Result<void> parse_cell(std::string_view raw, std::int64_t column, DType dtype, std::byte* to) {
  const std::string_view text = trimmed(raw);
  if (text.empty()) return fail(Code::kInvalidArgument, "column {} is empty", column);
  switch (parse_any(text, dtype, to)) {
    case Outcome::kOk:
      return {};
    case Outcome::kNotANumber:
      return fail(Code::kInvalidArgument, "column {}: {} is not a number", column, quoted(text));
    case Outcome::kNotWhole:
      return fail(Code::kInvalidArgument, "column {}: {} is not a whole number", column, quoted(text));
    case Outcome::kDoesNotFit:
      break;
  }
  return fail(Code::kInvalidArgument, "column {}: {} does not fit {}", column, quoted(text), dtype_name(dtype));
}

// Writes the text as it is, with the blanks around it.
Result<void> keep_text(std::string_view text, std::size_t field, BlockBuilder& out) {
  std::byte* const to = TFD_TRY(out.allocate(field, static_cast<std::int64_t>(text.size())));
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  return {};
}

// Cells of a line with quotes in it, doubled quotes undone; nullopt for one that isn't closed. Source: RFC 4180.
std::optional<std::vector<std::string>> split_quoted(std::string_view line, char delimiter) {
  std::vector<std::string> cells(1);
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (inside && i + 1 < line.size() && line[i + 1] == '"')
        cells.back() += line[i++];
      else
        inside = !inside;
    } else if (line[i] == delimiter && !inside) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  if (inside) return std::nullopt;
  return cells;
}

tl::unexpected<Error> fail_count(std::int64_t found, std::int64_t wanted) {
  return fail(Code::kInvalidArgument, "{} instead of {}", counted(static_cast<std::uint64_t>(found), "column"), wanted);
}

bool has_quotes(std::string_view line) { return line.find('"') != std::string_view::npos; }

}  // namespace

CsvRow::CsvRow(const std::vector<CsvField>& fields, char delimiter) : delimiter_(delimiter) {
  for (std::size_t field = 0; field < fields.size(); ++field) {
    const CsvField& f = fields[field];
    const std::int64_t count = f.spec.is_text ? 1 : tensor::element_count(f.spec.shape);
    const std::size_t size = dtype_size(f.spec.dtype);
    for (std::int64_t i = 0; i < count; ++i)
      cells_.push_back({f.first_column + i, field, static_cast<std::size_t>(i) * size, f.spec.dtype, f.spec.is_text});
    columns_needed_ = std::max(columns_needed_, f.first_column + count);
  }
  std::stable_sort(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) { return a.column < b.column; });
}

std::int64_t CsvRow::count_columns(std::string_view line) const {
  if (has_quotes(line)) {
    const auto cells = split_quoted(line, delimiter_);
    return cells ? static_cast<std::int64_t>(cells->size()) : 1;
  }
  return std::count(line.begin(), line.end(), delimiter_) + 1;
}

Result<void> CsvRow::parse_line(std::string_view line, std::int64_t columns, BlockBuilder& out) const {
  if (has_quotes(line)) return parse_quoted(line, columns, out);
  const std::vector<std::byte*>& row = out.row();
  const char* const last = line.data() + line.size();
  const char* at = line.data();  // where column `column` starts
  std::int64_t column = 0;
  std::optional<Error> first_error;
  for (auto cell = cells_.begin();; ++column) {
    const char* end = nullptr;  // where it ends, once it is known
    for (; cell != cells_.end() && cell->column == column; ++cell) {
      std::byte* const to = cell->is_text ? nullptr : row[cell->field] + cell->offset;
      if (!first_error && to != nullptr) end = parse_directly(cell->dtype, at, last, to);
      if (end != nullptr && (end == last || *end == delimiter_)) continue;
      end = std::find(at, last, delimiter_);
      if (first_error) continue;
      const std::string_view text(at, static_cast<std::size_t>(end - at));
      auto parsed = cell->is_text ? keep_text(text, cell->field, out) : parse_cell(text, column, cell->dtype, to);
      if (!parsed) first_error = std::move(parsed.error());
    }
    if (end == nullptr) end = std::find(at, last, delimiter_);
    if (end == last) break;
    at = end + 1;
  }
  // A line of another length is the better explanation of a cell that makes no sense.
  if (column + 1 != columns) return fail_count(column + 1, columns);
  if (first_error) return fail(std::move(*first_error));
  return {};
}

Result<void> CsvRow::parse_quoted(std::string_view line, std::int64_t columns, BlockBuilder& out) const {
  const auto cells = split_quoted(line, delimiter_);
  if (!cells) return fail(Code::kInvalidArgument, "a quote is not closed on its line");
  if (static_cast<std::int64_t>(cells->size()) != columns)
    return fail_count(static_cast<std::int64_t>(cells->size()), columns);
  for (const Cell& cell : cells_) {
    const std::string& text = (*cells)[static_cast<std::size_t>(cell.column)];
    if (cell.is_text)
      TFD_TRY(keep_text(text, cell.field, out));
    else
      TFD_TRY(parse_cell(text, cell.column, cell.dtype, out.row()[cell.field] + cell.offset));
  }
  return {};
}

}  // namespace tfd::data
