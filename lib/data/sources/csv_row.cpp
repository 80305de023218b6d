// SPDX-License-Identifier: Apache-2.0
#include "csv_row.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "decimal.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/native.hpp"
#include "tfd/tensor/number.hpp"

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

Result<void> parse_number_cell(std::string_view raw, std::int64_t column, DType dtype, std::byte* to) {
  const std::string_view text = trimmed(raw);
  if (text.empty()) return fail(Code::kInvalidArgument, "column {} is empty", column);
  switch (tensor::parse_number(text, dtype, to)) {
    case tensor::NumberFit::kOk:
      return {};
    case tensor::NumberFit::kNotANumber:
      return fail(Code::kInvalidArgument, "column {}: {} is not a number", column, quoted(text));
    case tensor::NumberFit::kNotWhole:
      return fail(Code::kInvalidArgument, "column {}: {} is not a whole number", column, quoted(text));
    case tensor::NumberFit::kDoesNotFit:
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

// Cells of a row, quotes undone. Source: Python's csv module, which takes any quote behind a field's beginning as text.
std::vector<std::string> split_quoted(std::string_view row, char delimiter) {
  std::vector<std::string> cells;
  for (std::size_t at = 0;; ++at) {
    std::string& cell = cells.emplace_back();
    bool is_quoted = at < row.size() && row[at] == '"';
    if (is_quoted) ++at;
    while (is_quoted) {
      const std::size_t quote = std::min(row.find('"', at), row.size());
      cell.append(row.substr(at, quote - at));
      is_quoted = quote + 1 < row.size() && row[quote + 1] == '"';
      if (is_quoted) cell += '"';
      at = std::min(quote + (is_quoted ? 2 : 1), row.size());
    }
    const std::size_t end = std::min(row.find(delimiter, at), row.size());
    cell.append(row.substr(at, end - at));
    if (end == row.size()) return cells;
    at = end;
  }
}

tl::unexpected<Error> fail_count(std::int64_t found, std::int64_t wanted) {
  return fail(Code::kInvalidArgument, "{} instead of {}", counted(static_cast<std::uint64_t>(found), "column"), wanted);
}

}  // namespace

std::optional<CsvLine> next_row(Piece& piece, const CsvSyntax& syntax) {
  const auto is_blank_line = [&](std::string_view line) {
    return std::ranges::all_of(line, [&](char c) { return is_blank(c) && c != syntax.delimiter; });
  };
  while (auto line = next_line(piece)) {
    if (is_blank_line(*line)) continue;
    CsvLine row{.text = *line, .number = piece.number};
    row.has_quotes = syntax.quotes && line->find('"') != std::string_view::npos;
    if (!row.has_quotes) return row;
    const auto begin = static_cast<std::size_t>(line->data() - piece.bytes.get());
    const RowEnd end = find_row_end({line->data(), piece.end - begin}, syntax.delimiter);
    row.is_closed = end.open == std::string_view::npos;
    const std::size_t last = row.is_closed ? std::min(end.size, piece.end - begin) : end.open + 1;
    while (piece.at < std::min(begin + last, piece.end)) {
      line = next_line(piece);
      ++row.lines;
    }
    row.text = {row.text.data(), static_cast<std::size_t>(line->data() + line->size() - row.text.data())};
    return row;
  }
  return std::nullopt;
}

std::vector<std::string> cells_of(const CsvLine& row, char delimiter) {
  return row.has_quotes ? split_quoted(row.text, delimiter) : split(row.text, delimiter);
}

CsvWords::CsvWords(const CsvField& field) : field_(field) {
  for (const std::string& word : field.vocabulary) numbers_.emplace(word, static_cast<std::int64_t>(numbers_.size()));
}

Result<void> CsvWords::parse(std::string_view word, std::int64_t column, std::byte* to) const {
  constexpr std::size_t kMostCompared = 1000;  // words, one by one with a misspelt one
  word = trimmed(word);
  const auto found = numbers_.find(word);
  if (found == numbers_.end() && !field_.unknown)
    return fail(Code::kInvalidArgument, "column {}: {} is not in the vocabulary{}", column, quoted(word),
                numbers_.size() > kMostCompared ? "" : did_you_mean(word, field_.vocabulary));
  const std::int64_t number = found == numbers_.end() ? *field_.unknown : found->second;
  tensor::with_native(field_.spec.dtype, [&](auto type) {
    if constexpr (std::is_integral_v<decltype(type)>) store(to, static_cast<decltype(type)>(number));
  });
  return {};
}

Result<void> CsvRow::parse_cell(std::string_view text, const Cell& cell, std::byte* to) {
  if (cell.words != nullptr) return cell.words->parse(text, cell.column, to);
  return parse_number_cell(text, cell.column, cell.dtype, to);
}

CsvRow::CsvRow(const std::vector<CsvField>& fields, char delimiter, const std::vector<std::string>& names,
               const std::vector<CsvWords>& words)
    : delimiter_(delimiter) {
  const auto column_of = [&](const CsvField& field, std::int64_t i) {
    if (field.names.empty()) return field.first_column + i;
    return std::ranges::find(names, field.names[static_cast<std::size_t>(i)]) - names.begin();
  };
  for (std::size_t field = 0; field < fields.size(); ++field) {
    const CsvField& f = fields[field];
    const std::int64_t count = f.spec.is_text ? 1 : tensor::element_count(f.spec.shape);
    const std::size_t size = dtype_size(f.spec.dtype);
    const CsvWords* const of_field = words[field].empty() ? nullptr : &words[field];
    for (std::int64_t i = 0; i < count; ++i)
      cells_.push_back(
          {column_of(f, i), field, static_cast<std::size_t>(i) * size, f.spec.dtype, f.spec.is_text, of_field});
  }
  std::stable_sort(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) { return a.column < b.column; });
}

