// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <limits>

#include "transformations.hpp"

namespace tfd::data {
namespace {

class BatchStream final : public RowStream {
 public:
  BatchStream(RowStreamPtr input, const ElementSpec& spec, std::size_t size, bool drop_remainder)
      : input_(std::move(input)), spec_(spec), size_(size), drop_remainder_(drop_remainder) {}

  Result<std::optional<Row>> next() override {
    // Rows that an error interrupted stay for the next call, which gets the error again.
    while (!at_end_ && rows_.size() < size_) {
      std::optional<Row> row = TFD_TRY(input_->next());
      if (row)
        rows_.push_back(std::move(*row));
      else
        at_end_ = true;
    }
    if (rows_.empty() || (drop_remainder_ && rows_.size() < size_)) {
      rows_.clear();
      return std::optional<Row>();
    }
    auto block = std::make_shared<Block>();
    for (std::size_t field = 0; field < spec_.size(); ++field) block->columns.push_back(pack(field));
    rows_.clear();
    return Row{std::move(block), 0};
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    std::int64_t done = 0;
    if (!rows_.empty() && count > 0) {  // left by an error, which comes again
      if (!TFD_TRY(next())) return 0;
      ++done;
    }
    const auto size = static_cast<std::int64_t>(size_);
    // As many batches at a time as their rows can be counted.
    while (done < count && !at_end_) {
      const std::int64_t batches = std::min(count - done, std::numeric_limits<std::int64_t>::max() / size);
      const std::int64_t rows = TFD_TRY(input_->skip(batches * size));
      at_end_ = rows < batches * size;
      done += rows / size + (rows % size != 0 && !drop_remainder_ ? 1 : 0);
    }
    return done;
  }

 private:
  // One field of all rows, as the one row [1, rows, …]. Neighbours in a block are copied at once.
  tensor::Tensor pack(std::size_t field) const {
    tensor::Shape shape{1, static_cast<std::int64_t>(rows_.size())};
    shape.insert(shape.end(), spec_[field].shape.begin(), spec_[field].shape.end());
    tensor::Tensor packed = tensor::Tensor::uninitialized(spec_[field].dtype, std::move(shape));
    std::byte* to = packed.mutable_data();
    const std::size_t stride = row_bytes(spec_[field]);
    for (std::size_t first = 0, last = 1; first < rows_.size(); first = last++) {
      const Row& row = rows_[first];
      while (last < rows_.size() && rows_[last].block == row.block &&
             rows_[last].index == row.index + static_cast<std::int64_t>(last - first))
        ++last;
      const tensor::Tensor& column = row.block->columns[field];
      std::memcpy(to + first * stride, column.data() + static_cast<std::size_t>(row.index) * stride,
                  (last - first) * stride);
    }
    return packed;
  }

  RowStreamPtr input_;
  ElementSpec spec_;  // of the input
  std::size_t size_;
  bool drop_remainder_;
  std::vector<Row> rows_;
  bool at_end_ = false;
};

ElementSpec batched(ElementSpec spec, std::int64_t size) {
  for (FieldSpec& field : spec) field.shape.insert(field.shape.begin(), size);
  return spec;
}

class BatchDataset final : public RowDataset {
 public:
  BatchDataset(RowDatasetPtr input, std::int64_t size, bool drop_remainder)
      : RowDataset(batched(input->spec(), drop_remainder ? size : -1)),
        input_(std::move(input)),
        size_(size),
        drop_remainder_(drop_remainder) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<BatchStream>(TFD_TRY(input_->rows(order)), input_->spec(), static_cast<std::size_t>(size_),
                                         drop_remainder_);
  }
  std::optional<std::int64_t> cardinality() const override {
    const auto count = input_->cardinality();
    if (!count || *count == kInfinite) return count;
    return *count / size_ + (!drop_remainder_ && *count % size_ != 0 ? 1 : 0);
  }

 private:
  RowDatasetPtr input_;
  std::int64_t size_;
  bool drop_remainder_;
};

}  // namespace

RowDatasetPtr make_batch(RowDatasetPtr input, const Batch& batch) {
  return std::make_shared<BatchDataset>(std::move(input), batch.size, batch.drop_remainder);
}

}  // namespace tfd::data
