// SPDX-License-Identifier: Apache-2.0
//
// A thread that stays `buffer` elements ahead of the reader. It starts with the first next(), and ends with the stream.
#include <nlohmann/json.hpp>

#include "../in_order.hpp"
#include "../plan/stage_kinds.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

class PrefetchStream final : public RowStream {
 public:
  PrefetchStream(RowStreamPtr input, InputStopPtr stop, std::size_t size, std::size_t low)
      : input_(std::move(input)),
        stop_(std::move(stop)),
        ahead_({.take = [this] { return input_->next(); }, .make = [](Taken&) {}, .is_last = is_end},
               {.items = size, .low = low}) {}
  PrefetchStream(const PrefetchStream&) = delete;
  PrefetchStream& operator=(const PrefetchStream&) = delete;
  ~PrefetchStream() override { stop_->request(); }

  Result<std::optional<Row>> next() override {
    if (end_) return *end_;
    Taken row = ahead_.next();
    if (is_end(row)) end_ = row;
    return row;
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    if (!end_) {
      const auto pass = [this](Taken row) {
        if (is_end(row)) end_ = std::move(row);
        return !end_;
      };
      const auto done = ahead_.skip(count, pass, [this](std::int64_t rest) { return input_->skip(rest); });
      if (!end_ || *end_) return done;
    }
    return *end_ ? Result<std::int64_t>(0) : fail(end_->error());
  }

 private:
  using Taken = Result<std::optional<Row>>;
  static bool is_end(const Taken& row) { return !row || !row->has_value(); }

  RowStreamPtr input_;
  const InputStopPtr stop_;
  std::optional<Taken> end_;  // once there is one
  InOrder<Taken> ahead_;      // last: its thread uses all of the above
};

class PrefetchDataset final : public RowDataset {
 public:
  PrefetchDataset(RowDatasetPtr input, std::size_t buffer, std::size_t low)
      : RowDataset(input->spec()), input_(std::move(input)), buffer_(buffer), low_(low) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    auto stop = std::make_unique<InputStop>(order);
    auto input = TFD_TRY(input_->rows(stop->below(order)));
    return std::make_unique<PrefetchStream>(std::move(input), std::move(stop), buffer_, low_);
  }
  std::optional<std::int64_t> cardinality() const override { return input_->cardinality(); }

 private:
  RowDatasetPtr input_;
  std::size_t buffer_, low_;
};

Result<Prefetch> read_prefetch(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "buffer");
  JsonObject options(value, stage.path);
  const Prefetch prefetch{options.integer("buffer", 1).value_or(2)};
  TFD_TRY(options.finish());
  return prefetch;
}

ordered_json write_prefetch(const Prefetch& prefetch) { return {{"buffer", prefetch.buffer}}; }

}  // namespace

RowDatasetPtr make_prefetch(RowDatasetPtr input, std::size_t buffer, std::size_t low) {
  return std::make_shared<PrefetchDataset>(std::move(input), buffer, low);
}

const StageKind<Prefetch>& kind_of(Tag<Prefetch>) {
  static constexpr StageKind<Prefetch> kKind{
      .name = "prefetch",
      .read = read_prefetch,
      .write = write_prefetch,
      .make = [](const Prefetch& prefetch, const StageSite& site) -> Result<RowDatasetPtr> {
        const auto buffer = static_cast<std::size_t>(prefetch.buffer);
        return make_prefetch(site.input, buffer, buffer - 1);
      },
      .traits = [](const Prefetch&) -> StageTraits {
        return {.elements = ElementTrait::kUntouched, .batches = BatchTrait::kKept};
      },
      .tensorflow_cardinality = same_cardinality,
  };
  return kKind;
}

}  // namespace tfd::data
