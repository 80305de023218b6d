// SPDX-License-Identifier: Apache-2.0
//
// map and filter: a function is called for every element.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "../in_order.hpp"
#include "../plan/stage_kinds.hpp"
#include "tfd/base/text.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

bool fits(const tensor::Tensor& value, const FieldSpec& field) {
  if (value.dtype() != field.dtype || value.shape().size() != field.shape.size()) return false;
  for (std::size_t i = 0; i < field.shape.size(); ++i)
    if (field.shape[i] != -1 && field.shape[i] != value.shape()[i]) return false;
  return true;
}

// State shared by the streams of a map or filter.
struct Calls {
  std::string what;  // "map 'decode'"
  MapFunction function;
  bool skip_errors;
  std::function<void(const Error&)> skipped;

  /// Calls the function for the element with this number, which errors name.
  Result<Element> call(const Row& row, std::int64_t number) const {
    Element made = TFD_TRY(function.call(to_element(row)), fmt::format("{}: element {}", what, number));
    if (made.size() != function.spec.size())
      return fail(Code::kInternal, "{} made {} fields instead of {}", what, made.size(), function.spec.size());
    for (std::size_t i = 0; i < made.size(); ++i)
      if (!fits(made[i], function.spec[i]))
        return fail(Code::kInternal, "{}: field '{}' is {} instead of {}", what, function.spec[i].name,
                    format_spec(made[i].spec()), format_field(function.spec[i]));
    return made;
  }
  /// Whether the error is one that is passed over; if so, it is reported.
  bool pass_over(const Error& error) const {
    if (!skip_errors || error.code == Code::kInternal) return false;
    if (skipped) skipped(error);
    return true;
  }
};
using CallsPtr = std::shared_ptr<const Calls>;  // shared: by the dataset and its streams

class MapStream final : public RowStream {
 public:
  MapStream(RowStreamPtr input, CallsPtr calls) : input_(std::move(input)), calls_(std::move(calls)) {}
  Result<std::optional<Row>> next() override {
    while (true) {
      const std::optional<Row> row = TFD_TRY(input_->next());
      if (!row) return std::optional<Row>();
      auto made = calls_->call(*row, number_++);
      if (made) return Row{to_block(*std::move(made)), 0};
      if (!calls_->pass_over(made.error())) return fail(std::move(made.error()));
    }
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    if (calls_->skip_errors) return RowStream::skip(count);
    const std::int64_t done = TFD_TRY(input_->skip(count));
    number_ += done;
    return done;
  }

 private:
  RowStreamPtr input_;
  CallsPtr calls_;
  std::int64_t number_ = 0;  // of the element that comes next, in this pass
};

// Elements in their order, of which several are made at the same time.
class ParallelMapStream final : public RowStream {
 public:
  ParallelMapStream(RowStreamPtr input, InputStopPtr stop, CallsPtr calls, std::int64_t parallel)
      : input_(std::move(input)),
        stop_(std::move(stop)),
        calls_(std::move(calls)),
        calling_({.take = [this] { return take(); },
                  .make = [calls = calls_](Call& call) { make(call, *calls); },
                  .is_last = [](const Call& call) { return !call.row; }},
                 {.threads = static_cast<std::size_t>(parallel)}) {}
  ParallelMapStream(const ParallelMapStream&) = delete;
  ParallelMapStream& operator=(const ParallelMapStream&) = delete;
  ~ParallelMapStream() override { stop_->request(); }

  Result<std::optional<Row>> next() override {
    while (!end_) {
      Call call = calling_.next();
      if (!call.row) {
        end_ = call.made ? Result<void>() : fail(call.made.error());
      } else if (call.made) {
        return Row{to_block(*std::move(call.made)), 0};
      } else if (!calls_->pass_over(call.made.error())) {
        end_ = fail(std::move(call.made.error()));
      }
    }
    TFD_TRY(*end_);
    return std::optional<Row>();
  }
  Result<std::int64_t> skip(std::int64_t count) override {
    if (calls_->skip_errors) return RowStream::skip(count);
    if (end_) return *end_ ? Result<std::int64_t>(0) : fail(end_->error());
    const auto pass = [this](Call call) {  // what its call gave is nobody's
      if (!call.row) end_ = call.made ? Result<void>() : fail(call.made.error());
      return call.row.has_value();
    };
    const auto done = calling_.skip(count, pass, [this](std::int64_t rest) -> Result<std::int64_t> {
      const std::int64_t skipped = TFD_TRY(input_->skip(rest));
      number_ += skipped;
      return skipped;
    });
    return end_ && !*end_ ? fail(end_->error()) : done;
  }

 private:
  struct Call {
    std::optional<Row> row;  // absent at the end, or where there is none
    std::int64_t number = 0;
    Result<Element> made = Element();  // or why there is no row
  };

  Call take() {
    auto row = input_->next();
    if (!row) return {std::nullopt, number_, fail(std::move(row).error())};
    return {std::move(*row), number_++};
  }
  static void make(Call& call, const Calls& calls) {
    if (call.row) call.made = calls.call(*call.row, call.number);
  }

  RowStreamPtr input_;
  const InputStopPtr stop_;
  CallsPtr calls_;
  std::int64_t number_ = 0;          // of the element that is taken next, in this pass
  std::optional<Result<void>> end_;  // once there is one
  InOrder<Call> calling_;            // last: its threads use all of the above
};

class FilterStream final : public RowStream {
 public:
  FilterStream(RowStreamPtr input, CallsPtr calls) : input_(std::move(input)), calls_(std::move(calls)) {}
  Result<std::optional<Row>> next() override {
    while (true) {
      std::optional<Row> row = TFD_TRY(input_->next());
      if (!row) return std::optional<Row>();
      const auto made = calls_->call(*row, number_++);
      if (!made && !calls_->pass_over(made.error())) return fail(made.error());
      if (made && made->front().as<std::uint8_t>()[0] != 0) return row;
    }
  }

