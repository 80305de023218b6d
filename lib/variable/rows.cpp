// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/rows.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "elements.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/snapshot.hpp"

namespace tfd::variable {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

Tensor to_tensor(const std::vector<std::int64_t>& indices) {
  Tensor out = Tensor::uninitialized(DType::kS64, {static_cast<std::int64_t>(indices.size())});
  if (!indices.empty()) std::memcpy(out.mutable_data(), indices.data(), out.byte_size());
  return out;
}

Shape with_rows(const Shape& shape, std::int64_t rows) {
  Shape out = shape;
  out[0] = rows;
  return out;
}

Result<void> check_range(const std::vector<std::int64_t>& indices, std::int64_t count) {
  for (const std::int64_t index : indices)
    if (index < 0 || index >= count) return fail(Code::kOutOfRange, "no row {}: there are {}", index, count);
  return {};
}

std::size_t row_bytes(const Tensor& table) {
  return table.shape()[0] == 0 ? 0 : table.byte_size() / static_cast<std::size_t>(table.shape()[0]);
}

bool is_strictly_ascending(const std::vector<std::int64_t>& indices) {
  return std::adjacent_find(indices.begin(), indices.end(), std::greater_equal<>()) == indices.end();
}

// Positions of equal indices next to each other, in their original order.
std::vector<std::size_t> sorted_positions(const std::vector<std::int64_t>& indices) {
  std::vector<std::size_t> order(indices.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return indices[a] < indices[b]; });
  return order;
}

template <class N>
N combine(RowOp op, N a, N b) {
  switch (op) {
    case RowOp::kAssign:
      return b;
    case RowOp::kAdd:
      return add(a, b);
    case RowOp::kSubtract:
      return subtract(a, b);
    case RowOp::kMultiply:
      return multiply(a, b);
    case RowOp::kDivide:
      return divide(a, b);
    case RowOp::kMin:
      return b < a ? b : a;
    case RowOp::kMax:
      return a < b ? b : a;
  }
  return a;
}

template <class E, RowOp kOp>
void scatter(std::byte* table, const std::vector<std::int64_t>& indices, const Tensor& values) {
  using Stored = typename E::Stored;
  const std::int64_t width = values.size() / std::max<std::int64_t>(values.shape()[0], 1);
  auto* const to = reinterpret_cast<Stored*>(table);
  const Stored* from = values.as<Stored>().data();
  for (const std::int64_t index : indices) {
    Stored* row = to + index * width;
    for (std::int64_t i = 0; i < width; ++i) row[i] = E::store(combine(kOp, E::load(row[i]), E::load(from[i])));
    from += width;
  }
}

template <class E>
void scatter_as(RowOp op, std::byte* table, const std::vector<std::int64_t>& indices, const Tensor& values) {
  switch (op) {
    case RowOp::kAssign:
      return;  // bytes
    case RowOp::kAdd:
      return scatter<E, RowOp::kAdd>(table, indices, values);
    case RowOp::kSubtract:
      return scatter<E, RowOp::kSubtract>(table, indices, values);
    case RowOp::kMultiply:
      return scatter<E, RowOp::kMultiply>(table, indices, values);
    case RowOp::kDivide:
      return scatter<E, RowOp::kDivide>(table, indices, values);
    case RowOp::kMin:
      return scatter<E, RowOp::kMin>(table, indices, values);
    case RowOp::kMax:
      return scatter<E, RowOp::kMax>(table, indices, values);
  }
}

/// Copies existing rows.
Tensor copy_rows(const Tensor& table, const std::vector<std::int64_t>& rows) {
  Tensor out = Tensor::uninitialized(table.dtype(), with_rows(table.shape(), static_cast<std::int64_t>(rows.size())));
  const std::size_t size = row_bytes(table);
  if (size == 0) return out;
  std::byte* to = out.mutable_data();
  for (const std::int64_t row : rows) {
    std::memcpy(to, table.data() + static_cast<std::size_t>(row) * size, size);
    to += size;
  }
  return out;
}

}  // namespace

Result<std::vector<std::int64_t>> read_indices(const Tensor& indices, std::int64_t count) {
  if (!indices.has_value() || indices.shape().size() != 1 ||
      (indices.dtype() != DType::kS32 && indices.dtype() != DType::kS64))
    return fail(Code::kInvalidArgument, "row indices must be s32 or s64 of rank 1, not {}",
                format_spec(indices.spec()));
  std::vector<std::int64_t> out;
  if (indices.dtype() == DType::kS32)
    out.assign(indices.as<std::int32_t>().begin(), indices.as<std::int32_t>().end());
  else
    out.assign(indices.as<std::int64_t>().begin(), indices.as<std::int64_t>().end());
  TFD_TRY(check_range(out, count));
  return out;
}

