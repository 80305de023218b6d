// SPDX-License-Identifier: Apache-2.0
//
// concatenate and zip, and what elements of several datasets have in common.
#include "combine.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "../plan/stage_kinds.hpp"
#include "tfd/base/text.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

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

/// The cardinality of all of them together.
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
  std::vector<std::optional<Row>> rows_;  // of the next element, as far as they have come
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

Result<Concatenate> read_concatenate(const StatedStage& stage) {
  return Concatenate{TFD_TRY(read_pipelines(stage.value, stage.path, stage.depth))};
}

ordered_json write_concatenate(const Concatenate& concatenate) { return write_pipelines(concatenate.others); }

Result<RowDatasetPtr> make_checked_concatenate(const Concatenate& concatenate, const StageSite& site) {
  auto inputs = TFD_TRY(make_inputs(site, concatenate.others, site.path));
  ElementSpec spec = TFD_TRY(common_spec(inputs), site.path);
  return make_concatenate(std::move(spec), std::move(inputs));
}

Result<Zip> read_zip(const StatedStage& stage) {
  return Zip{TFD_TRY(read_pipelines(stage.value, stage.path, stage.depth))};
}

ordered_json write_zip(const Zip& zip) { return write_pipelines(zip.others); }

Result<RowDatasetPtr> make_zip(const Zip& zip, const StageSite& site) {
  auto inputs = TFD_TRY(make_inputs(site, zip.others, site.path));
  std::set<std::string> names;
  for (const RowDatasetPtr& input : inputs)
    for (const FieldSpec& field : input->spec())
      if (!names.insert(field.name).second)
        return fail(Code::kInvalidArgument, "{}: two datasets have a field '{}'", site.path, printable(field.name));
  return std::make_shared<ZipDataset>(std::move(inputs));
}

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

Result<std::vector<Plan>> read_pipelines(const ordered_json& value, const std::string& path, int depth) {
  std::vector<Plan> plans;
  if (!value.is_array() || value.empty() || !value.front().is_array()) {
    plans.push_back(TFD_TRY(parse_inner_plan(value, path, depth + 1)));
    return plans;
  }
  for (std::size_t i = 0; i < value.size(); ++i)
    plans.push_back(TFD_TRY(parse_inner_plan(value[i], fmt::format("{}[{}]", path, i), depth + 1)));
  return plans;
}

ordered_json write_pipelines(const std::vector<Plan>& plans) {
  if (plans.size() == 1) return to_json(plans.front());
  ordered_json list = ordered_json::array();
  for (const Plan& plan : plans) list.push_back(to_json(plan));
  return list;
}

Result<std::vector<RowDatasetPtr>> make_inputs(const StageSite& site, const std::vector<Plan>& others,
                                               const std::string& path) {
  std::vector<RowDatasetPtr> inputs{site.input};
  for (std::size_t i = 0; i < others.size(); ++i) {
    const std::string at = others.size() == 1 ? path : fmt::format("{}[{}]", path, i);
    inputs.push_back(TFD_TRY(make_rows(others[i], site.context, at)));
  }
  return inputs;
}

const StageKind<Concatenate>& kind_of(Tag<Concatenate>) {
  static constexpr StageKind<Concatenate> kKind{
      .name = "concatenate",
      .read = read_concatenate,
      .write = write_concatenate,
      .make = make_checked_concatenate,
      .traits = [](const Concatenate&) -> StageTraits { return {.batches = BatchTrait::kKeptOfAll}; },
  };
  return kKind;
}

const StageKind<Zip>& kind_of(Tag<Zip>) {
  static constexpr StageKind<Zip> kKind{
      .name = "zip",
      .read = read_zip,
      .write = write_zip,
      .make = make_zip,
      .traits = [](const Zip&) -> StageTraits { return {.batches = BatchTrait::kKeptOfAll}; },
  };
  return kKind;
}

}  // namespace tfd::data
