// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "packing.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

// State shared by batches of all kinds.
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
    // Batches are passed over as many at a time as their rows can be counted in 64 bits.
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

Result<Batch> read_batch(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "size");
  JsonObject options(value, stage.path);
  const Batch batch = read_batching(options);
  TFD_TRY(options.finish());
  return batch;
}

Result<RowDatasetPtr> make_batch(const Batch& batch, const StageSite& site) {
  TFD_TRY(check_packed(site, batch.size));
  TFD_TRY(check_mask(site, batch));
  return make_batches(site.input, site.input->spec(), make_plain_packing(site.input->spec()), batch);
}

}  // namespace

Batch read_batching(JsonObject& options) {
  Batch batch;
  batch.size = options.required_integer("size", 1);
  batch.drop_remainder = options.flag("drop_remainder", false);
  const std::string mask = options.text("mask").value_or("mask");
  if (options.flag("pad_remainder", false)) batch.mask = mask;
  if (batch.mask && batch.drop_remainder) options.note("pad_remainder", "a remainder that is dropped isn't padded");
  if (!batch.mask && options.find("mask") != nullptr) options.note("mask", "needs \"pad_remainder\": true");
  return batch;
}

ordered_json write_batching(const Batch& batch) {
  ordered_json out = {{"size", batch.size}};
  if (batch.drop_remainder) out["drop_remainder"] = true;
  if (batch.mask) out["pad_remainder"] = true;
  if (batch.mask && *batch.mask != "mask") out["mask"] = *batch.mask;
  return out;
}

Result<void> check_mask(const StageSite& site, const Batch& batch) {
  constexpr std::int64_t kMost = 1 << 28;
  if (!batch.mask) return {};
  if (batch.size > kMost) return fail(Code::kInvalidArgument, "{}.size: at most {} are filled up", site.path, kMost);
  return check_new(site, "mask", *batch.mask);
}

RowDatasetPtr make_batches(RowDatasetPtr input, ElementSpec row, PackingPtr packing, const Batch& batch) {
  const bool is_full = batch.drop_remainder || batch.mask;
  for (FieldSpec& field : row) field.shape.insert(field.shape.begin(), is_full ? batch.size : -1);
  if (batch.mask)
    row.push_back({.name = *batch.mask, .dtype = tensor::DType::kF32, .shape = {batch.size}, .is_mask = true});
  return std::make_shared<BatchDataset>(std::move(input), std::move(row), std::move(packing),
                                        Batching{batch.size, batch.drop_remainder, batch.mask.has_value()});
}

std::int64_t batched_cardinality(const Batch& batch, std::int64_t input) {
  return divide_cardinality(input, batch.size, input % batch.size != 0 && !batch.drop_remainder);
}

const StageKind<Batch>& kind_of(Tag<Batch>) {
  static constexpr StageKind<Batch> kKind{
      .name = "batch",
      .read = read_batch,
      .write = write_batching,
      .make = make_batch,
      .traits = [](const Batch& batch) -> StageTraits { return {.batch_size = batch.size}; },
      .tensorflow_cardinality = batched_cardinality,
  };
  return kKind;
}

}  // namespace tfd::data
