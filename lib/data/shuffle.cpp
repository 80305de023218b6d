// SPDX-License-Identifier: Apache-2.0
//
// tf.data's shuffle: a buffer, from which a uniform pick goes out and is replaced by the next element of the input.
// The numbers are SplitMix64's, so that the order is a function of the seed on every machine (not TensorFlow's order).
// Source: tensorflow/core/kernels/data/shuffle_dataset_op.cc, 2.21.
#include <random>

#include "transformations.hpp"

namespace tfd::data {
namespace {

__extension__ using Wide = unsigned __int128;

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t pass, std::uint64_t stream)
      : state_(mix_bits(seed + kGolden) ^ mix_bits(pass * 0xD1342543DE82EF95 + 1) ^
               (stream == 0 ? 0 : mix_bits(~stream))) {}
  /// Uniform in [0, bound). Source: Lemire, "Fast random integer generation in an interval", 2019.
  std::uint64_t below(std::uint64_t bound) {
    Wide product = static_cast<Wide>(next()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t threshold = -bound % bound;
      while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<Wide>(next()) * bound;
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

std::uint64_t fresh_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

class ShuffleDataset final : public RowDataset {
 public:
  ShuffleDataset(RowDatasetPtr input, const ShuffleOptions& options)
      : RowDataset(input->spec()), input_(std::move(input)), options_(options) {
    if (!options_.seed && !options_.reshuffle_each_iteration) options_.seed = fresh_seed();
  }
  Result<RowStreamPtr> rows(std::uint64_t pass) const override {
    const Random random(options_.seed ? *options_.seed : fresh_seed(), options_.reshuffle_each_iteration ? pass : 0,
                        options_.stream);
    return std::make_unique<ShuffleStream>(TFD_TRY(input_->rows(pass)), static_cast<std::size_t>(options_.buffer),
                                           random);
  }
  std::optional<std::int64_t> cardinality() const override { return input_->cardinality(); }

 private:
  RowDatasetPtr input_;
  ShuffleOptions options_;
};

}  // namespace

RowDatasetPtr make_shuffle(RowDatasetPtr input, const ShuffleOptions& options) {
  return std::make_shared<ShuffleDataset>(std::move(input), options);
}

}  // namespace tfd::data
