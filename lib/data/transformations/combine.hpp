#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Code shared by transformations of several datasets. Thread rule: free functions.
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "../plan/stage_kinds.hpp"

namespace tfd::data {

/// The order for dataset `index` of several that are iterated together: shuffles that state no seed aren't to have the
/// same order in each.
inline Order order_of_input(Order order, std::size_t index) {
  if (order.seeds && index > 0) {
    order.seeds->iteration = mix_bits(order.seeds->iteration ^ mix_bits(index));
    order.seeds->dataset = mix_bits(order.seeds->dataset ^ mix_bits(index));
  }
  return order;
}

/// Puts the row's fields behind those of the block, as a block of one row each.
inline void append_fields(const Row& row, Block& to) {
  for (const tensor::Tensor& column : row.block->columns) to.columns.push_back(column.slice_rows(row.index, 1));
}

/// The spec of all their elements: dimensions that differ vary. kInvalidArgument where fields differ, or their
/// dtypes or ranks.
Result<ElementSpec> common_spec(const std::vector<RowDatasetPtr>& inputs);
/// `spec`: the inputs' common_spec().
RowDatasetPtr make_concatenate(ElementSpec spec, std::vector<RowDatasetPtr> inputs);
RowDatasetPtr make_interleave(ElementSpec spec, std::vector<RowDatasetPtr> inputs, const Interleave& interleave);

/// Reads one pipeline, or a list of pipelines, `depth` pipelines deep.
Result<std::vector<Plan>> read_pipelines(const nlohmann::ordered_json& value, const std::string& path, int depth);
nlohmann::ordered_json write_pipelines(const std::vector<Plan>& plans);
/// The stage's input, and the datasets of the others, which are stated at `path`.
Result<std::vector<RowDatasetPtr>> make_inputs(const StageSite& site, const std::vector<Plan>& others,
                                               const std::string& path);

}  // namespace tfd::data
