// SPDX-License-Identifier: Apache-2.0
//
// Plans from JSON and as JSON: one reader and one writer per kind of stage, and the table of them.
#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "options.hpp"
#include "tfd/base/text.hpp"
#include "tfd/data/plan.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;
using tensor::DType;
using tensor::Shape;

struct StatedStage {
  const ordered_json& value;  // {"size": 64}
  std::string path;           // "[3].batch"
};
using ReadStage = Result<Stage>;

// A number alone stands for the stage's most important key: {"batch": 64} is {"batch": {"size": 64}}.
ordered_json with_key(const ordered_json& value, const char* key) {
  return value.is_number() ? ordered_json{{key, value}} : value;
}

// "dtype" and "shape" where they are stated.
std::optional<DType> read_dtype(Options& options) {
  const auto name = options.text("dtype");
  if (!name) return std::nullopt;
  auto dtype = tensor::parse_dtype(*name);
  if (!dtype) options.note("dtype", dtype.error().message);
  return dtype.value_or(DType::kF32);
}

std::optional<Shape> read_shape(Options& options, DType dtype) {
  const auto* value = options.find("shape");
  if (value == nullptr) return std::nullopt;
  Shape shape;
  if (!value->is_array()) return options.note("shape", "must be a list of sizes"), std::nullopt;
  for (const ordered_json& size : *value) {
    const auto number = integer_of(size);
    if (!number || *number < 0) return options.note("shape", "must be a list of sizes"), std::nullopt;
    shape.push_back(*number);
  }
  if (const auto bytes = tensor::checked_byte_size(dtype, shape); !bytes)
    return options.note("shape", bytes.error().message), std::nullopt;
  return shape;
}

// Columns of a csv field: 64 is one, a scalar; [0, 64] are 64, a vector.
struct Columns {
  std::int64_t first = 0;
  Shape shape;
};

Columns read_columns(Options& options) {
  constexpr std::int64_t kMost = 1 << 24;
  const auto* value = options.required("columns");
  if (value == nullptr) return {};
  const bool is_range = value->is_array() && value->size() == 2;
  const auto first = is_range ? integer_of((*value)[0]) : integer_of(*value);
  const auto stop = is_range ? integer_of((*value)[1]) : first && *first < kMost ? std::optional(*first + 1) : first;
  if (!first || !stop)
    options.note("columns", "must be a column number, or [FIRST, END] with END excluded");
  else if (*first < 0 || *stop <= *first || *stop > kMost)
    options.note("columns", fmt::format("there are no columns [{}, {}]", *first, *stop));
  else
    return {*first, is_range ? Shape{*stop - *first} : Shape{}};
  return {};
}

Result<CsvField> read_csv_field(const std::string& name, const ordered_json& value, const std::string& path) {
  Options options(value, path);
  const Columns columns = read_columns(options);
  const DType dtype = read_dtype(options).value_or(DType::kF32);
  const auto shape = read_shape(options, dtype);
  if (shape && tensor::element_count(*shape) != tensor::element_count(columns.shape))
    options.note("shape", fmt::format("{} has {} elements, but there are {} columns", tensor::format_shape(*shape),
                                      tensor::element_count(*shape), tensor::element_count(columns.shape)));
  TFD_TRY(options.finish());
  return CsvField{{name, dtype, shape.value_or(columns.shape)}, columns.first};
}

Result<void> check_fields_object(const ordered_json& fields, const std::string& path) {
  if (!fields.is_object() || fields.empty())
    return fail(Code::kInvalidArgument, "{}: must be an object with at least one field", path);
  return {};
}

