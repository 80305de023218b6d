// SPDX-License-Identifier: Apache-2.0
//
// concatenate and zip, and what elements of several datasets have in common.
#include "combine.hpp"

#include <algorithm>
#include <limits>

#include "transformations.hpp"

namespace tfd::data {
namespace {

using Inputs = std::shared_ptr<const std::vector<RowDatasetPtr>>;  // shared: by the dataset and its streams

class ConcatenateStream final : public RowStream {
 public:
  ConcatenateStream(Inputs inputs, const Order& order) : inputs_(std::move(inputs)), order_(order) {}
  Result<std::optional<Row>> next() override {
    while (TFD_TRY(open())) {
      std::optional<Row> row = TFD_TRY(current_->next());
      if (row) return row;
      end_input();
    }
    return std::optional<Row>();
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    std::int64_t done = 0;
    while (done < count && TFD_TRY(open())) {
      done += TFD_TRY(current_->skip(count - done));
      if (done < count) end_input();
    }
    return done;
  }

 private:
  /// False behind the last one.
  Result<bool> open() {
    if (index_ == inputs_->size()) return false;
    if (!current_) current_ = TFD_TRY((*inputs_)[index_]->rows(order_of_input(order_, index_)));
    return true;
  }
  void end_input() {
    current_ = nullptr;
    ++index_;
  }

  Inputs inputs_;
  Order order_;
  std::size_t index_ = 0;
  RowStreamPtr current_;
};

/// Of all of them together.
std::optional<std::int64_t> sum_of_cardinalities(const std::vector<RowDatasetPtr>& inputs) {
  std::int64_t total = 0;
  bool is_known = true;
  for (const RowDatasetPtr& input : inputs) {
    const auto count = input->cardinality();
    if (count == Dataset::kInfinite) return Dataset::kInfinite;
    is_known = is_known && count.has_value();
    total = count.value_or(0) > std::numeric_limits<std::int64_t>::max() - total
                ? std::numeric_limits<std::int64_t>::max()
                : total + count.value_or(0);
  }
  return is_known ? std::optional<std::int64_t>(total) : std::nullopt;
}

class ConcatenateDataset final : public RowDataset {
 public:
  ConcatenateDataset(ElementSpec spec, std::vector<RowDatasetPtr> inputs)
      : RowDataset(std::move(spec)), inputs_(std::make_shared<const std::vector<RowDatasetPtr>>(std::move(inputs))) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<ConcatenateStream>(inputs_, order);
  }
  std::optional<std::int64_t> cardinality() const override { return sum_of_cardinalities(*inputs_); }

 private:
  Inputs inputs_;
};

class ZipStream final : public RowStream {
 public:
  explicit ZipStream(std::vector<RowStreamPtr> inputs) : inputs_(std::move(inputs)), rows_(inputs_.size()) {}
  Result<std::optional<Row>> next() override {
    if (at_end_) return std::optional<Row>();
    // Rows that an error interrupted stay for the next call.
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!rows_[i]) rows_[i] = TFD_TRY(inputs_[i]->next());
      if (!rows_[i]) return end();
    }
    auto block = std::make_shared<Block>();
    for (std::optional<Row>& row : rows_) {
      append_fields(*row, *block);
      row.reset();
    }
    return Row{std::move(block), 0};
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    if (count > 0 && std::ranges::any_of(rows_, [](const auto& row) { return row.has_value(); }))
      return RowStream::skip(count);
    if (at_end_) return 0;
    std::int64_t least = count;
    for (const RowStreamPtr& input : inputs_) least = std::min(least, TFD_TRY(input->skip(least)));
    if (least < count) TFD_TRY(end());
    return least;
  }

 private:
  Result<std::optional<Row>> end() {
    at_end_ = true;
    return std::optional<Row>();
  }
  std::vector<RowStreamPtr> inputs_;
  std::vector<std::optional<Row>> rows_;  // of the next element, as far as there are
  bool at_end_ = false;
};

ElementSpec zipped(const std::vector<RowDatasetPtr>& inputs) {
  ElementSpec spec;
  for (const RowDatasetPtr& input : inputs) spec.insert(spec.end(), input->spec().begin(), input->spec().end());
  return spec;
}

class ZipDataset final : public RowDataset {
 public:
  explicit ZipDataset(std::vector<RowDatasetPtr> inputs) : RowDataset(zipped(inputs)), inputs_(std::move(inputs)) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    std::vector<RowStreamPtr> streams;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      streams.push_back(TFD_TRY(inputs_[i]->rows(order_of_input(order, i))));
    return std::make_unique<ZipStream>(std::move(streams));
  }
  std::optional<std::int64_t> cardinality() const override {
    std::int64_t least = kInfinite;
    bool is_known = true;
    for (const RowDatasetPtr& input : inputs_) {
      const auto count = input->cardinality();
      if (count == 0) return 0;
      is_known = is_known && count.has_value();
      if (count && *count != kInfinite) least = least == kInfinite ? *count : std::min(least, *count);
    }
    return is_known ? std::optional<std::int64_t>(least) : std::nullopt;
  }

 private:
  std::vector<RowDatasetPtr> inputs_;
};

}  // namespace

Result<ElementSpec> common_spec(const std::vector<RowDatasetPtr>& inputs) {
  ElementSpec common = inputs.front()->spec();
  for (const RowDatasetPtr& input : inputs) {
    const ElementSpec& spec = input->spec();
    if (spec.size() != common.size())
      return fail(Code::kInvalidArgument, "elements of {} field(s) and of {}", common.size(), spec.size());
    for (std::size_t i = 0; i < spec.size(); ++i) {
      FieldSpec& field = common[i];
      if (spec[i].name != field.name)
        return fail(Code::kInvalidArgument, "field {} is '{}' here and '{}' there", i, field.name, spec[i].name);
      if (spec[i].dtype != field.dtype || spec[i].shape.size() != field.shape.size())
        return fail(Code::kInvalidArgument, "field '{}' is {} here and {} there", field.name, format_field(field),
                    format_field(spec[i]));
      for (std::size_t axis = 0; axis < field.shape.size(); ++axis)
        if (field.shape[axis] != spec[i].shape[axis]) field.shape[axis] = -1;
    }
  }
  return common;
}

RowDatasetPtr make_concatenate(ElementSpec spec, std::vector<RowDatasetPtr> inputs) {
  return std::make_shared<ConcatenateDataset>(std::move(spec), std::move(inputs));
}

RowDatasetPtr make_zip(std::vector<RowDatasetPtr> inputs) { return std::make_shared<ZipDataset>(std::move(inputs)); }

}  // namespace tfd::data
