// SPDX-License-Identifier: Apache-2.0
//
// Batches of other sizes: cut and joined (rebatch), or each cut on its own (legacy_rebatch).
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "../plan/stage_kinds.hpp"
#include "packing.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

// A batch without rows; other dimensions that vary are 0 too.
BlockPtr empty_batch(const ElementSpec& spec) {
  Element element;
  for (const FieldSpec& field : spec) {
    tensor::Shape shape = field.shape;
    std::ranges::replace(shape, -1, 0);
    shape[0] = 0;
    element.push_back(tensor::Tensor::zeros(field.dtype, std::move(shape)));
  }
  return to_block(std::move(element));
}

class RebatchStream final : public RowStream {
 public:
  /// `rows`: of the batches, one by one.
  RebatchStream(RowStreamPtr rows, PackingPtr packing, Rebatch rebatch, BlockPtr empty)
      : input_(std::move(rows)), packing_(std::move(packing)), rebatch_(std::move(rebatch)), empty_(std::move(empty)) {}

  Result<std::optional<Row>> next() override {
    if (at_end_) return std::optional<Row>();
    const std::int64_t size = rebatch_.sizes[turn_];
    while (std::ssize(rows_) < size) {  // rows that an error interrupted stay: it comes again
      std::optional<Row> row = TFD_TRY(input_->next());
      if (!row) break;
      rows_.push_back(std::move(*row));
    }
    if (!end_turn(std::ssize(rows_))) return std::optional<Row>();
    if (size == 0) return Row{empty_, 0};
    BlockPtr block = TFD_TRY(packing_->pack(rows_));
    rows_.clear();
    return Row{std::move(block), 0};
  }

  Result<std::int64_t> skip(std::int64_t count) override {
    std::int64_t done = 0;
    for (; done < count && !at_end_; ++done) {
      const std::int64_t left = rebatch_.sizes[turn_] - std::ssize(rows_);
      const std::int64_t rows = std::ssize(rows_) + (left > 0 ? TFD_TRY(input_->skip(left)) : 0);
      rows_.clear();
      if (!end_turn(rows)) break;
    }
    return done;
  }

 private:
  // Whether a batch of `rows` rows follows. A short one is the last.
  bool end_turn(std::int64_t rows) {
    const std::int64_t size = rebatch_.sizes[turn_];
    turn_ = (turn_ + 1) % rebatch_.sizes.size();
    at_end_ = rows < size;
    return !at_end_ || (rows > 0 && !rebatch_.drop_remainder);
  }

  RowStreamPtr input_;
  PackingPtr packing_;
  Rebatch rebatch_;
  BlockPtr empty_;
  std::vector<Row> rows_;
  std::size_t turn_ = 0;
  bool at_end_ = false;
};

// The first dimension, where all batches have it; -1 where they may differ.
std::int64_t common_size(const Rebatch& rebatch, const ElementSpec& input) {
  const std::int64_t size = rebatch.sizes.front();
  const auto is_known = [](const FieldSpec& field) { return field.shape.front() != -1; };
  const auto known = std::ranges::find_if(input, is_known);
  const bool no_short_one = rebatch.drop_remainder || (known != input.end() && size > 0 && known->shape[0] % size == 0);
  return no_short_one && std::ranges::count(rebatch.sizes, size) == std::ssize(rebatch.sizes) ? size : -1;
}

ElementSpec rebatched(ElementSpec spec, std::int64_t size) {
  for (FieldSpec& field : spec) field.shape.front() = size;
  return spec;
}

class RebatchDataset final : public RowDataset {
 public:
  RebatchDataset(const ElementSpec& input, RowDatasetPtr rows, Rebatch rebatch)
      : RowDataset(rebatched(input, common_size(rebatch, input))),
        rows_(std::move(rows)),
        packing_(make_packing(rows_->spec())),
        rebatch_(std::move(rebatch)),
        empty_(empty_batch(spec())) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<RebatchStream>(TFD_TRY(rows_->rows(order)), packing_, rebatch_, empty_);
  }
  std::optional<std::int64_t> cardinality() const override {
    const auto rows = rows_->cardinality();
    return rows == kInfinite ? rows : std::nullopt;
  }

 private:
  // Batches that were padded to sizes of their own are padded to one.
  static PackingPtr make_packing(const ElementSpec& row) {
    if (std::ranges::none_of(row, varies)) return make_plain_packing(row);
    std::vector<PaddedField> fields;
    for (const FieldSpec& field : row) fields.push_back({field.shape, tensor::Tensor::zeros(field.dtype, {})});
    return make_padded_packing(row, std::move(fields));
  }

  RowDatasetPtr rows_;
  PackingPtr packing_;
  Rebatch rebatch_;
  BlockPtr empty_;
};