ReadStage read_csv(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  CsvSource csv;
  csv.path = options.required_text("path");
  const auto* fields = options.required("fields");
  csv.header = options.flag("header", false);
  const std::string delimiter = options.text("delimiter").value_or(",");
  constexpr std::string_view kInNumbers = "+-.\"\r\n";
  if (delimiter.size() != 1 || kInNumbers.find(delimiter[0]) != std::string_view::npos ||
      std::isalnum(static_cast<unsigned char>(delimiter[0])))
    options.note("delimiter", "must be a single character that can't be part of a number");
  csv.delimiter = delimiter.empty() ? ',' : delimiter[0];
  TFD_TRY(options.finish());
  TFD_TRY(check_fields_object(*fields, stage.path + ".fields"));
  for (const auto& [name, value] : fields->items())
    csv.fields.push_back(
        TFD_TRY(read_csv_field(name, value, fmt::format("{}.fields.{}", stage.path, printable(name)))));
  return csv;
}

ordered_json write(const CsvSource& csv) {
  ordered_json out = {{"path", csv.path}, {"fields", ordered_json::object()}};
  for (const CsvField& field : csv.fields) {
    const std::int64_t count = tensor::element_count(field.spec.shape);
    ordered_json& one = out["fields"][field.spec.name];
    one["columns"] = {field.first_column, field.first_column + count};
    one["dtype"] = tensor::dtype_name(field.spec.dtype);
    one["shape"] = field.spec.shape;
  }
  if (csv.header) out["header"] = true;
  if (csv.delimiter != ',') out["delimiter"] = std::string(1, csv.delimiter);
  return out;
}

Result<NpyField> read_npy_field(std::string name, Options& options) {
  NpyField field;
  field.name = std::move(name);
  field.path = options.required_text("path");
  field.dtype = read_dtype(options);
  field.shape = read_shape(options, field.dtype.value_or(DType::kF32));
  TFD_TRY(options.finish());
  return field;
}

ReadStage read_npy(const StatedStage& stage) {
  NpySource npy;
  Options options(stage.value, stage.path);
  npy.is_single = !stage.value.is_object() || !stage.value.contains("fields");
  if (npy.is_single) {
    std::string name = options.required_text("field");
    npy.fields.push_back(TFD_TRY(read_npy_field(std::move(name), options)));
    return npy;
  }
  const ordered_json& stated = *options.required("fields");
  TFD_TRY(options.finish());
  TFD_TRY(check_fields_object(stated, stage.path + ".fields"));
  for (const auto& [name, value] : stated.items()) {
    Options field(value, fmt::format("{}.fields.{}", stage.path, printable(name)));
    npy.fields.push_back(TFD_TRY(read_npy_field(name, field)));
  }
  return npy;
}

ordered_json write(const NpySource& npy) {
  ordered_json fields = ordered_json::object();
  for (const NpyField& field : npy.fields) {
    ordered_json one = {{"path", field.path}};
    if (field.dtype) one["dtype"] = tensor::dtype_name(*field.dtype);
    if (field.shape) one["shape"] = *field.shape;
    if (npy.is_single) {
      one["field"] = field.name;
      return one;
    }
    fields[field.name] = std::move(one);
  }
  return {{"fields", std::move(fields)}};
}

