#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the transformations of several datasets share. Thread rule: free functions.
#include <cstddef>
#include <vector>

#include "../row.hpp"

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

}  // namespace tfd::data
