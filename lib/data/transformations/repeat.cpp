// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "../plan/stage_kinds.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

__extension__ using Wide = __int128;

// The passes of the first repeat are 0, 1, …; those of a repeat within another one's pass are numbers of their own.
std::uint64_t pass_within(std::uint64_t outer, std::uint64_t inner) {
  return outer == 0 ? inner : mix_bits(outer) + inner;
}

class RepeatStream final : public RowStream {
 public:
  RepeatStream(RowDatasetPtr input, std::optional<std::int64_t> count, bool varies, const Order& outer)
      : input_(std::move(input)), count_(count), varies_(varies), outer_(outer) {}
  Result<std::optional<Row>> next() override {
    while (!at_end_) {
      if (!current_ && !TFD_TRY(begin_pass())) break;
      std::optional<Row> row = TFD_TRY(current_->next());
      if (row) {
        is_empty_ = false;
        return row;
      }
      if (ends_here()) break;
      current_ = nullptr;
      ++pass_;
    }
    at_end_ = true;
    return std::optional<Row>();
  }
  /// Whole passes aren't read where it is known how long they are, as after the first one.
  Result<std::int64_t> skip(std::int64_t count) override {
    std::int64_t each = std::max<std::int64_t>(input_->cardinality().value_or(0), 0);  // rows of a pass; 0: not known
    std::int64_t done = 0;
    while (done < count && !at_end_) {
      const bool is_whole = !current_;
      if (!current_ && each > 0) {
        const std::int64_t passes = std::min((count - done) / each, passes_left());
        pass_ += static_cast<std::uint64_t>(passes);
        done += passes * each;
        if (done == count) break;
      }
      if (!current_ && !TFD_TRY(begin_pass())) break;
      const std::int64_t rows = TFD_TRY(current_->skip(count - done));
      is_empty_ = is_empty_ && rows == 0;
      done += rows;
      if (done == count) break;
      if (ends_here()) break;
      if (is_whole && !varies_) each = rows;
      current_ = nullptr;
      ++pass_;
    }
    at_end_ = at_end_ || done < count;
    return done;
  }

 private:
  /// An endless repeat of nothing is nothing.
  bool ends_here() const { return is_empty_ && (!varies_ || !count_); }
  std::int64_t passes_left() const {
    return count_ ? *count_ - static_cast<std::int64_t>(pass_) : std::numeric_limits<std::int64_t>::max();
  }
  /// false: no pass is left.
  Result<bool> begin_pass() {
    if (passes_left() <= 0) return false;
    Order order = outer_;
    order.pass = pass_within(outer_.pass, pass_);
    current_ = TFD_TRY(input_->rows(order));
    is_empty_ = true;
    return true;
  }

  RowDatasetPtr input_;
  std::optional<std::int64_t> count_;
  bool varies_;
  Order outer_;
  std::uint64_t pass_ = 0;
  RowStreamPtr current_;
  bool is_empty_ = true;  // the current pass, so far
  bool at_end_ = false;
};

class RepeatDataset final : public RowDataset {
 public:
  RepeatDataset(RowDatasetPtr input, std::optional<std::int64_t> count, bool varies)
      : RowDataset(input->spec()), input_(std::move(input)), count_(count), varies_(varies) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<RepeatStream>(input_, count_, varies_, order);
  }
  std::optional<std::int64_t> cardinality() const override {
    if (count_ == 0) return 0;
    const auto each = input_->cardinality();
    if (!each || *each == 0) return each;
    if (!count_ || *each == kInfinite) return kInfinite;
    const Wide total = static_cast<Wide>(*each) * *count_;
    return static_cast<std::int64_t>(std::min<Wide>(total, std::numeric_limits<std::int64_t>::max()));
  }

 private:
  RowDatasetPtr input_;
  std::optional<std::int64_t> count_;
  bool varies_;
};

Result<Repeat> read_repeat(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "count");
  JsonObject options(value, stage.path);
  auto count = options.integer("count", -1);  // -1 is endless, as in tf.data
  TFD_TRY(options.finish());
  return Repeat{count == -1 ? std::nullopt : count};
}

ordered_json write_repeat(const Repeat& repeat) {
  return repeat.count ? ordered_json{{"count", *repeat.count}} : ordered_json::object();
}

Result<RowDatasetPtr> make_repeat(const Repeat& repeat, const StageSite& site) {
  return std::make_shared<RepeatDataset>(site.input, repeat.count, counts_by_content(site.before));
}

std::int64_t repeated_cardinality(const Repeat& repeat, std::int64_t input) {
  if (!repeat.count) return input == 0 ? 0 : kInfiniteCardinality;
  return *repeat.count == 0 || is_number(input) ? input * *repeat.count : input;
}

}  // namespace

const StageKind<Repeat>& kind_of(Tag<Repeat>) {
  static constexpr StageKind<Repeat> kKind{
      .name = "repeat",
      .read = read_repeat,
      .write = write_repeat,
      .make = make_repeat,
      .traits = [](const Repeat&) -> StageTraits {
        return {.elements = ElementTrait::kKept, .batches = BatchTrait::kKept};
      },
      .tensorflow_cardinality = repeated_cardinality,
  };
  return kKind;
}

}  // namespace tfd::data
