#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rows of a table (dimension 0 of a variable): what embeddings read and update, so that only the rows used move and are
// touched. Indices are s32 or s64, of rank 1. Thread rule: free functions on their arguments.
//
//   Rows used = TFD_TRY(sum_duplicates({ids, gradients}));   // a worker, before the push
//   Tensor rows = TFD_TRY(gather_rows(table, ids));          // a parameter server, for a lookup
#include <cstdint>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::variable {

/// values[i] belongs to row indices[i]: shapes [n] and [n, the table's other dimensions].
struct Rows {
  tensor::Tensor indices;
  tensor::Tensor values;
};

enum class RowOp : std::uint8_t { kAssign, kAdd, kSubtract, kMultiply, kDivide, kMin, kMax };

/// The indices as numbers; kInvalidArgument for another rank or dtype, kOutOfRange names the first that isn't a row of
/// `count`.
Result<std::vector<std::int64_t>> read_indices(const tensor::Tensor& indices, std::int64_t count);
/// Whether these rows fit the table: kInvalidArgument says which shape or dtype doesn't, kOutOfRange which index.
Result<void> check_rows(std::string_view name, const tensor::TensorSpec& table, const Rows& rows);
/// Bool rows can only be assigned, integers not divided by 0: kInvalidArgument.
Result<void> check_row_op(RowOp op, const tensor::Tensor& values);

/// Every index once, in ascending order (s64), with the sum of its values. Rows that are unique and ascending are
/// returned as it is. kInvalidArgument for negative indices, shapes that don't fit each other, and bool.
Result<Rows> sum_duplicates(const Rows& rows);
/// Every index once, ascending, and for each original position where its row is in that list: a lookup asks for
/// `unique` rows only and spreads them with `positions`.
struct UniqueIndices {
  tensor::Tensor unique;                // s64
  std::vector<std::int64_t> positions;  // one per original index
};
Result<UniqueIndices> unique_indices(const tensor::Tensor& indices);

/// [n, …] of [rows, …], any dtype. Copies n rows.
Result<tensor::Tensor> gather_rows(const tensor::Tensor& table, const tensor::Tensor& indices);
Result<tensor::Tensor> gather_rows(const tensor::Tensor& table, const std::vector<std::int64_t>& indices);
/// Changes rows of the table: in place where nobody else holds it, else in a copy. Duplicates apply one after another,
/// so they add up. kInvalidArgument, kOutOfRange; the table is as it was then. Integers wrap round; dividing them by 0
/// is kInvalidArgument.
Result<void> scatter_rows(tensor::Tensor& table, RowOp op, const Rows& rows);

}  // namespace tfd::variable
