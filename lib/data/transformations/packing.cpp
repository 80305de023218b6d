// SPDX-License-Identifier: Apache-2.0
#include "packing.hpp"

#include <algorithm>
#include <cstring>

namespace tfd::data {
namespace {

tensor::Shape packed_shape(std::size_t rows, const tensor::Shape& row) {
  tensor::Shape shape{1, static_cast<std::int64_t>(rows)};
  shape.insert(shape.end(), row.begin(), row.end());
  return shape;
}

class PlainPacking final : public Packing {
 public:
  explicit PlainPacking(ElementSpec input) : spec_(std::move(input)) {}
  Result<BlockPtr> pack(const std::vector<Row>& rows) const override {
    auto block = std::make_shared<Block>();
    for (std::size_t field = 0; field < spec_.size(); ++field) block->columns.push_back(pack_field(rows, field));
    return block;
  }

 private:
  // One field of all rows, as the one row [1, rows, …]. Adjacent rows of a block are copied at once.
  tensor::Tensor pack_field(const std::vector<Row>& rows, std::size_t field) const {
    tensor::Tensor packed =
        tensor::Tensor::uninitialized(spec_[field].dtype, packed_shape(rows.size(), spec_[field].shape));
    std::byte* to = packed.mutable_data();
    const std::size_t stride = row_bytes(spec_[field]);
    for (std::size_t first = 0, last = 1; first < rows.size(); first = last++) {
      const Row& row = rows[first];
      while (last < rows.size() && rows[last].block == row.block &&
             rows[last].index == row.index + static_cast<std::int64_t>(last - first))
        ++last;
      const tensor::Tensor& column = row.block->columns[field];
      std::memcpy(to + first * stride, column.data() + static_cast<std::size_t>(row.index) * stride,
                  (last - first) * stride);
    }
    return packed;
  }

  ElementSpec spec_;
};

// Dimensions of one array, and their strides in bytes, from the outermost on.
struct Layout {
  explicit Layout(tensor::Shape dimensions, std::size_t element) : shape(std::move(dimensions)), strides(shape.size()) {
    std::size_t bytes = element;
    for (std::size_t i = shape.size(); i-- > 0; bytes *= static_cast<std::size_t>(shape[i])) strides[i] = bytes;
  }
  tensor::Shape shape;
  std::vector<std::size_t> strides;
};

// Copies an array into the corner of one that is at least as large.
void copy_corner(const std::byte* from, const Layout& small, std::byte* to, const Layout& large, std::size_t axis,
                 std::size_t element) {
  if (axis == small.shape.size()) {
    std::memcpy(to, from, element);
    return;
  }
  const auto count = static_cast<std::size_t>(small.shape[axis]);
  if (count == 0) return;
  if (small.strides[axis] == large.strides[axis]) {  // all that is within is as large
    std::memcpy(to, from, count * small.strides[axis]);
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    copy_corner(from + i * small.strides[axis], small, to + i * large.strides[axis], large, axis + 1, element);
}

class PaddedPacking final : public Packing {
 public:
  PaddedPacking(ElementSpec input, std::vector<PaddedField> fields)
      : spec_(std::move(input)), fields_(std::move(fields)) {}
  Result<BlockPtr> pack(const std::vector<Row>& rows) const override {
    auto block = std::make_shared<Block>();
    for (std::size_t field = 0; field < spec_.size(); ++field)
      block->columns.push_back(TFD_TRY(pack_field(rows, field)));
    return block;
  }

 private:
  static tensor::Shape row_shape(const Row& row, std::size_t field) {
    const tensor::Shape& shape = row.block->columns[field].shape();
    return {shape.begin() + 1, shape.end()};
  }

  Result<tensor::Shape> padded_shape(const std::vector<Row>& rows, std::size_t field) const {
    tensor::Shape shape = fields_[field].shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto size_of = [&](const Row& row) { return row.block->columns[field].shape()[axis + 1]; };
      const auto largest = std::ranges::max_element(rows, {}, size_of);
      if (shape[axis] == -1) shape[axis] = size_of(*largest);
      if (shape[axis] < size_of(*largest))
        return fail(Code::kInvalidArgument, "row {}: field '{}' has {} in dimension {}, more than {}",
                    largest - rows.begin(), spec_[field].name, size_of(*largest), axis, shape[axis]);
    }
    return shape;
  }

  Result<tensor::Tensor> pack_field(const std::vector<Row>& rows, std::size_t field) const {
    const tensor::DType dtype = spec_[field].dtype;
    const std::size_t element = dtype_size(dtype);
    const tensor::Shape shape = TFD_TRY(padded_shape(rows, field));
    TFD_TRY(tensor::checked_byte_size(dtype, packed_shape(rows.size(), shape)));
    tensor::Tensor packed = tensor::Tensor::uninitialized(dtype, packed_shape(rows.size(), shape));
    std::byte* to = packed.mutable_data();
    const std::size_t stride = packed.byte_size() / rows.size();
    fill(packed.byte_size(), to, fields_[field].value);
    const Layout large(shape, element);
    for (const Row& row : rows) {
      const Layout small(row_shape(row, field), element);
      const tensor::Tensor& column = row.block->columns[field];
      const std::size_t bytes = column.byte_size() / static_cast<std::size_t>(column.shape()[0]);
      if (bytes > 0)
        copy_corner(column.data() + static_cast<std::size_t>(row.index) * bytes, small, to, large, 0, element);
      to += stride;
    }
    return packed;
  }

  static void fill(std::size_t bytes, std::byte* to, const tensor::Tensor& value) {
    const std::size_t element = value.byte_size();
    const bool is_zero = std::ranges::all_of(value.bytes(), [](std::byte b) { return b == std::byte{0}; });
    if (is_zero) std::memset(to, 0, bytes);
    for (std::size_t at = 0; !is_zero && at < bytes; at += element) std::memcpy(to + at, value.data(), element);
  }

  ElementSpec spec_;
  std::vector<PaddedField> fields_;
};

}  // namespace

PackingPtr make_plain_packing(ElementSpec input) { return std::make_shared<PlainPacking>(std::move(input)); }

PackingPtr make_padded_packing(ElementSpec input, std::vector<PaddedField> fields) {
  return std::make_shared<PaddedPacking>(std::move(input), std::move(fields));
}

}  // namespace tfd::data
