// SPDX-License-Identifier: Apache-2.0
//
// take, skip and shard: which elements go on is a matter of their positions alone.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "../files/file_pattern.hpp"
#include "../plan/stage_kinds.hpp"
#include "tfd/base/text.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

struct Selection {
  std::int64_t first = 0;                                        // position of the first one
  std::int64_t stride = 1;                                       // to the next run
  std::int64_t most = std::numeric_limits<std::int64_t>::max();  // how many
  bool require_non_empty = false;                                // Shard's
  std::int64_t width = 1;                                        // of a run

  /// Number of selected elements among the first `positions`, counted from the first one.
  std::int64_t among(std::int64_t positions) const {
    return positions / stride * width + std::min(positions % stride, width);
  }
};

class SelectStream final : public RowStream {
 public:
  SelectStream(RowStreamPtr input, const Selection& selection)
      : input_(std::move(input)), selection_(selection), skip_(selection.first) {}
  Result<std::optional<Row>> next() override {
    if (error_) return fail(*error_);
    if (taken_ == selection_.most) return std::optional<Row>();
    for (; skip_ > 0; --skip_)
      if (!TFD_TRY(input_->next())) return end();
    std::optional<Row> row = TFD_TRY(input_->next());
    if (!row) return end();
    advance(1);
    if (taken_ == 0) TFD_TRY(check_others());
    ++taken_;
    return row;
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    const std::int64_t wanted = std::min(count, selection_.most - taken_);
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (wanted <= 0) return 0;
    if (selection_.require_non_empty && taken_ == 0) return RowStream::skip(count);  // which looks at the others
    if (wanted > (kMost - skip_ - selection_.stride) / selection_.stride) return RowStream::skip(count);
    const std::int64_t last = in_run_ + wanted - 1;
    const std::int64_t through =
        skip_ + last / selection_.width * selection_.stride + last % selection_.width - in_run_ + 1;
    const std::int64_t got = TFD_TRY(input_->skip(through));
    if (got < through) {
      TFD_TRY(end());
      return got > skip_ ? selection_.among(in_run_ + got - skip_) - in_run_ : 0;
    }
    taken_ += wanted;
    advance(wanted);
    return wanted;
  }

 private:
  /// Moves behind `count` elements of the selection.
  void advance(std::int64_t count) {
    in_run_ = (in_run_ + count) % selection_.width;
    skip_ = in_run_ == 0 ? selection_.stride - selection_.width : 0;
  }
  // Looks, after the first element, whether the shards after this one have a first element too: they are among those
  // that are passed over next.
  Result<void> check_others() {
    if (!selection_.require_non_empty) return {};
    const std::int64_t behind = selection_.stride - 1 - selection_.first;
    const std::int64_t others = TFD_TRY(input_->skip(behind));
    skip_ -= others;
    if (others == behind) return {};
    const auto there = static_cast<std::uint64_t>(selection_.first + 1 + others);
    error_ =
        too_few_for(Shard{selection_.stride, selection_.first}, "there is only " + counted(there, "element")).value();
    return fail(*error_);
  }
  Result<std::optional<Row>> end() {
    taken_ = selection_.most;
    return std::optional<Row>();
  }
  RowStreamPtr input_;
  Selection selection_;
  std::int64_t skip_;        // before the next one
  std::int64_t in_run_ = 0;  // number taken of its run
  std::int64_t taken_ = 0;
  std::optional<Error> error_;
};

class SelectDataset final : public RowDataset {
 public:
  SelectDataset(RowDatasetPtr input, const Selection& selection)
      : RowDataset(input->spec()), input_(std::move(input)), selection_(selection) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    RowStreamPtr input;  // take(0) doesn't look at it, as in tf.data
    if (selection_.most > 0) input = TFD_TRY(input_->rows(order));
    return std::make_unique<SelectStream>(std::move(input), selection_);
  }
  std::optional<std::int64_t> cardinality() const override {
    if (selection_.most == 0) return 0;
    const auto count = input_->cardinality();
    if (!count) return count;
    const bool is_limited = selection_.most != std::numeric_limits<std::int64_t>::max();
    if (*count == kInfinite) return is_limited ? selection_.most : kInfinite;
    const std::int64_t left = std::max<std::int64_t>(*count - selection_.first, 0);
    return std::min(selection_.among(left), selection_.most);
  }

 private:
  RowDatasetPtr input_;
  Selection selection_;
};

