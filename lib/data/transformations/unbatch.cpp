// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "../plan/stage_kinds.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

// The rows of a batch lie behind one another: a batch is a block.
Result<BlockPtr> rows_of_batch(const Row& batch, const ElementSpec& spec) {
  auto block = std::make_shared<Block>();
  for (const tensor::Tensor& column : batch.block->columns) {
    tensor::Shape shape(column.shape().begin() + 1, column.shape().end());
    block->columns.push_back(column.slice_rows(batch.index, 1).reshaped(std::move(shape)));
    const std::int64_t rows = block->columns.back().shape()[0];
    if (rows != block->columns.front().shape()[0])
      return fail(Code::kInvalidArgument, "unbatch: field '{}' has {} rows, but '{}' has {}",
                  spec[block->columns.size() - 1].name, rows, spec.front().name, block->columns.front().shape()[0]);
  }
  return block;
}

class UnbatchStream final : public RowStream {
 public:
  UnbatchStream(RowStreamPtr input, ElementSpec spec, std::optional<std::int64_t> each)
      : input_(std::move(input)), spec_(std::move(spec)), each_(each) {}
  Result<std::optional<Row>> next() override {
    while (left() == 0)
      if (each_ == 0 || !TFD_TRY(begin_batch())) return std::optional<Row>();
    return Row{block_, index_++};
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    std::int64_t done = std::min(count, left());
    index_ += done;
    if (each_ && *each_ > 0) {
      const std::int64_t batches = (count - done) / *each_;
      done += TFD_TRY(input_->skip(batches)) * *each_;
    }
    while (done < count) {
      if (left() == 0 && (each_ == 0 || !TFD_TRY(begin_batch()))) break;
      const std::int64_t some = std::min(count - done, left());
      index_ += some;
      done += some;
    }
    return done;
  }

 private:
  std::int64_t left() const { return block_ ? block_->columns.front().shape()[0] - index_ : 0; }
  Result<bool> begin_batch() {
    const std::optional<Row> batch = TFD_TRY(input_->next());
    if (!batch) return false;
    block_ = TFD_TRY(rows_of_batch(*batch, spec_));
    index_ = 0;
    return true;
  }

  RowStreamPtr input_;
  ElementSpec spec_;
  std::optional<std::int64_t> each_;  // rows of a batch, where all have the same
  BlockPtr block_;
  std::int64_t index_ = 0;
};

ElementSpec unbatched(ElementSpec spec) {
  for (FieldSpec& field : spec) field.shape.erase(field.shape.begin());
  return spec;
}

class UnbatchDataset final : public RowDataset {
 public:
  explicit UnbatchDataset(RowDatasetPtr input) : RowDataset(unbatched(input->spec())), input_(std::move(input)) {
    const bool all_known =
        std::ranges::none_of(input_->spec(), [](const FieldSpec& field) { return field.shape.front() == -1; });
    if (all_known) each_ = input_->spec().front().shape.front();
  }
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<UnbatchStream>(TFD_TRY(input_->rows(order)), spec(), each_);
  }
  std::optional<std::int64_t> cardinality() const override {
    const auto batches = input_->cardinality();
    if (batches == 0 || each_ == 0) return 0;
    if (!batches || *batches == kInfinite) return batches;
    if (!each_) return std::nullopt;
    return *batches > std::numeric_limits<std::int64_t>::max() / *each_ ? std::numeric_limits<std::int64_t>::max()
                                                                        : *batches * *each_;
  }

 private:
  RowDatasetPtr input_;
  std::optional<std::int64_t> each_;
};

Result<Unbatch> read_unbatch(const StatedStage& stage) {
  TFD_TRY(JsonObject(stage.value, stage.path).finish());
  return Unbatch{};
}

ordered_json write_unbatch(const Unbatch&) { return ordered_json::object(); }

Result<RowDatasetPtr> make_checked_unbatch(const Unbatch&, const StageSite& site) {
  TFD_TRY(check_rows(site));
  return make_unbatch(site.input);
}

}  // namespace

RowDatasetPtr make_unbatch(RowDatasetPtr input) { return std::make_shared<UnbatchDataset>(std::move(input)); }

const StageKind<Unbatch>& kind_of(Tag<Unbatch>) {
  static constexpr StageKind<Unbatch> kKind{
      .name = "unbatch",
      .read = read_unbatch,
      .write = write_unbatch,
      .make = make_checked_unbatch,
  };
  return kKind;
}

}  // namespace tfd::data
