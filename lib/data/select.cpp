// SPDX-License-Identifier: Apache-2.0
//
// take, skip and shard: which elements go on is a matter of their positions alone.
#include <algorithm>
#include <limits>

#include "transformations.hpp"

namespace tfd::data {
namespace {

struct Selection {
  std::int64_t first = 0;                                        // position of the first one
  std::int64_t stride = 1;                                       // to the next
  std::int64_t most = std::numeric_limits<std::int64_t>::max();  // how many
};

class SelectStream final : public RowStream {
 public:
  SelectStream(RowStreamPtr input, const Selection& selection)
      : input_(std::move(input)), selection_(selection), skip_(selection.first) {}
  Result<std::optional<Row>> next() override {
    if (taken_ == selection_.most) return std::optional<Row>();
    for (; skip_ > 0; --skip_)
      if (!TFD_TRY(input_->next())) return end();
    std::optional<Row> row = TFD_TRY(input_->next());
    if (!row) return end();
    ++taken_;
    skip_ = selection_.stride - 1;
    return row;
  }

 private:
  Result<std::optional<Row>> end() {
    taken_ = selection_.most;
    return std::optional<Row>();
  }
  RowStreamPtr input_;
  Selection selection_;
  std::int64_t skip_;  // before the next one
  std::int64_t taken_ = 0;
};

class SelectDataset final : public RowDataset {
 public:
  SelectDataset(RowDatasetPtr input, const Selection& selection)
      : RowDataset(input->spec()), input_(std::move(input)), selection_(selection) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<SelectStream>(TFD_TRY(input_->rows(order)), selection_);
  }
  std::optional<std::int64_t> cardinality() const override {
    if (selection_.most == 0) return 0;
    const auto count = input_->cardinality();
    if (!count) return count;
    const bool is_limited = selection_.most != std::numeric_limits<std::int64_t>::max();
    if (*count == kInfinite) return is_limited ? selection_.most : kInfinite;
    const std::int64_t left = std::max<std::int64_t>(*count - selection_.first, 0);
    return std::min(left / selection_.stride + (left % selection_.stride != 0 ? 1 : 0), selection_.most);
  }

 private:
  RowDatasetPtr input_;
  Selection selection_;
};

// A dataset that isn't of this room's making, as a stream of rows.
class ForeignDataset final : public RowDataset {
 public:
  explicit ForeignDataset(std::shared_ptr<const Dataset> input) : RowDataset(input->spec()), input_(std::move(input)) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<Stream>(TFD_TRY(input_->iterate(order)));
  }
  std::optional<std::int64_t> cardinality() const override { return input_->cardinality(); }

 private:
  class Stream final : public RowStream {
   public:
    explicit Stream(std::unique_ptr<Iterator> input) : input_(std::move(input)) {}
    Result<std::optional<Row>> next() override {
      std::optional<Element> element = TFD_TRY(input_->next());
      if (!element) return std::optional<Row>();
      return Row{to_block(std::move(*element)), 0};
    }

   private:
    std::unique_ptr<Iterator> input_;
  };
  std::shared_ptr<const Dataset> input_;  // shared with whoever made it
};

}  // namespace

RowDatasetPtr make_take(RowDatasetPtr input, std::int64_t count) {
  return std::make_shared<SelectDataset>(std::move(input), Selection{0, 1, count});
}

RowDatasetPtr make_skip(RowDatasetPtr input, std::int64_t count) {
  return std::make_shared<SelectDataset>(std::move(input), Selection{count, 1});
}

std::shared_ptr<const Dataset> make_shard(std::shared_ptr<const Dataset> dataset, std::int64_t count,
                                          std::int64_t index) {
  auto rows = std::dynamic_pointer_cast<const RowDataset>(dataset);
  if (!rows) rows = std::make_shared<ForeignDataset>(std::move(dataset));
  return std::make_shared<SelectDataset>(std::move(rows), Selection{index, count});
}

}  // namespace tfd::data
