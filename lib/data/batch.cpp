// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "transformations.hpp"

namespace tfd::data {
namespace {

class BatchStream final : public RowStream {
 public:
  BatchStream(RowStreamPtr input, PackingPtr packing, std::size_t size, bool drop_remainder)
      : input_(std::move(input)), packing_(std::move(packing)), size_(size), drop_remainder_(drop_remainder) {}

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
    BlockPtr block = TFD_TRY(packing_->pack(rows_));
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
  RowStreamPtr input_;
  PackingPtr packing_;
  std::size_t size_;
  bool drop_remainder_;
  std::vector<Row> rows_;
  bool at_end_ = false;
};

class BatchDataset final : public RowDataset {
 public:
  BatchDataset(RowDatasetPtr input, ElementSpec spec, PackingPtr packing, std::int64_t size, bool drop_remainder)
      : RowDataset(std::move(spec)),
        input_(std::move(input)),
        packing_(std::move(packing)),
        size_(size),
        drop_remainder_(drop_remainder) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<BatchStream>(TFD_TRY(input_->rows(order)), packing_, static_cast<std::size_t>(size_),
                                         drop_remainder_);
  }
  std::optional<std::int64_t> cardinality() const override {
    const auto count = input_->cardinality();
    if (!count || *count == kInfinite) return count;
    return *count / size_ + (!drop_remainder_ && *count % size_ != 0 ? 1 : 0);
  }

 private:
  RowDatasetPtr input_;
  PackingPtr packing_;
  std::int64_t size_;
  bool drop_remainder_;
};

ElementSpec batched(ElementSpec spec, std::int64_t size, bool drop_remainder) {
  for (FieldSpec& field : spec) field.shape.insert(field.shape.begin(), drop_remainder ? size : -1);
  return spec;
}

}  // namespace

RowDatasetPtr make_batch(RowDatasetPtr input, const Batch& batch) {
  const ElementSpec& spec = input->spec();
  PackingPtr packing = make_plain_packing(spec);
  return std::make_shared<BatchDataset>(std::move(input), batched(spec, batch.size, batch.drop_remainder),
                                        std::move(packing), batch.size, batch.drop_remainder);
}

RowDatasetPtr make_padded_batch(RowDatasetPtr input, const PaddedBatch& batch, std::vector<PaddedField> fields) {
  ElementSpec spec = input->spec();
  PackingPtr packing = make_padded_packing(spec, fields);
  for (std::size_t i = 0; i < spec.size(); ++i) spec[i].shape = std::move(fields[i].shape);
  return std::make_shared<BatchDataset>(std::move(input), batched(std::move(spec), batch.size, batch.drop_remainder),
                                        std::move(packing), batch.size, batch.drop_remainder);
}

}  // namespace tfd::data
