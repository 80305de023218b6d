#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rows of tables by their numbers, wherever the tables are. Thread rule: plain values.
#include <functional>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::step {

/// For indices of any shape (s32 or s64): that shape and the row's.
struct RowLookup {
  std::string table;
  tensor::Tensor indices;
};
/// In the order of the lookups; kInvalidArgument names an index that is no row.
using LookUpRows = std::function<Result<std::vector<tensor::Tensor>>(const std::vector<RowLookup>&)>;

}  // namespace tfd::step
