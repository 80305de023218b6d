#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The transformations, made from values that were checked. Thread rule: free functions; datasets are immutable and
// thread-safe.
#include <cstdint>
#include <optional>

#include "row.hpp"

namespace tfd::data {

struct ShuffleOptions {
  std::int64_t buffer = 1;
  std::optional<std::uint64_t> seed;
  bool reshuffle_each_iteration = true;
};
RowDatasetPtr make_shuffle(RowDatasetPtr input, const ShuffleOptions& options);
/// Endless without a count.
RowDatasetPtr make_repeat(RowDatasetPtr input, std::optional<std::int64_t> count);
/// Every dimension of the input's fields is known.
RowDatasetPtr make_batch(RowDatasetPtr input, std::int64_t size, bool drop_remainder);
RowDatasetPtr make_map(RowDatasetPtr input, std::string name, MapFunction function);
RowDatasetPtr make_take(RowDatasetPtr input, std::int64_t count);
RowDatasetPtr make_skip(RowDatasetPtr input, std::int64_t count);
RowDatasetPtr make_prefetch(RowDatasetPtr input, std::int64_t buffer);

}  // namespace tfd::data