template <class Counted>
Result<Counted> read_counted(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "count");
  JsonObject options(value, stage.path);
  const Counted counted{options.required_integer("count", 0)};
  TFD_TRY(options.finish());
  return counted;
}

template <class Counted>
ordered_json write_counted(const Counted& counted) {
  return {{"count", counted.count}};
}

Result<RowDatasetPtr> make_take(const Take& take, const StageSite& site) {
  return std::make_shared<SelectDataset>(site.input, Selection{0, 1, take.count});
}

std::int64_t taken_cardinality(const Take& take, std::int64_t input) {
  if (input == kUnknownCardinality) return input;
  return input == kInfiniteCardinality ? take.count : std::min(input, take.count);
}

Result<RowDatasetPtr> make_skip(const Skip& skip, const StageSite& site) {
  return std::make_shared<SelectDataset>(site.input, Selection{skip.count, 1});
}

std::int64_t skipped_cardinality(const Skip& skip, std::int64_t input) {
  return is_number(input) ? std::max<std::int64_t>(0, input - skip.count) : input;
}

Result<Shard> read_shard(const StatedStage& stage) {
  Shard shard;
  if (stage.value == "hint") {
    shard.by_hint = true;
    return shard;
  }
  JsonObject options(stage.value, stage.path);
  shard.count = options.required_integer("count", 1);
  shard.index = options.required_integer("index", 0);
  if (shard.index >= shard.count)
    options.note("index",
                 fmt::format("must be between 0 and {}, for there are {} shards", shard.count - 1, shard.count));
  shard.require_non_empty = options.flag("require_non_empty", false);
  TFD_TRY(options.finish());
  return shard;
}

ordered_json write_shard(const Shard& shard) {
  if (shard.by_hint) return "hint";
  ordered_json out = {{"count", shard.count}, {"index", shard.index}};
  if (shard.require_non_empty) out["require_non_empty"] = true;
  return out;
}

Result<RowDatasetPtr> make_shard(const Shard& shard, const StageSite& site) {
  if (shard.by_hint)
    return fail(
        Code::kFailedPrecondition,
        "{}: a hint (tf.data's SHARD_HINT) is for datasets that are distributed with {{\"options\": {{\"auto_shard\": "
        "\"hint\"}}}}; elsewhere state count and index",
        site.path);
  return std::make_shared<SelectDataset>(site.input, Selection{.first = shard.index,
                                                               .stride = shard.count,
                                                               .require_non_empty = shard.require_non_empty,
                                                               .width = shard.width});
}

// TensorFlow counts a hint as -1 shards.
std::int64_t sharded_cardinality(const Shard& shard, std::int64_t input) {
  const std::int64_t shards = shard.by_hint ? -1 : shard.count, index = shard.by_hint ? -1 : shard.index;
  return divide_cardinality(input, shards, shards == -1 || index < input % shards);
}

constexpr StageTraits kSelects{.elements = ElementTrait::kSelected, .batches = BatchTrait::kKept};

}  // namespace

const StageKind<Take>& kind_of(Tag<Take>) {
  static constexpr StageKind<Take> kKind{
      .name = "take",
      .read = read_counted<Take>,
      .write = write_counted<Take>,
      .make = make_take,
      .traits = [](const Take&) { return kSelects; },
      .tensorflow_cardinality = taken_cardinality,
  };
  return kKind;
}

const StageKind<Skip>& kind_of(Tag<Skip>) {
  static constexpr StageKind<Skip> kKind{
      .name = "skip",
      .read = read_counted<Skip>,
      .write = write_counted<Skip>,
      .make = make_skip,
      .traits = [](const Skip&) { return kSelects; },
      .tensorflow_cardinality = skipped_cardinality,
  };
  return kKind;
}

const StageKind<Shard>& kind_of(Tag<Shard>) {
  static constexpr StageKind<Shard> kKind{
      .name = "shard",
      .read = read_shard,
      .write = write_shard,
      .make = make_shard,
      .traits = [](const Shard&) { return kSelects; },
      .tensorflow_cardinality = sharded_cardinality,
  };
  return kKind;
}

}  // namespace tfd::data
