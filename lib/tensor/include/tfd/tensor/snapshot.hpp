#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A tensor as it was at a moment, while rows of it go on changing in place: a row that changes is saved first, and the
// reader puts it back. So a checkpoint of a large table costs its training the rows that change, not a copy of the
// table. Thread rule: one thread at a time owns the live tensor, another one reads the snapshot; neither waits.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tfd/tensor/tensor.hpp"

namespace tfd::tensor {

/// The tensor as it is now, for read_snapshot() and whole_snapshot() only. Small tensors, and ones shared with
/// others, are simply shared.
Tensor take_snapshot(Tensor& live);
/// Bytes [offset, offset + into.size()) of it: put into `into`, or where they lie if they don't change.
std::span<const std::byte> read_snapshot(const Tensor& snapshot, std::size_t offset, std::span<std::byte> into);
/// A tensor like any other with its elements.
Tensor whole_snapshot(const Tensor& snapshot);

/// True if rows_to_change() copies nothing but rows: nobody but a snapshot shares the tensor.
bool can_change_rows(const Tensor& live);
/// The bytes of a tensor whose rows (of dimension 0, in range) are about to change: its own ones, if nobody but a
/// snapshot shares them; otherwise it gets a buffer of its own first.
std::byte* rows_to_change(Tensor& live, std::span<const std::int64_t> rows);

}  // namespace tfd::tensor
