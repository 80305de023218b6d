#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How the rows of a batch become one element: a tensor for each field. Thread rule: immutable and thread-safe.
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "../plan/stage_kinds.hpp"
#include "../row.hpp"

namespace tfd::data {

class Packing {
 public:
  virtual ~Packing() = default;
  /// A block of one row. There are rows.
  virtual Result<BlockPtr> pack(const std::vector<Row>& rows) const = 0;
};
using PackingPtr = std::shared_ptr<const Packing>;  // shared: by the dataset and its streams

/// Rows of one size behind one another: every dimension of `input` is known.
PackingPtr make_plain_packing(ElementSpec input);

struct PaddedField {
  tensor::Shape shape;   // of a row; -1: as large as the largest of them
  tensor::Tensor value;  // a scalar of the field's dtype
};
/// Rows of several sizes, each filled up at its ends. An error names a field whose row is larger than its shape.
PackingPtr make_padded_packing(ElementSpec input, std::vector<PaddedField> fields);

// ---- Code of batch and padded_batch: all but how the rows of a batch become one element.

Batch read_batching(JsonObject& options);
nlohmann::ordered_json write_batching(const Batch& batch);
/// kInvalidArgument where the mask's name is taken, or the batch would be filled up to more than memory can hold.
Result<void> check_mask(const StageSite& site, const Batch& batch);
/// Batches of the input's rows; `row`: what the packing makes of one. The mask was checked.
RowDatasetPtr make_batches(RowDatasetPtr input, ElementSpec row, PackingPtr packing, const Batch& batch);
/// How many batches TensorFlow expects of `input` elements.
std::int64_t batched_cardinality(const Batch& batch, std::int64_t input);

}  // namespace tfd::data