ReadStage read_range(const StatedStage& stage) {
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

ordered_json write(const RangeSource& range) { return {range.start, range.stop, range.step}; }

// A tensor, or {"npy": PATH}, {"safetensors": PATH, "key": KEY}: a file that is read where the dataset is made.
Result<SlicesField> read_slices_field(const std::string& name, const ordered_json& value, const std::string& path) {
  SlicesField field{.name = name};
  const auto is_text = [&](const char* key) { return value.contains(key) && value[key].is_string(); };
  if (value.is_object() && value.size() == 1 && is_text("npy")) {
    field.path = value["npy"].get<std::string>();
  } else if (value.is_object() && value.size() == 2 && is_text("safetensors") && is_text("key")) {
    field.path = value["safetensors"].get<std::string>();
    field.key = value["key"].get<std::string>();
  } else {
    field.rows = TFD_TRY(tensor::tensor_from_json(nlohmann::json(value)), path);
  }
  return field;
}

ReadStage read_tensor_slices(const StatedStage& stage) {
  SlicesSource slices;
  if (!stage.value.is_object() || !stage.value.contains("fields")) {
    slices.fields.push_back(TFD_TRY(read_slices_field("value", stage.value, stage.path)));
    return slices;
  }
  Options options(stage.value, stage.path);
  const ordered_json& fields = *options.required("fields");
  TFD_TRY(options.finish());
  TFD_TRY(check_fields_object(fields, stage.path + ".fields"));
  for (const auto& [name, value] : fields.items())
    slices.fields.push_back(
        TFD_TRY(read_slices_field(name, value, fmt::format("{}.fields.{}", stage.path, printable(name)))));
  return slices;
}

ordered_json write(const SlicesSource& slices) {
  ordered_json fields = ordered_json::object();
  for (const SlicesField& field : slices.fields) {
    ordered_json& one = fields[field.name];
    if (field.key) {
      one = {{"safetensors", field.path}, {"key", *field.key}};
    } else if (!field.rows.has_value()) {
      one = {{"npy", field.path}};
    } else {
      const auto value = tensor::tensor_to_json(field.rows);
      one = {{"dtype", tensor::dtype_name(field.rows.dtype())}, {"shape", field.rows.shape()}};
      one["data"] = value.is_object() ? ordered_json(value["data"]) : ordered_json(value);
    }
  }
  return {{"fields", std::move(fields)}};
}

ReadStage read_shuffle(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "buffer");
  Options options(value, stage.path);
  Shuffle shuffle;
  shuffle.buffer = options.required_integer("buffer", 1);
  shuffle.seed = options.seed("seed");
  shuffle.reshuffle_each_iteration = options.flag("reshuffle_each_iteration", true);
  TFD_TRY(options.finish());
  return shuffle;
}

ordered_json write(const Shuffle& shuffle) {
  ordered_json out = {{"buffer", shuffle.buffer}};
  if (shuffle.seed) out["seed"] = *shuffle.seed;
  if (!shuffle.reshuffle_each_iteration) out["reshuffle_each_iteration"] = false;
  return out;
}

ReadStage read_repeat(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "count");
  Options options(value, stage.path);
  auto count = options.integer("count", -1);  // -1 is endless, as in tf.data
  TFD_TRY(options.finish());
  return Repeat{count == -1 ? std::nullopt : count};
}

ordered_json write(const Repeat& repeat) {
  return repeat.count ? ordered_json{{"count", *repeat.count}} : ordered_json::object();
}

ReadStage read_batch(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "size");
  Options options(value, stage.path);
  Batch batch;
  batch.size = options.required_integer("size", 1);
  batch.drop_remainder = options.flag("drop_remainder", false);
  TFD_TRY(options.finish());
  return batch;
}

ordered_json write(const Batch& batch) {
  ordered_json out = {{"size", batch.size}};
  if (batch.drop_remainder) out["drop_remainder"] = true;
  return out;
}

ReadStage read_map(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  Map map;
  map.function = options.required_text("function");
  if (const auto* stated = options.find("fields")) {
    for (const ordered_json& field : *stated)
      if (stated->is_array() && field.is_string()) map.fields.push_back(field.get<std::string>());
    if (!stated->is_array() || map.fields.size() != stated->size()) options.note("fields", "must be a list of names");
  }
  TFD_TRY(options.finish());
  return map;
}

ordered_json write(const Map& map) { return {{"function", map.function}, {"fields", map.fields}}; }

template <class Counted>
ReadStage read_count(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "count");
  Options options(value, stage.path);
  const Counted counted{options.required_integer("count", 0)};
  TFD_TRY(options.finish());
  return counted;
}

ordered_json write(const Take& take) { return {{"count", take.count}}; }
ordered_json write(const Skip& skip) { return {{"count", skip.count}}; }

