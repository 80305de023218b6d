#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The transformations, made from values that were checked. Thread rule: free functions; datasets are immutable and
// thread-safe.
#include "../row.hpp"
#include "packing.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data {

RowDatasetPtr make_shuffle(RowDatasetPtr input, const Shuffle& shuffle);
/// `varies`: passes may differ in how many rows they have.
RowDatasetPtr make_repeat(RowDatasetPtr input, const Repeat& repeat, bool varies);
/// Every dimension of the input's fields is known, as for make_window(). No field is called as the mask, as for
/// make_padded_batch().
RowDatasetPtr make_batch(RowDatasetPtr input, const Batch& batch);
/// `fields`: one for each of the input's, of its rank.
RowDatasetPtr make_padded_batch(RowDatasetPtr input, const PaddedBatch& batch, std::vector<PaddedField> fields);
/// Every field has a first dimension, and those that are known are the same.
RowDatasetPtr make_unbatch(RowDatasetPtr input);
/// As make_unbatch().
RowDatasetPtr make_rebatch(RowDatasetPtr input, const Rebatch& rebatch);
/// Every field has a first dimension.
RowDatasetPtr make_legacy_rebatch(RowDatasetPtr input, const LegacyRebatch& rebatch);
/// As make_legacy_rebatch(), unless the remainder is dropped.
RowDatasetPtr make_whole_steps(RowDatasetPtr input, const WholeSteps& steps);
RowDatasetPtr make_window(RowDatasetPtr input, const Window& window);
/// `skipped`: where errors are skipped, what is called with each; may be empty.
RowDatasetPtr make_map(RowDatasetPtr input, const Map& map, MapFunction function,
                       std::function<void(const Error&)> skipped);
/// The function makes one bool scalar.
RowDatasetPtr make_filter(RowDatasetPtr input, const Filter& filter, MapFunction function,
                          std::function<void(const Error&)> skipped);
RowDatasetPtr make_enumerate(RowDatasetPtr input, const Enumerate& enumerate);
RowDatasetPtr make_take(RowDatasetPtr input, const Take& take);
RowDatasetPtr make_skip(RowDatasetPtr input, const Skip& skip);
/// Not by hint.
RowDatasetPtr make_shard(RowDatasetPtr input, const Shard& shard);
/// The error of a shard that requires something for each: `found` says how much there is.
tl::unexpected<Error> too_few_for(const Shard& shard, std::string_view found);
/// What elements of all of these are: dimensions that differ vary. kInvalidArgument where fields differ, or their
/// dtypes or ranks.
Result<ElementSpec> common_spec(const std::vector<RowDatasetPtr>& inputs);
/// Of common_spec().
RowDatasetPtr make_concatenate(ElementSpec spec, std::vector<RowDatasetPtr> inputs);
RowDatasetPtr make_interleave(ElementSpec spec, std::vector<RowDatasetPtr> inputs, const Interleave& interleave);
/// The names of all fields differ.
RowDatasetPtr make_zip(std::vector<RowDatasetPtr> inputs);
/// `pipeline`: what the input is, for a cache in a file.
RowDatasetPtr make_cache(RowDatasetPtr input, const Cache& cache, std::string pipeline);
RowDatasetPtr make_prefetch(RowDatasetPtr input, const Prefetch& prefetch);

}  // namespace tfd::data
