#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How one line of a csv file becomes one row: which column goes where, as what. Knows nothing of files.
// Thread rule: a CsvRow is immutable.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../files/block_builder.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data {

class CsvRow {
 public:
  CsvRow(const std::vector<CsvField>& fields, char delimiter);

  /// Columns that a line must have at least.
  std::int64_t columns_needed() const { return columns_needed_; }
  std::int64_t count_columns(std::string_view line) const;
  /// Writes the fields of one row, numbers to their places in it, texts with memory of their own. `columns` is what
  /// every line must have.
  /// kInvalidArgument: "column 3: 'abc' is not a number", "63 columns instead of 65".
  Result<void> parse_line(std::string_view line, std::int64_t columns, BlockBuilder& out) const;

 private:
  struct Cell {
    std::int64_t column;
    std::size_t field;
    std::size_t offset;  // in bytes
    tensor::DType dtype;
    bool is_text;
  };
  Result<void> parse_quoted(std::string_view line, std::int64_t columns, BlockBuilder& out) const;

  std::vector<Cell> cells_;  // by column
  std::int64_t columns_needed_ = 0;
  char delimiter_;
};

}  // namespace tfd::data