ReadStage read_shard(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  Shard shard;
  shard.count = options.required_integer("count", 1);
  shard.index = options.required_integer("index", 0);
  if (shard.index >= shard.count) options.note("index", fmt::format("must be less than the count, {}", shard.count));
  TFD_TRY(options.finish());
  return shard;
}

ordered_json write(const Shard& shard) { return {{"count", shard.count}, {"index", shard.index}}; }

ReadStage read_prefetch(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "buffer");
  Options options(value, stage.path);
  const Prefetch prefetch{options.integer("buffer", 1).value_or(2)};
  TFD_TRY(options.finish());
  return prefetch;
}

ordered_json write(const Prefetch& prefetch) { return {{"buffer", prefetch.buffer}}; }

struct Kind {
  std::string_view name;
  bool is_source;
  ReadStage (*read)(const StatedStage&);
};
// In the order of Stage's alternatives.
constexpr std::array kKinds{
    Kind{"csv", true, read_csv},           Kind{"npy", true, read_npy},
    Kind{"range", true, read_range},       Kind{"tensor_slices", true, read_tensor_slices},
    Kind{"shuffle", false, read_shuffle},  Kind{"repeat", false, read_repeat},
    Kind{"batch", false, read_batch},      Kind{"map", false, read_map},
    Kind{"take", false, read_count<Take>}, Kind{"skip", false, read_count<Skip>},
    Kind{"shard", false, read_shard},      Kind{"prefetch", false, read_prefetch},
};
static_assert(kKinds.size() == std::variant_size_v<Stage>);

std::vector<std::string> names_of_kinds(bool sources) {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds)
    if (kind.is_source == sources) names.emplace_back(kind.name);
  return names;
}

Result<const Kind*> find_kind(const std::string& name, bool must_be_source) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.name == name; });
  if (found != kKinds.end() && found->is_source == must_be_source) return &*found;
  const auto names = names_of_kinds(must_be_source);
  if (found != kKinds.end())
    return must_be_source ? fail(Code::kInvalidArgument, "a pipeline starts with a source ({})", join_words(names))
                          : fail(Code::kInvalidArgument, "a source can only come first");
  const std::string hint = did_you_mean(name, names);
  return fail(Code::kInvalidArgument, "unknown {}{}", must_be_source ? "source" : "transformation",
              hint.empty() ? fmt::format(" (available: {})", join_words(names)) : hint);
}

}  // namespace

std::string_view name_of(const Stage& stage) { return kKinds[stage.index()].name; }
bool is_source(const Stage& stage) { return kKinds[stage.index()].is_source; }

Result<Plan> parse_plan(const ordered_json& pipeline) {
  if (!pipeline.is_array() || pipeline.empty())
    return fail(Code::kInvalidArgument,
                "a dataset must be a list of stages, such as [{{\"range\": 10}}, {{\"batch\": 2}}]");
  Plan plan;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const ordered_json& stage = pipeline[i];
    if (!stage.is_object() || stage.size() != 1)
      return fail(Code::kInvalidArgument, "[{}]: must be an object with one key, such as {}", i,
                  i == 0 ? R"({"csv": {…}})" : R"({"batch": {…}})");
    const std::string path = fmt::format("[{}].{}", i, printable(stage.begin().key()));
    const Kind* kind = TFD_TRY(find_kind(stage.begin().key(), i == 0), path);
    plan.stages.push_back(TFD_TRY(kind->read(StatedStage{stage.begin().value(), path})));
  }
  return plan;
}

ordered_json to_json(const Plan& plan) {
  ordered_json pipeline = ordered_json::array();
  for (const Stage& stage : plan.stages) {
    ordered_json value = std::visit([](const auto& one) { return write(one); }, stage);
    ordered_json one = ordered_json::object();
    one[std::string(name_of(stage))] = std::move(value);
    pipeline.push_back(std::move(one));
  }
  return pipeline;
}

}  // namespace tfd::data
