// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "transformations.hpp"

namespace tfd::data {
namespace {

// What is the same of batches of all kinds.
struct Batching {
  std::int64_t size = 1;
  bool drop_remainder = false;
  bool has_mask = false;  // and so is filled up
};

class BatchStream final : public RowStream {
 public:
  BatchStream(RowStreamPtr input, PackingPtr packing, const Batching& batching)
      : input_(std::move(input)),
        packing_(std::move(packing)),
        size_(static_cast<std::size_t>(batching.size)),
        drop_remainder_(batching.drop_remainder),
        has_mask_(batching.has_mask) {}

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
    const std::size_t real = rows_.size();
    if (has_mask_) rows_.resize(size_, rows_.back());
    BlockPtr block = TFD_TRY(packing_->pack(rows_), fmt::format("padded_batch: batch {}", batches_));
    rows_.clear();
    ++batches_;
    if (has_mask_) block = with_mask(*block, real);
    return Row{std::move(block), 0};
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    std::int64_t done = 0;
    if (!rows_.empty() && count > 0) {  // left by an error, which comes again
      if (!TFD_TRY(next())) return 0;
      --batches_;  // counted below
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
    batches_ += done;
    return done;
  }

 private:
  BlockPtr with_mask(const Block& packed, std::size_t real) const {
    auto block = std::make_shared<Block>(packed);
    tensor::Tensor mask = tensor::Tensor::zeros(tensor::DType::kF32, {1, static_cast<std::int64_t>(size_)});
    std::fill_n(mask.mutable_as<float>(), real, 1.0F);
    block->columns.push_back(std::move(mask));
    return block;
  }

  RowStreamPtr input_;
  PackingPtr packing_;
  std::size_t size_;
  bool drop_remainder_;
  bool has_mask_;
  std::vector<Row> rows_;
  std::int64_t batches_ = 0;  // how many are made, or passed over
  bool at_end_ = false;
};

class BatchDataset final : public RowDataset {
 public:
  BatchDataset(RowDatasetPtr input, ElementSpec spec, PackingPtr packing, const Batching& batching)
      : RowDataset(std::move(spec)), input_(std::move(input)), packing_(std::move(packing)), batching_(batching) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<BatchStream>(TFD_TRY(input_->rows(order)), packing_, batching_);
  }
  std::optional<std::int64_t> cardinality() const override {
    const auto count = input_->cardinality();
    if (!count || *count == kInfinite) return count;
    return *count / batching_.size + (!batching_.drop_remainder && *count % batching_.size != 0 ? 1 : 0);
  }

 private:
  RowDatasetPtr input_;
  PackingPtr packing_;
  Batching batching_;
};

// `batch`: a Batch or a PaddedBatch.
template <class Stated>
RowDatasetPtr make_batches(RowDatasetPtr input, ElementSpec spec, PackingPtr packing, const Stated& batch) {
  const bool is_full = batch.drop_remainder || batch.mask;
  for (FieldSpec& field : spec) field.shape.insert(field.shape.begin(), is_full ? batch.size : -1);
  if (batch.mask)
    spec.push_back({.name = *batch.mask, .dtype = tensor::DType::kF32, .shape = {batch.size}, .is_mask = true});
  return std::make_shared<BatchDataset>(std::move(input), std::move(spec), std::move(packing),
                                        Batching{batch.size, batch.drop_remainder, batch.mask.has_value()});
}

}  // namespace

RowDatasetPtr make_batch(RowDatasetPtr input, const Batch& batch) {
  ElementSpec spec = input->spec();
  PackingPtr packing = make_plain_packing(spec);
  return make_batches(std::move(input), std::move(spec), std::move(packing), batch);
}

RowDatasetPtr make_padded_batch(RowDatasetPtr input, const PaddedBatch& batch, std::vector<PaddedField> fields) {
  ElementSpec spec = input->spec();
  PackingPtr packing = make_padded_packing(spec, fields);
  for (std::size_t i = 0; i < spec.size(); ++i) spec[i].shape = std::move(fields[i].shape);
  return make_batches(std::move(input), std::move(spec), std::move(packing), batch);
}

}  // namespace tfd::data