 private:
  RowStreamPtr input_;
  CallsPtr calls_;
  std::int64_t number_ = 0;  // of the element that comes next, in this pass
};

class MapDataset final : public RowDataset {
 public:
  MapDataset(RowDatasetPtr input, Calls calls, std::int64_t parallel)
      : RowDataset(calls.function.spec),
        input_(std::move(input)),
        parallel_(parallel),
        calls_(std::make_shared<const Calls>(std::move(calls))) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    if (parallel_ <= 1) return std::make_unique<MapStream>(TFD_TRY(input_->rows(order)), calls_);
    auto stop = std::make_unique<InputStop>(order);
    auto input = TFD_TRY(input_->rows(stop->below(order)));
    return std::make_unique<ParallelMapStream>(std::move(input), std::move(stop), calls_, parallel_);
  }
  std::optional<std::int64_t> cardinality() const override {
    const auto count = input_->cardinality();
    return calls_->skip_errors && count != 0 ? std::nullopt : count;
  }

 private:
  RowDatasetPtr input_;
  std::int64_t parallel_;
  CallsPtr calls_;
};

class FilterDataset final : public RowDataset {
 public:
  FilterDataset(RowDatasetPtr input, Calls calls)
      : RowDataset(input->spec()), input_(std::move(input)), calls_(std::make_shared<const Calls>(std::move(calls))) {}
  Result<RowStreamPtr> rows(const Order& order) const override {
    return std::make_unique<FilterStream>(TFD_TRY(input_->rows(order)), calls_);
  }
  std::optional<std::int64_t> cardinality() const override {
    return input_->cardinality() == 0 ? std::optional<std::int64_t>(0) : std::nullopt;
  }

 private:
  RowDatasetPtr input_;
  CallsPtr calls_;
};

constexpr std::int64_t kMostParallel = 256;  // calls of a map at the same time

Result<Map> read_map(const StatedStage& stage) {
  JsonObject options(stage.value, stage.path);
  Map map;
  map.function = options.required_text("function");
  map.fields = options.texts("fields");
  for (auto name = map.fields.begin(); name != map.fields.end(); ++name)
    if (std::find(map.fields.begin(), name, *name) != name)
      options.note("fields", fmt::format("two are called '{}'", printable(*name)));
  map.parallel = options.integer("parallel", 1).value_or(1);
  if (map.parallel > kMostParallel) options.note("parallel", fmt::format("must be at most {}", kMostParallel));
  map.skip_errors = skips_errors(options);
  TFD_TRY(options.finish());
  return map;
}

ordered_json write_map(const Map& map) {
  ordered_json out = {{"function", map.function}, {"fields", map.fields}};
  if (map.parallel > 1) out["parallel"] = map.parallel;
  if (map.skip_errors) out["on_error"] = "skip";
  return out;
}

Result<MapFunction> find_function(const StageSite& site, const std::string& name,
                                  const std::vector<std::string>& fields) {
  if (!site.context.find_function) return fail(Code::kInvalidArgument, "{}: functions can't be called here", site.path);
  return TFD_TRY(site.context.find_function(name, site.input->spec(), fields), site.path + ".function");
}

Result<RowDatasetPtr> make_map(const Map& map, const StageSite& site) {
  Calls calls{"map '" + map.function + "'", TFD_TRY(find_function(site, map.function, map.fields)), map.skip_errors,
              site.context.skipped};
  return std::make_shared<MapDataset>(site.input, std::move(calls), map.parallel);
}

StageTraits map_traits(const Map& map) {
  return {.elements = map.skip_errors ? ElementTrait::kByContent : ElementTrait::kMapped,
          .batches = BatchTrait::kChanged};
}

Result<Filter> read_filter(const StatedStage& stage) {
  JsonObject options(stage.value, stage.path);
  Filter filter;
  filter.function = options.required_text("function");
  filter.skip_errors = skips_errors(options);
  TFD_TRY(options.finish());
  return filter;
}

ordered_json write_filter(const Filter& filter) {
  ordered_json out = {{"function", filter.function}};
  if (filter.skip_errors) out["on_error"] = "skip";
  return out;
}

Result<RowDatasetPtr> make_filter(const Filter& filter, const StageSite& site) {
  MapFunction function = TFD_TRY(find_function(site, filter.function, {"keep"}));
  if (function.spec.size() != 1 || function.spec[0].dtype != tensor::DType::kBool || !function.spec[0].shape.empty())
    return fail(Code::kInvalidArgument, "{}.function: '{}' makes {}, but a filter's makes one bool", site.path,
                filter.function, function.spec.empty() ? "nothing" : format_field(function.spec[0]));
  Calls calls{"filter '" + filter.function + "'", std::move(function), filter.skip_errors, site.context.skipped};
  return std::make_shared<FilterDataset>(site.input, std::move(calls));
}

}  // namespace

const StageKind<Map>& kind_of(Tag<Map>) {
  static constexpr StageKind<Map> kKind{
      .name = "map",
      .read = read_map,
      .write = write_map,
      .make = make_map,
      .traits = map_traits,
      .tensorflow_cardinality = same_cardinality,
  };
  return kKind;
}

const StageKind<Filter>& kind_of(Tag<Filter>) {
  static constexpr StageKind<Filter> kKind{
      .name = "filter",
      .read = read_filter,
      .write = write_filter,
      .make = make_filter,
      .traits = [](const Filter&) -> StageTraits {
        return {.elements = ElementTrait::kByContent, .batches = BatchTrait::kKept};
      },
  };
  return kKind;
}

}  // namespace tfd::data
