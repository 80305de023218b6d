// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sources.hpp"

namespace tfd::data {
namespace {

constexpr std::int64_t kBlockRows = 4096;
__extension__ using Wide = __int128;

class RangeStream final : public RowStream {
 public:
  RangeStream(std::int64_t start, std::int64_t step, std::uint64_t count)
      : value_(static_cast<std::uint64_t>(start)), step_(static_cast<std::uint64_t>(step)), left_(count) {}
  Result<std::optional<Row>> next() override {
    if (!block_ || index_ == block_->columns.front().shape()[0]) {
      if (left_ == 0) return std::optional<Row>();
      fill();
    }
    return Row{block_, index_++};
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    const std::int64_t there = block_ ? block_->columns.front().shape()[0] - index_ : 0;
    if (count < there) {
      index_ += count;
      return count;
    }
    const auto beyond = std::min(static_cast<std::uint64_t>(count - there), left_);
    block_ = nullptr;
    value_ += beyond * step_;
    left_ -= beyond;
    return there + static_cast<std::int64_t>(beyond);
  }

 private:
  void fill() {
    const auto rows = static_cast<std::int64_t>(std::min<std::uint64_t>(left_, kBlockRows));
    tensor::Tensor values = tensor::Tensor::uninitialized(tensor::DType::kS64, {rows});
    std::uint64_t* to = values.mutable_as<std::uint64_t>();
    for (std::int64_t i = 0; i < rows; ++i, value_ += step_) to[i] = value_;
    left_ -= static_cast<std::uint64_t>(rows);
    auto block = std::make_shared<Block>();
    block->columns.push_back(std::move(values));
    block_ = std::move(block);
    index_ = 0;
  }
  std::uint64_t value_, step_;  // unsigned twins, for the step beyond the last may overflow
  std::uint64_t left_;
  BlockPtr block_;
  std::int64_t index_ = 0;
};

class RangeDataset final : public RowDataset {
 public:
  explicit RangeDataset(const RangeSource& range)
      : RowDataset({{"value", tensor::DType::kS64, {}}}), start_(range.start), step_(range.step) {
    const Wide distance = static_cast<Wide>(range.stop) - start_;
    const Wide magnitude = step_ > 0 ? static_cast<Wide>(step_) : -static_cast<Wide>(step_);
    const Wide way = step_ > 0 ? distance : -distance;
    count_ = way > 0 ? static_cast<std::uint64_t>((way + magnitude - 1) / magnitude) : 0;
  }
  Result<RowStreamPtr> rows(const Order&) const override {
    return std::make_unique<RangeStream>(start_, step_, count_);
  }
  std::optional<std::int64_t> cardinality() const override {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(count_, INT64_MAX));
  }

 private:
  std::int64_t start_, step_;
  std::uint64_t count_ = 0;
};

}  // namespace

RowDatasetPtr make_range(const RangeSource& range) { return std::make_shared<RangeDataset>(range); }

}  // namespace tfd::data
