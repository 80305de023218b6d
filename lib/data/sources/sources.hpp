#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The sources, made from values that were checked. Thread rule: free functions; datasets are immutable and thread-safe.
#include <cstdint>
#include <string>
#include <vector>

#include "../files/file_rows.hpp"
#include "../row.hpp"
#include "arrays.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data {

RowDatasetPtr make_csv(const CsvSource& source, FileRowsOptions options);
RowDatasetPtr make_jsonl(const JsonlSource& source, FileRowsOptions options);
RowDatasetPtr make_text(const TextSource& source, FileRowsOptions options);
RowDatasetPtr make_tfrecord(const TfrecordSource& source, FileRowsOptions options);
/// `place`: where it runs; null: iterators are errors. Its files, errors, cache and threads aren't the options'.
RowDatasetPtr make_command(const CommandSource& source, FileRowsOptions options,
                           std::shared_ptr<const function::CommandPlace> place);

/// The rows of several files at a time, as the list of files says: `make_one` makes the dataset of one of them.
RowDatasetPtr make_interleaved_files(ElementSpec spec, FileRowsOptions options,
                                     std::function<RowDatasetPtr(FileRowsOptions)> make_one);

struct ArrayColumn {
  FieldSpec spec;  // of one row
  StoredArray array;
};
/// Rows are slices along dimension 0. `length`: the number of rows where it is known.
RowDatasetPtr make_arrays(std::vector<ArrayColumn> columns, std::optional<std::int64_t> length);
/// The spec of one row of a file.
Result<tensor::TensorSpec> row_spec_of(const tensor::TensorSpec& file, const std::string& path);

/// The step is not 0. One s64 scalar, "value".
RowDatasetPtr make_range(const RangeSource& range);

/// Equal, positive rank and first dimensions.
RowDatasetPtr make_tensor_slices(ElementSpec spec, std::vector<tensor::Tensor> columns);

}  // namespace tfd::data
