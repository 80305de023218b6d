#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Code of batch and padded_batch: all but how the rows of a batch become one element. Thread rule: free functions.
#include <nlohmann/json_fwd.hpp>

#include "../plan/options.hpp"
#include "../plan/stage_kinds.hpp"
#include "packing.hpp"

namespace tfd::data {

Batch read_batching(Options& options);
nlohmann::ordered_json write_batching(const Batch& batch);
/// kInvalidArgument where the mask's name is taken, or the batch would be filled up to more than memory can hold.
Result<void> check_mask(const StageSite& site, const Batch& batch);
/// Batches of the input's rows; `row`: what the packing makes of one. The mask was checked.
RowDatasetPtr make_batches(RowDatasetPtr input, ElementSpec row, PackingPtr packing, const Batch& batch);
/// How many batches TensorFlow expects of `input` elements.
std::int64_t batched_cardinality(const Batch& batch, std::int64_t input);

}  // namespace tfd::data
