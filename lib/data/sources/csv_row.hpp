#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How the rows of a csv file are found in a piece of it, and how one of them becomes a row of a block: which column
// goes where, as what. Thread rule: a CsvRow is immutable.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../files/block_builder.hpp"
#include "../files/line_reader.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data {

struct CsvSyntax {
  char delimiter = ',';
  bool quotes = true;
};

/// A row as it lies in the file: a line, or several if a quoted field has line breaks.
struct CsvLine {
  std::string_view text;
  std::int64_t number = 0;  // of its first line
  std::int64_t lines = 1;
  bool has_quotes = false;
  bool is_closed = true;  // no quote is left open; else the row ends with the line in which it opens
};
/// The next row of a piece that isn't blank; nullopt at the piece's end.
std::optional<CsvLine> next_row(Piece& piece, const CsvSyntax& syntax);
/// The row's fields as texts, quotes undone.
std::vector<std::string> cells_of(const CsvLine& row, char delimiter);

/// The words of a field with a vocabulary, as numbers. Borrows the field. Thread rule: immutable.
class CsvWords {
 public:
  explicit CsvWords(const CsvField& field);
  bool empty() const { return field_.vocabulary.empty(); }
  /// Writes the number of a word. kInvalidArgument: "column 3: 'Rom' is not in the vocabulary, did you mean 'Rome'?".
  Result<void> parse(std::string_view word, std::int64_t column, std::byte* to) const;

 private:
  const CsvField& field_;
  std::unordered_map<std::string_view, std::int64_t> numbers_;
};

class CsvRow {
 public:
  /// `names`: of the columns; all that fields name are among them. `words`: of the fields, borrowed.
  CsvRow(const std::vector<CsvField>& fields, char delimiter, const std::vector<std::string>& names,
         const std::vector<CsvWords>& words);

  /// Writes the fields of one row, numbers to their places in it, texts with memory of their own. `columns` is the
  /// required number of columns.
  /// kInvalidArgument: "column 3: 'abc' is not a number", "63 columns instead of 65", a quote that isn't closed.
  Result<void> parse_row(const CsvLine& row, std::int64_t columns, BlockBuilder& out) const;

 private:
  struct Cell {
    std::int64_t column;
    std::size_t field;
    std::size_t offset;  // in bytes
    tensor::DType dtype;
    bool is_text;
    const CsvWords* words;  // null: it is a number, or a text
  };
  static Result<void> parse_cell(std::string_view text, const Cell& cell, std::byte* to);
  Result<void> parse_line(std::string_view line, std::int64_t columns, BlockBuilder& out) const;
  Result<void> parse_quoted(std::string_view row, std::int64_t columns, BlockBuilder& out) const;

  std::vector<Cell> cells_;  // by column
  char delimiter_;
};

}  // namespace tfd::data
