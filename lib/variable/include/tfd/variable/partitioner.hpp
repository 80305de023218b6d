#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How many shards a variable is cut into, along its rows. Thread rule: plain values, pure functions.
//
//   const auto how = TFD_TRY(parse_partitioner(json));                   // {"fixed_shards": {"num_shards": 2}}
//   const auto parts = TFD_TRY(how.partitions({1000, 16}, 4));           // [2, 1]
//   const auto shards = TFD_TRY(shard_count(parts, {1000, 16}));         // 2
// Source: tensorflow/python/distribute/sharded_variable.py and ops/partitioned_variables.py, 2.21.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::variable {

struct Partitioner {
  enum class Kind : std::uint8_t { kFixedShards, kMinSize, kMaxSize };
  Kind kind = Kind::kFixedShards;
  std::int64_t num_shards = 1;                // fixed_shards
  std::int64_t min_shard_bytes = 256 * 1024;  // min_size; shards may be smaller, since their number is rounded up
  std::int64_t max_shard_bytes = 0;           // max_size; a row that is larger is a shard of its own
  std::int64_t max_shards = 1;                // min_size and max_size; 0: any number, max_size only
  std::int64_t bytes_per_string = 16;         // min_size and max_size: what a string counts for, whatever it holds

  /// The cuts of a variable of this shape, one number for each dimension. `element_bytes`: of the dtype; of strings
  /// bytes_per_string. fixed_shards of no rows is 0 shards, which shard_count() refuses. kInvalidArgument: a scalar,
  /// max_size of an empty variable.
  Result<std::vector<std::int64_t>> partitions(const tensor::Shape& shape, std::int64_t element_bytes) const;
};

/// {"fixed_shards": {"num_shards": 2}}, {"min_size": {"min_shard_bytes": 262144, "max_shards": 8}}, {"max_size":
/// {"max_shard_bytes": 1048576, "max_shards": 8}}. kInvalidArgument names the key.
Result<Partitioner> parse_partitioner(const nlohmann::ordered_json& json);
/// The JSON from which parse_partitioner() makes the same value.
nlohmann::ordered_json to_json(const Partitioner& partitioner);

/// How many shards come of partitions: at most one for each row. kInvalidArgument where they are empty, start with 0,
/// cut another dimension than the first, or more rows than the shape has.
Result<std::int64_t> shard_count(const std::vector<std::int64_t>& partitions, const tensor::Shape& shape);

}  // namespace tfd::variable
