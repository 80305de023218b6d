#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rows that are in memory: what tensor_slices and npy are, and what a small csv file becomes after its first pass.
// Thread rule: a Table is immutable; a TableStream lives on one thread at a time.
#include <memory>
#include <vector>

#include "../row.hpp"

namespace tfd::data {

struct Table {
  std::vector<BlockPtr> blocks;
};
using TablePtr = std::shared_ptr<const Table>;  // shared: by the dataset that caches it and the streams that read it

RowStreamPtr stream_table(TablePtr table);

}  // namespace tfd::data
