// SPDX-License-Identifier: Apache-2.0
//
// tf.data's shuffle: a buffer, from which a uniform pick goes out and is replaced by the next element of the input.
// The numbers are SplitMix64's, so that the order is a function of the seed on every machine (not TensorFlow's order).
// Source: tensorflow/core/kernels/data/shuffle_dataset_op.cc, 2.21.
#include <nlohmann/json.hpp>

#include "../plan/stage_kinds.hpp"
#include "tfd/base/random.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

__extension__ using WideProduct = unsigned __int128;

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t pass, std::uint64_t stream)
      : state_(mix_bits(seed + kGolden) ^ mix_bits(pass * 0xD1342543DE82EF95 + 1) ^
               (stream == 0 ? 0 : mix_bits(~stream))) {}
  /// Uniform in [0, bound). Source: Lemire, "Fast random integer generation in an interval", 2019.
  std::uint64_t below(std::uint64_t bound) {
    WideProduct product = static_cast<WideProduct>(next()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t threshold = -bound % bound;
      while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<WideProduct>(next()) * bound;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
  std::uint64_t next() { return mix_bits(state_ += kGolden); }
  std::uint64_t state_;
};

class ShuffleStream final : public RowStream {
 public:
  ShuffleStream(RowStreamPtr input, std::size_t size, Random random)
      : input_(std::move(input)), size_(size), random_(random) {}
  Result<std::optional<Row>> next() override {
    while (!at_end_ && buffer_.size() < size_) {
      std::optional<Row> row = TFD_TRY(input_->next());
      if (row)
        buffer_.push_back(std::move(*row));
      else
        at_end_ = true;
    }
    if (buffer_.empty()) return std::optional<Row>();
    std::swap(buffer_[random_.below(buffer_.size())], buffer_.back());
    std::optional<Row> picked(std::move(buffer_.back()));
    buffer_.pop_back();
    return picked;
  }

 private:
  RowStreamPtr input_;
  std::size_t size_;
  Random random_;
  std::vector<Row> buffer_;
  bool at_end_ = false;
};

class ShuffleDataset final : public RowDataset {
 public:
  ShuffleDataset(RowDatasetPtr input, const Shuffle& options)
      : RowDataset(input->spec()), input_(std::move(input)), options_(options), states_seed_(options.seed.has_value()) {
    if (!options_.seed && !options_.reshuffle_each_iteration) options_.seed = draw_seed();
  }
  Result<RowStreamPtr> rows(const Order& order) const override {
    Order below = order;
    if (below.seeds) {  // other ones: two shuffles in a row aren't to undo or repeat each other
      below.seeds->iteration = mix_bits(below.seeds->iteration + 1);
      below.seeds->dataset = mix_bits(below.seeds->dataset + 1);
    }
    return std::make_unique<ShuffleStream>(TFD_TRY(input_->rows(below)), static_cast<std::size_t>(options_.buffer),
                                           random_of(order));
  }
  std::optional<std::int64_t> cardinality() const override { return input_->cardinality(); }

 private:
  // One that states no seed and doesn't reshuffle has the same order as long as it is there (the constructor drew a
  // seed), but where the order has one for it.
  Random random_of(const Order& order) const {
    const bool reshuffles = options_.reshuffle_each_iteration;
    std::uint64_t seed = 0;
    if (states_seed_)
      seed = *options_.seed;
    else if (order.seeds)
      seed = reshuffles ? order.seeds->iteration : order.seeds->dataset;
    else
      seed = options_.seed ? *options_.seed : draw_seed();
    return {seed, reshuffles ? order.pass : 0, reshuffles ? order.stream : 0};
  }

  RowDatasetPtr input_;
  Shuffle options_;
  bool states_seed_;
};

Result<Shuffle> read_shuffle(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "buffer");
  JsonObject options(value, stage.path);
  Shuffle shuffle;
  shuffle.buffer = options.required_integer("buffer", 1);
  shuffle.seed = options.seed("seed");
  shuffle.reshuffle_each_iteration = options.flag("reshuffle_each_iteration", true);
  TFD_TRY(options.finish());
  return shuffle;
}

ordered_json write_shuffle(const Shuffle& shuffle) {
  ordered_json out = {{"buffer", shuffle.buffer}};
  if (shuffle.seed) out["seed"] = *shuffle.seed;
  if (!shuffle.reshuffle_each_iteration) out["reshuffle_each_iteration"] = false;
  return out;
}

Result<RowDatasetPtr> make_shuffle(const Shuffle& shuffle, const StageSite& site) {
  return std::make_shared<ShuffleDataset>(site.input, shuffle);
}

}  // namespace

std::uint64_t draw_seed() { return random_bits(); }

std::uint64_t shuffle_stream(std::uint64_t reader, std::int64_t first_step, std::uint64_t returns) {
  if (reader == 0 && first_step == 0 && returns == 0) return 0;
  std::uint64_t stream = mix_bits(reader + 1);
  stream = mix_bits(stream ^ static_cast<std::uint64_t>(first_step));
  return mix_bits(stream ^ (returns << 32)) | 1;  // never 0
}

const StageKind<Shuffle>& kind_of(Tag<Shuffle>) {
  static constexpr StageKind<Shuffle> kKind{
      .name = "shuffle",
      .read = read_shuffle,
      .write = write_shuffle,
      .make = make_shuffle,
      .traits = [](const Shuffle&) -> StageTraits {
        return {.elements = ElementTrait::kKept, .batches = BatchTrait::kKept};
      },
      .tensorflow_cardinality = same_cardinality,
  };
  return kKind;
}

}  // namespace tfd::data