Result<void> check_rows(std::string_view name, const tensor::TensorSpec& table, const Rows& rows) {
  if (table.shape.empty())
    return fail(Code::kInvalidArgument, "'{}' is {}: a scalar has no rows", printable(name), format_spec(table));
  TFD_TRY(read_indices(rows.indices, table.shape[0]), fmt::format("'{}'", printable(name)));
  const tensor::TensorSpec wanted{table.dtype, with_rows(table.shape, rows.indices.shape()[0])};
  if (rows.values.has_value() && rows.values.spec() == wanted) return {};
  return fail(Code::kInvalidArgument, "rows of '{}' are {}, but must be {}", printable(name),
              format_spec(rows.values.spec()), format_spec(wanted));
}

Result<void> check_row_op(RowOp op, const Tensor& values) {
  if (op != RowOp::kAssign && values.dtype() == DType::kBool)
    return fail(Code::kInvalidArgument, "bool rows can only be assigned");
  if (op != RowOp::kDivide || !is_integer(values.dtype())) return {};
  bool zero = false;
  with_elements(values.dtype(), [&]<class E>(E) {
    for (const auto x : values.as<typename E::Stored>()) zero = zero || x == 0;
  });
  if (zero) return fail(Code::kInvalidArgument, "rows of {} can't be divided by 0", dtype_name(values.dtype()));
  return {};
}

Result<Rows> sum_duplicates(const Rows& rows) {
  const auto indices = TFD_TRY(read_indices(rows.indices, INT64_MAX));
  const Shape& shape = rows.values.shape();
  if (!rows.values.has_value() || shape.empty() || shape[0] != static_cast<std::int64_t>(indices.size()))
    return fail(Code::kInvalidArgument, "{} indices need as many rows of values, not {}", indices.size(),
                format_spec(rows.values.spec()));
  if (rows.values.dtype() == DType::kBool) return fail(Code::kInvalidArgument, "bool rows can't be added up");
  if (is_strictly_ascending(indices)) return Rows{to_tensor(indices), rows.values};

  const auto order = sorted_positions(indices);
  std::vector<std::int64_t> unique;
  std::vector<std::int64_t> target(indices.size());  // where the values of a position go
  for (const std::size_t at : order) {
    if (unique.empty() || unique.back() != indices[at]) unique.push_back(indices[at]);
    target[at] = static_cast<std::int64_t>(unique.size()) - 1;
  }
  const Tensor values = widened(rows.values);  // rounded once, after all sums
  Tensor sums = Tensor::zeros(values.dtype(), with_rows(shape, static_cast<std::int64_t>(unique.size())));
  with_elements(sums.dtype(), [&]<class E>(E) { scatter<E, RowOp::kAdd>(sums.mutable_data(), target, values); });
  return Rows{to_tensor(unique), narrowed(sums, rows.values.dtype())};
}

Result<UniqueIndices> unique_indices(const Tensor& indices) {
  const auto all = TFD_TRY(read_indices(indices, INT64_MAX));
  std::vector<std::int64_t> unique = all;
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  UniqueIndices out{to_tensor(unique), {}};
  out.positions.reserve(all.size());
  for (const std::int64_t index : all)
    out.positions.push_back(std::lower_bound(unique.begin(), unique.end(), index) - unique.begin());
  return out;
}

Result<Tensor> gather_rows(const Tensor& table, const Tensor& indices) {
  if (table.shape().empty()) return fail(Code::kInvalidArgument, "a scalar has no rows");
  return copy_rows(table, TFD_TRY(read_indices(indices, table.shape()[0])));
}

Result<Tensor> gather_rows(const Tensor& table, const std::vector<std::int64_t>& indices) {
  if (table.shape().empty()) return fail(Code::kInvalidArgument, "a scalar has no rows");
  TFD_TRY(check_range(indices, table.shape()[0]));
  return copy_rows(table, indices);
}

Result<void> scatter_rows(Tensor& table, RowOp op, const Rows& rows) {
  TFD_TRY(check_rows("table", table.spec(), rows));
  TFD_TRY(check_row_op(op, rows.values));
  const auto indices = TFD_TRY(read_indices(rows.indices, table.shape()[0]));
  if (rows.values.size() == 0) return {};
  std::byte* const to = tensor::rows_to_change(table, indices);
  if (op != RowOp::kAssign) {
    with_elements(table.dtype(), [&]<class E>(E) { scatter_as<E>(op, to, indices, rows.values); });
    return {};
  }
  const std::size_t size = row_bytes(table);
  const std::byte* from = rows.values.data();
  for (const std::int64_t index : indices) {
    std::memcpy(to + static_cast<std::size_t>(index) * size, from, size);
    from += size;
  }
  return {};
}

}  // namespace tfd::variable
