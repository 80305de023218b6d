// SPDX-License-Identifier: Apache-2.0
#include "row.hpp"

namespace tfd::data {
namespace {

class RowIterator final : public Iterator {
 public:
  explicit RowIterator(RowStreamPtr rows) : rows_(std::move(rows)) {}
  Result<std::optional<Element>> next() override {
    const std::optional<Row> row = TFD_TRY(rows_->next());
    if (!row) return std::optional<Element>();
    return to_element(*row);
  }

 private:
  RowStreamPtr rows_;
};

/// A dataset that isn't of this room's making, as a stream of rows.
class ForeignDataset final : public RowDataset {
 public:
  explicit ForeignDataset(std::shared_ptr<const Dataset> input) : RowDataset(input->spec()), input_(std::move(input)) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<Stream>(TFD_TRY(input_->iterate(order)));
  }
  std::optional<std::int64_t> cardinality() const override { return input_->cardinality(); }

 private:
  class Stream final : public RowStream {
   public:
    explicit Stream(std::unique_ptr<Iterator> input) : input_(std::move(input)) {}
    Result<std::optional<Row>> next() override {
      std::optional<Element> element = TFD_TRY(input_->next());
      if (!element) return std::optional<Row>();
      return Row{to_block(std::move(*element)), 0};
    }

   private:
    std::unique_ptr<Iterator> input_;
  };
  std::shared_ptr<const Dataset> input_;  // shared with whoever made it
};

}  // namespace

RowDatasetPtr as_rows(std::shared_ptr<const Dataset> dataset) {
  auto rows = std::dynamic_pointer_cast<const RowDataset>(dataset);
  return rows ? rows : std::make_shared<ForeignDataset>(std::move(dataset));
}

Result<std::unique_ptr<Iterator>> RowDataset::iterate(const Order& order) const {
  return std::make_unique<RowIterator>(TFD_TRY(rows(order)));
}

Element to_element(const Row& row) {
  Element element;
  element.reserve(row.block->columns.size());
  for (const tensor::Tensor& column : row.block->columns) {
    tensor::Shape shape(column.shape().begin() + 1, column.shape().end());
    element.push_back(column.slice_rows(row.index, 1).reshaped(std::move(shape)));
  }
  return element;
}

BlockPtr to_block(Element element) {
  auto block = std::make_shared<Block>();
  block->columns.reserve(element.size());
  for (const tensor::Tensor& field : element) {
    tensor::Shape shape{1};
    shape.insert(shape.end(), field.shape().begin(), field.shape().end());
    block->columns.push_back(field.reshaped(std::move(shape)));
  }
  return block;
}

std::size_t row_bytes(const FieldSpec& field) {
  return static_cast<std::size_t>(tensor::element_count(field.shape)) * dtype_size(field.dtype);
}

std::string format_field(const FieldSpec& field) {
  return fmt::format("{}{}", dtype_name(field.dtype), tensor::format_shape(field.shape));
}

}  // namespace tfd::data