Result<void> CsvRow::parse_row(const CsvLine& row, std::int64_t columns, BlockBuilder& out) const {
  if (!row.is_closed)
    return fail(Code::kInvalidArgument, "a quote is not closed (if quotes are text here, set \"quoting\": \"none\")");
  if (row.has_quotes) return parse_quoted(row.text, columns, out);
  return parse_line(row.text, columns, out);
}

Result<void> CsvRow::parse_line(std::string_view line, std::int64_t columns, BlockBuilder& out) const {
  const std::vector<std::byte*>& row = out.row();
  const char* const last = line.data() + line.size();
  const char* at = line.data();  // where column `column` starts
  std::int64_t column = 0;
  std::optional<Error> first_error;
  for (auto cell = cells_.begin();; ++column) {
    const char* end = nullptr;  // where it ends, once it is known
    for (; cell != cells_.end() && cell->column == column; ++cell) {
      std::byte* const to = cell->is_text ? nullptr : row[cell->field] + cell->offset;
      const bool is_number = to != nullptr && cell->words == nullptr;
      end = !first_error && is_number ? parse_directly(cell->dtype, at, last, to) : nullptr;
      if (end != nullptr && (end == last || *end == delimiter_)) continue;
      end = std::find(at, last, delimiter_);
      if (first_error) continue;
      const std::string_view text(at, static_cast<std::size_t>(end - at));
      auto parsed = cell->is_text ? keep_text(text, cell->field, out) : parse_cell(text, *cell, to);
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

Result<void> CsvRow::parse_quoted(std::string_view row, std::int64_t columns, BlockBuilder& out) const {
  const auto cells = split_quoted(row, delimiter_);
  if (static_cast<std::int64_t>(cells.size()) != columns)
    return fail_count(static_cast<std::int64_t>(cells.size()), columns);
  for (const Cell& cell : cells_) {
    const std::string& text = cells[static_cast<std::size_t>(cell.column)];
    if (cell.is_text)
      TFD_TRY(keep_text(text, cell.field, out));
    else
      TFD_TRY(parse_cell(text, cell, out.row()[cell.field] + cell.offset));
  }
  return {};
}

}  // namespace tfd::data
