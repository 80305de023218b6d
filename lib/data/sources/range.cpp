// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "../plan/stage_kinds.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

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

Result<RangeSource> read_range(const StatedStage& stage) {
  std::vector<std::int64_t> numbers;
  const ordered_json list = stage.value.is_array() ? stage.value : ordered_json::array({stage.value});
  for (const ordered_json& value : list)
    if (const auto number = integer_of(value)) numbers.push_back(*number);
  if (numbers.empty() || numbers.size() > 3 || numbers.size() != list.size())
    return fail(Code::kInvalidArgument, "{}: must be STOP, [START, STOP] or [START, STOP, STEP], in whole numbers",
                stage.path);
  if (numbers.size() == 1) numbers.insert(numbers.begin(), 0);
  if (numbers.size() == 2) numbers.push_back(1);
  if (numbers[2] == 0) return fail(Code::kInvalidArgument, "{}: the step must not be 0", stage.path);
  return RangeSource{numbers[0], numbers[1], numbers[2]};
}

ordered_json write_range(const RangeSource& range) { return {range.start, range.stop, range.step}; }

Result<RowDatasetPtr> make_range(const RangeSource& range, const StageSite&) {
  return std::make_shared<RangeDataset>(range);
}

std::int64_t range_cardinality(const RangeSource& range, std::int64_t) {
  const std::int64_t way = range.stop - range.start;
  return std::max<std::int64_t>(0, way / range.step + (way % range.step != 0 ? 1 : 0));
}

}  // namespace

const StageKind<RangeSource>& kind_of(Tag<RangeSource>) {
  static constexpr StageKind<RangeSource> kKind{
      .name = "range",
      .is_source = true,
      .read = read_range,
      .write = write_range,
      .make = make_range,
      .tensorflow_cardinality = range_cardinality,
  };
  return kKind;
}

}  // namespace tfd::data
