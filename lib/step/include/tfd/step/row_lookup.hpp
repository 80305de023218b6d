#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Lookups of rows of tables by their ids, wherever the tables are. Thread rule: plain values.
#include <functional>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::step {

/// A lookup of indices of any shape (s32 or s64); the result has that shape followed by a row's.
struct RowLookup {
  std::string table;
  tensor::Tensor indices;
};
/// Returns rows in the order of the lookups; kInvalidArgument names an index out of range.
using LookUpRows = std::function<Result<std::vector<tensor::Tensor>>(const std::vector<RowLookup>&)>;

}  // namespace tfd::step
