#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a source puts the rows that it decodes: many to a block, of about a MiB; a row to a block if one of its fields
// varies in size. Thread rule: lives on one thread at a time.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../row.hpp"

namespace tfd::data {

class BlockBuilder {
 public:
  /// `rows`: how many there will be at most.
  BlockBuilder(const ElementSpec& spec, std::int64_t rows);

  /// Makes room for the next row, if there is none.
  void prepare() {
    if (columns_.empty()) begin();
  }
  /// Where the fields of the next row go; null for one that varies. Written bytes count once the row is committed.
  const std::vector<std::byte*>& row() const { return row_; }
  /// Memory for a field whose first dimension is `length` in the next row. kInvalidArgument where it is too large.
  Result<std::byte*> allocate(std::size_t field, std::int64_t length);
  /// The next row is complete.
  void commit();
  bool is_full() const { return rows_ == most_rows_; }
  /// The rows so far; null for none.
  BlockPtr take();

 private:
  void begin();

  const ElementSpec& spec_;
  std::vector<std::size_t> strides_;  // of fields that don't vary
  std::int64_t most_rows_ = 1;
  std::vector<tensor::Tensor> columns_;
  std::vector<std::byte*> row_;
  std::int64_t rows_ = 0;
};

}  // namespace tfd::data
