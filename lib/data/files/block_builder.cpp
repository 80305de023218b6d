// SPDX-License-Identifier: Apache-2.0
#include "block_builder.hpp"

#include <algorithm>

namespace tfd::data {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::int64_t kMostBlockRows = 65536;

tensor::Shape shape_of(std::int64_t rows, const tensor::Shape& row) {
  tensor::Shape shape{rows};
  shape.insert(shape.end(), row.begin(), row.end());
  return shape;
}

}  // namespace

BlockBuilder::BlockBuilder(const ElementSpec& spec, std::int64_t rows) : spec_(spec) {
  std::size_t bytes = 0;
  bool one_varies = false;
  for (const FieldSpec& field : spec_) {
    strides_.push_back(varies(field) ? 0 : row_bytes(field));
    bytes += strides_.back();
    one_varies = one_varies || varies(field);
  }
  if (!one_varies)
    most_rows_ = std::clamp<std::int64_t>(
        std::min(rows, static_cast<std::int64_t>(kBlockBytes / std::max<std::size_t>(bytes, 1))), 1, kMostBlockRows);
}

void BlockBuilder::begin() {
  for (const FieldSpec& field : spec_) {
    columns_.push_back(varies(field) ? tensor::Tensor()
                                     : tensor::Tensor::uninitialized(field.dtype, shape_of(most_rows_, field.shape)));
    row_.push_back(varies(field) ? nullptr : columns_.back().mutable_data());
  }
}

Result<std::byte*> BlockBuilder::allocate(std::size_t field, std::int64_t length) {
  tensor::Shape shape = shape_of(1, spec_[field].shape);
  shape[1] = length;
  TFD_TRY(tensor::checked_byte_size(spec_[field].dtype, shape));
  columns_[field] = tensor::Tensor::uninitialized(spec_[field].dtype, std::move(shape));
  return columns_[field].mutable_data();
}

void BlockBuilder::commit() {
  ++rows_;
  for (std::size_t i = 0; i < row_.size(); ++i)
    if (row_[i] != nullptr) row_[i] += strides_[i];
}

BlockPtr BlockBuilder::take() {
  if (rows_ == 0) return nullptr;
  auto block = std::make_shared<Block>();
  for (tensor::Tensor& column : columns_)
    block->columns.push_back(column.shape()[0] == rows_ ? std::move(column) : column.slice_rows(0, rows_));
  columns_.clear();
  row_.clear();
  rows_ = 0;
  return block;
}

}  // namespace tfd::data
