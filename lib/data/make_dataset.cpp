// SPDX-License-Identifier: Apache-2.0
//
// Pipelines from JSON: one reader per kind of stage, and the table of them.
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "file_stamp.hpp"
#include "options.hpp"
#include "sources.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/tensor/npy.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;
using tensor::DType;
using tensor::Shape;

struct Stage {
  const ordered_json& value;  // {"size": 64}
  std::string path;           // "[3].batch"
  const DatasetContext& context;
  RowDatasetPtr input;  // null for a source
};
using MadeStage = Result<RowDatasetPtr>;

std::string file_path(const DatasetContext& context, const std::string& stated) {
  const std::filesystem::path path(stated);
  return path.is_absolute() || context.directory.empty() ? stated
                                                         : (std::filesystem::path(context.directory) / path).string();
}

// A number alone stands for the stage's most important key: {"batch": 64} is {"batch": {"size": 64}}.
ordered_json with_key(const ordered_json& value, const char* key) {
  return value.is_number() ? ordered_json{{key, value}} : value;
}

// "dtype" and "shape" where they are stated.
DType read_dtype(Options& options, DType fallback) {
  const auto name = options.text("dtype");
  if (!name) return fallback;
  auto dtype = tensor::parse_dtype(*name);
  if (!dtype) options.note("dtype", dtype.error().message);
  return dtype.value_or(fallback);
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
  const DType dtype = read_dtype(options, DType::kF32);
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

bool is_left_to_others(const DatasetContext& context, const std::string& path, const std::string& file) {
  if (!context.missing_file || is_there(file)) return false;
  context.missing_file(path + ".path", file);
  return true;
}

MadeStage read_csv(const Stage& stage) {
  Options options(stage.value, stage.path);
  CsvOptions csv;
  csv.path = file_path(stage.context, options.required_text("path"));
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
  const bool look = stage.context.look_at_files && !is_left_to_others(stage.context, stage.path, csv.path);
  if (look) TFD_TRY(load_stamp(csv.path), stage.path + ".path");
  return make_csv(std::move(csv));
}

// One file of an npy source. Its header says dtype and shape; where it can't be looked at they must be stated.
struct NpyFile {
  NpyField field;
  std::optional<std::int64_t> length;
};

Result<NpyFile> read_npy_file(std::string name, Options& options, const DatasetContext& context) {
  NpyFile file;
  file.field.path = file_path(context, options.required_text("path"));
  const bool states_dtype = options.find("dtype") != nullptr;
  const DType dtype = read_dtype(options, DType::kF32);
  const auto shape = read_shape(options, dtype);
  TFD_TRY(options.finish());
  file.field.spec = {std::move(name), dtype, shape.value_or(Shape{})};
  if (states_dtype && shape && is_left_to_others(context, options.path(), file.field.path)) return file;
  if (context.missing_file && !is_there(file.field.path))
    return fail(Code::kNotFound,
                "{}: cannot find {}; if only the workers have it, set its dtype and the shape of a row", options.path(),
                file.field.path);
  if (!context.look_at_files) {
    if (states_dtype && shape) return file;
    return fail(Code::kInvalidArgument, "{}: the file can't be read from here, so set its dtype and the shape of a row",
                options.path());
  }
  const tensor::TensorSpec whole = TFD_TRY(tensor::load_npy_spec(file.field.path), options.path() + ".path");
  const tensor::TensorSpec row = TFD_TRY(row_spec_of(whole, file.field.path), options.path() + ".path");
  if ((states_dtype && dtype != row.dtype) || (shape && *shape != row.shape))
    return fail(Code::kInvalidArgument, "{}: the rows of {} are {}, not {}", options.path(), file.field.path,
                format_spec(row), format_field({"", states_dtype ? dtype : row.dtype, shape.value_or(row.shape)}));
  file.field.spec.dtype = row.dtype;
  file.field.spec.shape = row.shape;
  file.length = whole.shape[0];
  return file;
}

MadeStage read_npy(const Stage& stage) {
  std::vector<NpyField> fields;
  std::optional<std::int64_t> length;
  if (stage.value.is_object() && stage.value.contains("fields")) {
    Options options(stage.value, stage.path);
    const ordered_json& stated = *options.required("fields");
    TFD_TRY(options.finish());
    TFD_TRY(check_fields_object(stated, stage.path + ".fields"));
    for (const auto& [name, value] : stated.items()) {
      Options field(value, fmt::format("{}.fields.{}", stage.path, printable(name)));
      NpyFile file = TFD_TRY(read_npy_file(name, field, stage.context));
      if (length && file.length && *length != *file.length)
        return fail(Code::kInvalidArgument, "{}: {} rows, but the fields before it have {}", field.path(), *file.length,
                    *length);
      length = file.length;
      fields.push_back(std::move(file.field));
    }
  } else {
    Options options(stage.value, stage.path);
    std::string name = options.required_text("field");
    NpyFile file = TFD_TRY(read_npy_file(std::move(name), options, stage.context));
    length = file.length;
    fields.push_back(std::move(file.field));
  }
  return make_npy(std::move(fields), length);
}

MadeStage read_range(const Stage& stage) {
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
  return make_range(numbers[0], numbers[1], numbers[2]);
}

MadeStage read_tensor_slices(const Stage& stage) {
  ordered_json fields = {{"value", stage.value}};
  const bool is_named = stage.value.is_object() && stage.value.contains("fields");
  if (is_named) {
    Options options(stage.value, stage.path);
    fields = *options.required("fields");
    TFD_TRY(options.finish());
    TFD_TRY(check_fields_object(fields, stage.path + ".fields"));
  }
  ElementSpec spec;
  std::vector<tensor::Tensor> columns;
  for (const auto& [name, value] : fields.items()) {
    const std::string path = is_named ? fmt::format("{}.fields.{}", stage.path, printable(name)) : stage.path;
    tensor::Tensor column = TFD_TRY(tensor::tensor_from_json(nlohmann::json(value), stage.context.directory), path);
    if (column.shape().empty()) return fail(Code::kInvalidArgument, "{}: a scalar can't be sliced", path);
    if (!columns.empty() && column.shape()[0] != columns.front().shape()[0])
      return fail(Code::kInvalidArgument, "{}: {} rows, but the fields before it have {}", path, column.shape()[0],
                  columns.front().shape()[0]);
    spec.push_back({name, column.dtype(), Shape(column.shape().begin() + 1, column.shape().end())});
    columns.push_back(std::move(column));
  }
  return make_tensor_slices(std::move(spec), std::move(columns));
}

MadeStage read_shuffle(const Stage& stage) {
  const ordered_json value = with_key(stage.value, "buffer");
  Options options(value, stage.path);
  ShuffleOptions shuffle;
  shuffle.buffer = options.required_integer("buffer", 1);
  shuffle.seed = options.seed("seed");
  shuffle.reshuffle_each_iteration = options.flag("reshuffle_each_iteration", true);
  TFD_TRY(options.finish());
  return make_shuffle(stage.input, shuffle);
}

MadeStage read_repeat(const Stage& stage) {
  const ordered_json value = with_key(stage.value, "count");
  Options options(value, stage.path);
  auto count = options.integer("count", -1);  // -1 is endless, as in tf.data
  TFD_TRY(options.finish());
  return make_repeat(stage.input, count == -1 ? std::nullopt : count);
}

MadeStage read_batch(const Stage& stage) {
  const ordered_json value = with_key(stage.value, "size");
  Options options(value, stage.path);
  const std::int64_t size = options.required_integer("size", 1);
  const bool drop_remainder = options.flag("drop_remainder", false);
  TFD_TRY(options.finish());
  for (const FieldSpec& field : stage.input->spec()) {
    if (std::find(field.shape.begin(), field.shape.end(), -1) != field.shape.end())
      return fail(Code::kInvalidArgument,
                  "{}: field '{}' varies in size ({}): set \"drop_remainder\": true in the batch before", stage.path,
                  field.name, format_field(field));
    Shape shape = field.shape;
    shape.insert(shape.begin(), size);
    TFD_TRY(tensor::checked_byte_size(field.dtype, shape), stage.path + ".size");
  }
  return make_batch(stage.input, size, drop_remainder);
}

MadeStage read_map(const Stage& stage) {
  Options options(stage.value, stage.path);
  std::string name = options.required_text("function");
  std::vector<std::string> fields;
  if (const auto* stated = options.find("fields")) {
    for (const ordered_json& field : *stated)
      if (stated->is_array() && field.is_string()) fields.push_back(field.get<std::string>());
    if (!stated->is_array() || fields.size() != stated->size()) options.note("fields", "must be a list of names");
  }
  TFD_TRY(options.finish());
  if (!stage.context.find_function)
    return fail(Code::kInvalidArgument, "{}: functions can't be called here", stage.path);
  MapFunction function =
      TFD_TRY(stage.context.find_function(name, stage.input->spec(), fields), stage.path + ".function");
  return make_map(stage.input, std::move(name), std::move(function));
}

template <RowDatasetPtr (*Make)(RowDatasetPtr, std::int64_t)>
MadeStage read_count(const Stage& stage) {
  const ordered_json value = with_key(stage.value, "count");
  Options options(value, stage.path);
  const std::int64_t count = options.required_integer("count", 0);
  TFD_TRY(options.finish());
  return Make(stage.input, count);
}

MadeStage read_prefetch(const Stage& stage) {
  const ordered_json value = with_key(stage.value, "buffer");
  Options options(value, stage.path);
  const std::int64_t buffer = options.integer("buffer", 1).value_or(2);
  TFD_TRY(options.finish());
  return make_prefetch(stage.input, buffer);
}

struct Kind {
  std::string_view name;
  bool is_source;
  MadeStage (*read)(const Stage&);
};
constexpr std::array kKinds{
    Kind{"csv", true, read_csv},
    Kind{"npy", true, read_npy},
    Kind{"range", true, read_range},
    Kind{"tensor_slices", true, read_tensor_slices},
    Kind{"shuffle", false, read_shuffle},
    Kind{"repeat", false, read_repeat},
    Kind{"batch", false, read_batch},
    Kind{"map", false, read_map},
    Kind{"take", false, read_count<make_take>},
    Kind{"skip", false, read_count<make_skip>},
    Kind{"prefetch", false, read_prefetch},
};

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

Result<std::shared_ptr<const Dataset>> make_dataset(const ordered_json& pipeline, const DatasetContext& context) {
  if (!pipeline.is_array() || pipeline.empty())
    return fail(Code::kInvalidArgument,
                "a dataset must be a list of stages, such as [{{\"range\": 10}}, {{\"batch\": 2}}]");
  RowDatasetPtr dataset;
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const ordered_json& stage = pipeline[i];
    if (!stage.is_object() || stage.size() != 1)
      return fail(Code::kInvalidArgument, "[{}]: must be an object with one key, such as {}", i,
                  i == 0 ? R"({"csv": {…}})" : R"({"batch": {…}})");
    const std::string path = fmt::format("[{}].{}", i, printable(stage.begin().key()));
    const Kind* kind = TFD_TRY(find_kind(stage.begin().key(), i == 0), path);
    dataset = TFD_TRY(kind->read(Stage{stage.begin().value(), path, context, dataset}));
  }
  return dataset;
}

}  // namespace tfd::data
