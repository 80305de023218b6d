#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Functions shared by sources. Each source is a row of the table (../plan/stage_kinds.hpp) in a file of its own. Thread
// rule: free functions; datasets are immutable and thread-safe.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../files/file_rows.hpp"
#include "../plan/stage_kinds.hpp"
#include "arrays.hpp"
#include "tfd/data/plan.hpp"

namespace tfd::data {

RowDatasetPtr make_csv(const CsvSource& source, FileRowsOptions options);
RowDatasetPtr make_jsonl(const JsonlSource& source, FileRowsOptions options);
RowDatasetPtr make_text(const TextSource& source, FileRowsOptions options);
RowDatasetPtr make_tfrecord(const TfrecordSource& source, FileRowsOptions options);

using MakeFileRows = std::function<RowDatasetPtr(FileRowsOptions)>;
/// The rows of the files, which are looked for here: `make` makes the dataset of some of them, one after the other.
/// kNotFound, kInvalidArgument with the stage's path.
Result<RowDatasetPtr> make_file_source(const StageSite& site, const Stage& stated, const FileList& files,
                                       bool skip_errors, MakeFileRows make);
/// The context's dataset of the same source, or a new one, which the context has from now on.
RowDatasetPtr share_source(const StageSite& site, const Stage& stated, const std::function<RowDatasetPtr()>& make);
/// Whether the file is missing here, and the context leaves it to the workers that will read it: reports it there.
bool is_left_to_others(const StageSite& site, const std::string& path, const std::string& file);

struct ArrayColumn {
  FieldSpec spec;  // of one row
  StoredArray array;
};
/// Rows are slices along dimension 0. `length`: the number of rows where it is known.
RowDatasetPtr make_arrays(std::vector<ArrayColumn> columns, std::optional<std::int64_t> length);
/// The spec of one row of a file.
Result<tensor::TensorSpec> row_spec_of(const tensor::TensorSpec& file, const std::string& path);

}  // namespace tfd::data
