#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How the rows of a variable are spread over shards ("div": rows / n each, one more for the first rows mod n), and
// slices of rows. Thread rule: plain values.
// Source: tensorflow/python/distribute/sharded_variable.py, 2.21.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/variable/rows.hpp"

namespace tfd::variable {

/// Part i of "table" is "table/part_i".
std::string shard_name(std::string_view variable, std::int64_t shard);

class Sharding {
 public:
  /// One shard: everything.
  explicit Sharding(tensor::Shape shape) : shape_(std::move(shape)) {}
  /// kInvalidArgument for a scalar in several shards, for less than one, and for more than there are rows.
  static Result<Sharding> make(tensor::Shape shape, std::int64_t shards);

  const tensor::Shape& shape() const { return shape_; }
  std::int64_t count() const { return count_; }
  std::int64_t first_row(std::int64_t shard) const;
  std::int64_t rows(std::int64_t shard) const { return first_row(shard + 1) - first_row(shard); }
  tensor::Shape shard_shape(std::int64_t shard) const;

  struct Place {
    std::int64_t shard, row;
  };
  /// Where a row is; 0 <= row < shape()[0].
  Place locate(std::int64_t row) const;

  /// Splits a list of rows by shard: local indices (s64), and their positions in the list. For a lookup or a sparse
  /// update that asks every parameter server only for its own.
  struct ShardRows {
    tensor::Tensor indices;
    std::vector<std::int64_t> positions;
  };
  /// kInvalidArgument, kOutOfRange as read_indices().
  Result<std::vector<ShardRows>> split(const tensor::Tensor& indices) const;
  /// The rows of each shard put back to their positions: the other half of a lookup. `parts` as split() asked for them.
  Result<tensor::Tensor> join(const std::vector<ShardRows>& shares, const std::vector<tensor::Tensor>& parts) const;

  friend bool operator==(const Sharding&, const Sharding&) = default;

 private:
  tensor::Shape shape_;
  std::int64_t count_ = 1;
};

/// Python's [start:stop:step] of the rows; absent ones as there.
struct RowSlice {
  std::optional<std::int64_t> start = std::nullopt, stop = std::nullopt;
  std::int64_t step = 1;
};
/// Parses a Python slice: "1:5", ":-1", "::2". kInvalidArgument says what it must be.
Result<RowSlice> parse_row_slice(std::string_view text);
/// The rows that it names, of `count`, in its order. kInvalidArgument for a step of 0.
Result<std::vector<std::int64_t>> rows_of(const RowSlice& slice, std::int64_t count);

}  // namespace tfd::variable