class LegacyRebatchStream final : public RowStream {
 public:
  LegacyRebatchStream(RowStreamPtr input, std::int64_t pieces)
      : input_(std::move(input)), pieces_(pieces), done_(pieces) {}
  Result<std::optional<Row>> next() override {
    if (done_ == pieces_) {
      const std::optional<Row> batch = TFD_TRY(input_->next());
      if (!batch) return std::optional<Row>();
      batch_ = to_element(*batch);
      done_ = 0;
    }
    Element piece;
    for (const tensor::Tensor& field : batch_) {
      const std::int64_t rows = field.shape()[0];
      const std::int64_t each = rows / pieces_ + (rows % pieces_ != 0 ? 1 : 0);
      const std::int64_t first = each == 0 || done_ > rows / each ? rows : std::min(done_ * each, rows);
      piece.push_back(field.slice_rows(first, std::min(each, rows - first)));
    }
    ++done_;
    return Row{to_block(std::move(piece)), 0};
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    std::int64_t skipped = std::min(count, pieces_ - done_);
    done_ += skipped;
    skipped += TFD_TRY(input_->skip((count - skipped) / pieces_)) * pieces_;
    return skipped + (count - skipped < pieces_ ? TFD_TRY(RowStream::skip(count - skipped)) : 0);
  }

 private:
  RowStreamPtr input_;
  std::int64_t pieces_;
  std::int64_t done_;  // of this batch
  Element batch_;
};

class LegacyRebatchDataset final : public RowDataset {
 public:
  LegacyRebatchDataset(RowDatasetPtr input, std::int64_t pieces)
      : RowDataset(cut(input->spec(), pieces)), input_(std::move(input)), pieces_(pieces) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<LegacyRebatchStream>(TFD_TRY(input_->rows(order)), pieces_);
  }
  std::optional<std::int64_t> cardinality() const override {
    const auto batches = input_->cardinality();
    if (!batches || *batches == kInfinite) return batches;
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    return *batches > kMost / pieces_ ? kMost : *batches * pieces_;
  }

 private:
  static ElementSpec cut(ElementSpec spec, std::int64_t pieces) {
    for (FieldSpec& field : spec) {
      const std::int64_t rows = field.shape.front();
      field.shape.front() = rows != -1 && rows % pieces == 0 ? rows / pieces : -1;
    }
    return spec;
  }

  RowDatasetPtr input_;
  std::int64_t pieces_;
};

Result<Rebatch> read_rebatch(const StatedStage& stage) {
  const bool is_short = stage.value.is_number() || stage.value.is_array();
  const ordered_json value = is_short ? ordered_json{{"sizes", stage.value}} : stage.value;
  JsonObject options(value, stage.path);
  Rebatch rebatch;
  if (const ordered_json* stated = options.required("sizes")) {
    const ordered_json sizes = stated->is_array() ? *stated : ordered_json::array({*stated});
    for (const ordered_json& size : sizes)
      if (const auto number = integer_of(size); number && *number >= 0) rebatch.sizes.push_back(*number);
    if (rebatch.sizes.size() != sizes.size() || std::ranges::all_of(rebatch.sizes, [](auto size) { return size == 0; }))
      options.note("sizes", "must be a list of sizes, at least one of which is positive");
  }
  rebatch.drop_remainder = options.flag("drop_remainder", false);
  TFD_TRY(options.finish());
  return rebatch;
}

ordered_json write_rebatch(const Rebatch& rebatch) {
  ordered_json out = {{"sizes", rebatch.sizes}};
  if (rebatch.drop_remainder) out["drop_remainder"] = true;
  return out;
}

Result<RowDatasetPtr> make_rebatch(const Rebatch& rebatch, const StageSite& site) {
  TFD_TRY(check_rows(site));
  return std::make_shared<RebatchDataset>(site.input->spec(), make_unbatch(site.input), rebatch);
}

Result<LegacyRebatch> read_legacy_rebatch(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "pieces");
  JsonObject options(value, stage.path);
  const LegacyRebatch rebatch{options.required_integer("pieces", 1)};
  TFD_TRY(options.finish());
  return rebatch;
}

ordered_json write_legacy_rebatch(const LegacyRebatch& rebatch) { return {{"pieces", rebatch.pieces}}; }

Result<RowDatasetPtr> make_legacy_rebatch(const LegacyRebatch& rebatch, const StageSite& site) {
  TFD_TRY(check_batched(site));
  return std::make_shared<LegacyRebatchDataset>(site.input, rebatch.pieces);
}

}  // namespace

const StageKind<Rebatch>& kind_of(Tag<Rebatch>) {
  static constexpr StageKind<Rebatch> kKind{
      .name = "rebatch",
      .read = read_rebatch,
      .write = write_rebatch,
      .make = make_rebatch,
  };
  return kKind;
}

const StageKind<LegacyRebatch>& kind_of(Tag<LegacyRebatch>) {
  static constexpr StageKind<LegacyRebatch> kKind{
      .name = "legacy_rebatch",
      .read = read_legacy_rebatch,
      .write = write_legacy_rebatch,
      .make = make_legacy_rebatch,
  };
  return kKind;
}

}  // namespace tfd::data
