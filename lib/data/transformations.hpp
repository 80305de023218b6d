#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The transformations, made from values that were checked. Thread rule: free functions; datasets are immutable and
// thread-safe.
#include "row.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data {

RowDatasetPtr make_shuffle(RowDatasetPtr input, const Shuffle& shuffle);
RowDatasetPtr make_repeat(RowDatasetPtr input, const Repeat& repeat);
/// Every dimension of the input's fields is known.
RowDatasetPtr make_batch(RowDatasetPtr input, const Batch& batch);
RowDatasetPtr make_map(RowDatasetPtr input, std::string name, MapFunction function);
RowDatasetPtr make_take(RowDatasetPtr input, const Take& take);
RowDatasetPtr make_skip(RowDatasetPtr input, const Skip& skip);
RowDatasetPtr make_shard(RowDatasetPtr input, const Shard& shard);
RowDatasetPtr make_prefetch(RowDatasetPtr input, const Prefetch& prefetch);

}  // namespace tfd::data
