// SPDX-License-Identifier: Apache-2.0
//
// tf.data's interleave of datasets that are known beforehand.
// Source: tensorflow/core/kernels/data/interleave_dataset_op.cc, 2.21.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "../plan/stage_kinds.hpp"
#include "combine.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

using InterleavedPtr = std::shared_ptr<const std::vector<RowDatasetPtr>>;  // shared: by the dataset and its streams

class InterleaveStream final : public RowStream {
 public:
  InterleaveStream(InterleavedPtr inputs, std::size_t cycle_length, std::int64_t block_length, const Order& order)
      : inputs_(std::move(inputs)), order_(order), cycle_(cycle_length), block_length_(block_length) {}
  Result<std::optional<Row>> next() override {
    while (TFD_TRY(find_current())) {
      std::optional<Row> row = TFD_TRY(cycle_[at_]->next());
      took(row ? 1 : 0, row.has_value());
      if (row) return row;
    }
    return std::optional<Row>();
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    std::int64_t done = 0;
    while (done < count && TFD_TRY(find_current())) {
      const std::int64_t wanted = std::min(count - done, block_length_ - in_block_);
      const std::int64_t got = TFD_TRY(cycle_[at_]->skip(wanted));
      done += got;
      took(got, got == wanted);
    }
    return done;
  }

 private:
  /// Moves on to a dataset that is open, or opens the next one where the place is free; false once all have ended.
  Result<bool> find_current() {
    while (!cycle_[at_]) {
      if (opened_ < inputs_->size()) {
        cycle_[at_] = TFD_TRY((*inputs_)[opened_]->rows(order_of_input(order_, opened_)));
        ++opened_;
        ++open_;
      } else if (open_ == 0) {
        return false;
      } else {
        advance();
      }
    }
    return true;
  }
  void took(std::int64_t rows, bool goes_on) {
    in_block_ += rows;
    if (!goes_on) {
      cycle_[at_] = nullptr;
      --open_;
    }
    if (!goes_on || in_block_ == block_length_) advance();
  }
  void advance() {
    at_ = (at_ + 1) % cycle_.size();
    in_block_ = 0;
  }

  InterleavedPtr inputs_;
  Order order_;
  std::vector<RowStreamPtr> cycle_;  // null: a place for the next one
  const std::int64_t block_length_;
  std::size_t at_ = 0;         // in the cycle
  std::int64_t in_block_ = 0;  // rows that its turn has had
  std::size_t opened_ = 0, open_ = 0;
};

class InterleaveDataset final : public RowDataset {
 public:
  InterleaveDataset(ElementSpec spec, std::vector<RowDatasetPtr> inputs, const Interleave& interleave)
      : RowDataset(std::move(spec)),
        cycle_length_(std::min<std::size_t>(inputs.size(), static_cast<std::size_t>(interleave.cycle_length.value_or(
                                                               std::numeric_limits<std::int64_t>::max())))),
        block_length_(interleave.block_length),
        together_(make_concatenate(this->spec(), inputs)),
        inputs_(std::make_shared<const std::vector<RowDatasetPtr>>(std::move(inputs))) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<InterleaveStream>(inputs_, cycle_length_, block_length_, order);
  }
  std::optional<std::int64_t> cardinality() const override { return together_->cardinality(); }

 private:
  std::size_t cycle_length_;
  std::int64_t block_length_;
  RowDatasetPtr together_;  // which has as many elements
  InterleavedPtr inputs_;
};

Result<Interleave> read_interleave(const StatedStage& stage) {
  const ordered_json value = stage.value.is_array() ? ordered_json{{"datasets", stage.value}} : stage.value;
  JsonObject options(value, stage.path);
  const ordered_json* datasets = options.required("datasets");
  const auto cycle_length = options.integer("cycle_length", 1);
  const auto block_length = options.integer("block_length", 1);
  TFD_TRY(options.finish());
  return Interleave{TFD_TRY(read_pipelines(*datasets, stage.path + ".datasets", stage.depth)), cycle_length,
                    block_length.value_or(1)};
}

ordered_json write_interleave(const Interleave& interleave) {
  ordered_json out = {{"datasets", write_pipelines(interleave.others)}};
  if (interleave.cycle_length) out["cycle_length"] = *interleave.cycle_length;
  if (interleave.block_length != 1) out["block_length"] = interleave.block_length;
  return out;
}

Result<RowDatasetPtr> make_checked_interleave(const Interleave& interleave, const StageSite& site) {
  auto inputs = TFD_TRY(make_inputs(site, interleave.others, site.path + ".datasets"));
  ElementSpec spec = TFD_TRY(common_spec(inputs), site.path);
  return make_interleave(std::move(spec), std::move(inputs), interleave);
}

}  // namespace

RowDatasetPtr make_interleave(ElementSpec spec, std::vector<RowDatasetPtr> inputs, const Interleave& interleave) {
  return std::make_shared<InterleaveDataset>(std::move(spec), std::move(inputs), interleave);
}

const StageKind<Interleave>& kind_of(Tag<Interleave>) {
  static constexpr StageKind<Interleave> kKind{
      .name = "interleave",
      .read = read_interleave,
      .write = write_interleave,
      .make = make_checked_interleave,
  };
  return kKind;
}

}  // namespace tfd::data
