#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The sources, made from values that were checked. Thread rule: free functions; datasets are immutable and thread-safe.
#include <cstdint>
#include <string>
#include <vector>

#include "row.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data {

/// Decoded rows of up to `cache_bytes` are kept for the next passes, as long as the file doesn't change; a larger file
/// is read anew by every pass.
RowDatasetPtr make_csv(CsvSource source, std::size_t cache_bytes = std::size_t{256} << 20);

struct NpyColumn {
  FieldSpec spec;  // of one row
  std::string path;
};
/// Rows are slices along dimension 0. `length`: the number of rows where it is known.
RowDatasetPtr make_npy(std::vector<NpyColumn> columns, std::optional<std::int64_t> length);
/// The spec of one row of a file.
Result<tensor::TensorSpec> row_spec_of(const tensor::TensorSpec& file, const std::string& path);

/// The step is not 0. One s64 scalar, "value".
RowDatasetPtr make_range(const RangeSource& range);

/// Equal, positive rank and first dimensions.
RowDatasetPtr make_tensor_slices(ElementSpec spec, std::vector<tensor::Tensor> columns);

}  // namespace tfd::data
