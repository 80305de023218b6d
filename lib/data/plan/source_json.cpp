// SPDX-License-Identifier: Apache-2.0
//
// Sources from JSON and as JSON.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "options.hpp"
#include "stage_json.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;
using tensor::DType;
using tensor::Shape;

// "dtype": "string" is u8 of any length: a shape of its own it has none.
bool is_text(Options& options) {
  const auto* const dtype = options.find("dtype");
  if (dtype == nullptr || *dtype != "string") return false;
  const auto* const shape = options.find("shape");
  if (shape != nullptr && *shape != ordered_json::array())
    options.note("shape", "a string is of any length, without a shape");
  return true;
}

// "dtype" and "shape" where they are stated.
std::optional<DType> read_dtype(Options& options) {
  const auto name = options.text("dtype");
  if (!name) return std::nullopt;
  auto dtype = tensor::parse_dtype(*name);
  if (!dtype) options.note("dtype", dtype.error().message);
  return dtype.value_or(DType::kF32);
}

// `may_vary`: whether the first dimension may be -1.
std::optional<Shape> read_shape(Options& options, DType dtype, bool may_vary = false) {
  const auto* value = options.find("shape");
  if (value == nullptr) return std::nullopt;
  Shape shape;
  if (!value->is_array()) return options.note("shape", "must be a list of sizes"), std::nullopt;
  for (const ordered_json& size : *value) {
    const auto number = integer_of(size);
    const bool varies = may_vary && shape.empty() && number == -1;
    if (!number || (*number < 0 && !varies)) return options.note("shape", "must be a list of sizes"), std::nullopt;
    shape.push_back(*number);
  }
  Shape least = shape;
  std::ranges::replace(least, -1, 1);
  if (const auto bytes = tensor::checked_byte_size(dtype, least); !bytes)
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
  if (is_text(options)) {
    if (!columns.shape.empty()) options.note("columns", "a string is one column");
    TFD_TRY(options.finish());
    return CsvField{text_field(name), columns.first};
  }
  const DType dtype = read_dtype(options).value_or(DType::kF32);
  const auto shape = read_shape(options, dtype);
  if (shape && tensor::element_count(*shape) != tensor::element_count(columns.shape))
    options.note("shape", fmt::format("{} has {} elements, but there are {} columns", tensor::format_shape(*shape),
                                      tensor::element_count(*shape), tensor::element_count(columns.shape)));
  TFD_TRY(options.finish());
  return CsvField{{name, dtype, shape.value_or(columns.shape)}, columns.first};
}

template <class Read>
using FieldRead = typename std::invoke_result_t<Read, std::string, ordered_json, std::string>::value_type;

// What read(name, value, path) makes of each field that the stage states under `key`.
template <class Read>
auto read_fields(const ordered_json& fields, const StatedStage& stage, const char* key, const Read& read)
    -> Result<std::vector<FieldRead<Read>>> {
  const std::string path = fmt::format("{}.{}", stage.path, key);
  if (!fields.is_object() || fields.empty())
    return fail(Code::kInvalidArgument, "{}: must be an object with at least one field", path);
  std::vector<FieldRead<Read>> out;
  for (const auto& [name, value] : fields.items())
    out.push_back(TFD_TRY(read(name, value, fmt::format("{}.{}", path, printable(name)))));
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

Result<NpyField> read_stated_npy_field(const std::string& name, const ordered_json& value, const std::string& path) {
  Options options(value, path);
  return read_npy_field(name, options);
}

Result<ArchiveField> read_archive_field(const std::string& name, const ordered_json& value, const std::string& path) {
  Options options(value, path);
  ArchiveField field{name, options.text("key").value_or(name)};
  field.dtype = read_dtype(options);
  field.shape = read_shape(options, field.dtype.value_or(DType::kF32));
  TFD_TRY(options.finish());
  return field;
}

// A field whose first dimension may vary, as its dtype and shape.
FieldSpec read_varying_spec(const std::string& name, Options& options) {
  if (is_text(options)) return text_field(name);
  const DType dtype = read_dtype(options).value_or(DType::kF32);
  return {name, dtype, read_shape(options, dtype, true).value_or(Shape{})};
}

Result<FieldSpec> read_jsonl_field(const std::string& name, const ordered_json& value, const std::string& path) {
  Options options(value, path);
  FieldSpec field = read_varying_spec(name, options);
  TFD_TRY(options.finish());
  return field;
}

ordered_json write_spec(const FieldSpec& field) {
  if (field.is_text) return {{"dtype", "string"}};
  ordered_json out = {{"dtype", tensor::dtype_name(field.dtype)}};
  if (!field.shape.empty()) out["shape"] = field.shape;
  return out;
}

tensor::Tensor bytes_of(const std::string& text) {
  tensor::Tensor out = tensor::Tensor::uninitialized(DType::kU8, {static_cast<std::int64_t>(text.size())});
  std::ranges::copy(text, out.mutable_as<std::uint8_t>());
  return out;
}

Result<ExampleFeature> read_feature(const std::string& name, const ordered_json& value, const std::string& path) {
  Options options(value, path);
  ExampleFeature feature{read_varying_spec(name, options)};
  const ordered_json* fallback = options.find("default");
  TFD_TRY(options.finish());
  if (fallback == nullptr) return feature;
  if (feature.spec.is_text) {
    if (!fallback->is_string()) return fail(Code::kInvalidArgument, "{}.default: must be a string", path);
    feature.fallback = bytes_of(fallback->get_ref<const std::string&>());
    return feature;
  }
  tensor::TensorSpec spec{feature.spec.dtype, feature.spec.shape};
  if (!spec.shape.empty() && spec.shape[0] == -1)
    spec.shape[0] = static_cast<std::int64_t>(fallback->is_array() ? fallback->size() : 0);
  feature.fallback = TFD_TRY(tensor::tensor_from_json(nlohmann::json(*fallback), spec), path + ".default");
  return feature;
}

// Typed, whatever they hold.
ordered_json write_rows(const tensor::Tensor& rows) {
  const auto value = tensor::tensor_to_json(rows);
  ordered_json out = {{"dtype", tensor::dtype_name(rows.dtype())}, {"shape", rows.shape()}};
  out["data"] = value.is_object() ? ordered_json(value["data"]) : ordered_json(value);
  return out;
}

template <ArrayFormat kFormat>
ReadStage read_arrays(const StatedStage& stage) {
  ArraySource<kFormat> arrays;
  Options options(stage.value, stage.path);
  arrays.is_single = !stage.value.is_object() || !stage.value.contains("fields");
  if (arrays.is_single) {
    std::string name = options.required_text("field");
    arrays.fields.push_back(TFD_TRY(read_npy_field(std::move(name), options)));
    return arrays;
  }
  const ordered_json& stated = *options.required("fields");
  TFD_TRY(options.finish());
  arrays.fields = TFD_TRY(read_fields(stated, stage, "fields", read_stated_npy_field));
  return arrays;
}

// What of an array's rows is stated.
template <class Field>
void write_stated(const Field& field, ordered_json& out) {
  if (field.dtype) out["dtype"] = tensor::dtype_name(*field.dtype);
  if (field.shape) out["shape"] = *field.shape;
}

template <ArrayFormat kFormat>
ordered_json write_arrays(const ArraySource<kFormat>& arrays) {
  ordered_json fields = ordered_json::object();
  for (const NpyField& field : arrays.fields) {
    ordered_json one = {{"path", field.path}};
    write_stated(field, one);
    if (arrays.is_single) {
      one["field"] = field.name;
      return one;
    }
    fields[field.name] = std::move(one);
  }
  return {{"fields", std::move(fields)}};
}

template <ArchiveFormat kFormat>
ReadStage read_archive(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  ArchiveSource<kFormat> archive;
  archive.path = options.required_text("path");
  const ordered_json* stated = options.find("fields");
  TFD_TRY(options.finish());
  if (stated == nullptr) return archive;
  archive.fields = TFD_TRY(read_fields(*stated, stage, "fields", read_archive_field));
  return archive;
}

template <ArchiveFormat kFormat>
ordered_json write_archive(const ArchiveSource<kFormat>& archive) {
  ordered_json out = {{"path", archive.path}};
  for (const ArchiveField& field : archive.fields) {
    ordered_json one = {{"key", field.key}};
    write_stated(field, one);
    out["fields"][field.name] = std::move(one);
  }
  return out;
}

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

// "path": one, or a list of them; "shard": which of the files; "cycle_length": how many at a time.
FileList read_files(Options& options) {
  const ordered_json* path = options.find("path");
  FileList files;
  if (path == nullptr || !path->is_array()) files.paths.push_back(options.required_text("path"));
  if (path != nullptr && path->is_array()) {
    for (const ordered_json& one : *path)
      if (one.is_string() && one != "") files.paths.push_back(one.get<std::string>());
    if (path->empty() || files.paths.size() != path->size()) options.note("path", "must be a path, or a list of paths");
  }
  if (const ordered_json* stated = options.find("shard")) {
    const auto shard = read_shard({*stated, options.path() + ".shard"});
    if (shard) files.shard = std::get<Shard>(*shard);
    if (!shard) options.note(shard.error());
    if (files.shard.by_hint) options.note("shard", "must be an object");
  }
  files.cycle_length = options.integer("cycle_length", 1).value_or(1);
  files.block_length = options.integer("block_length", 1).value_or(1);
  if (files.cycle_length == 1 && files.block_length != 1)
    options.note("block_length", "is for files that are read in turns: \"cycle_length\" of them");
  return files;
}

ordered_json write_files(const FileList& files) {
  ordered_json out = {
      {"path", files.paths.size() == 1 ? ordered_json(files.paths.front()) : ordered_json(files.paths)}};
  if (files.shard != Shard{}) out["shard"] = write(files.shard);
  if (files.cycle_length != 1) out["cycle_length"] = files.cycle_length;
  if (files.block_length != 1) out["block_length"] = files.block_length;
  return out;
}

}  // namespace

ReadStage read_csv(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  CsvSource csv;
  csv.files = read_files(options);
  const auto* fields = options.required("fields");
  csv.header = options.flag("header", false);
  const std::string delimiter = options.text("delimiter").value_or(",");
  constexpr std::string_view kInNumbers = "+-.\"\r\n";
  if (delimiter.size() != 1 || kInNumbers.find(delimiter[0]) != std::string_view::npos ||
      std::isalnum(static_cast<unsigned char>(delimiter[0])))
    options.note("delimiter", "must be a single character that can't be part of a number");
  csv.delimiter = delimiter.empty() ? ',' : delimiter[0];
  csv.skip_errors = options.skips_errors();
  TFD_TRY(options.finish());
  csv.fields = TFD_TRY(read_fields(*fields, stage, "fields", read_csv_field));
  return csv;
}

ordered_json write(const CsvSource& csv) {
  ordered_json out = write_files(csv.files);
  out["fields"] = ordered_json::object();
  for (const CsvField& field : csv.fields) {
    ordered_json& one = out["fields"][field.spec.name];
    if (field.spec.is_text) {
      one = {{"columns", field.first_column}, {"dtype", "string"}};
      continue;
    }
    const std::int64_t count = tensor::element_count(field.spec.shape);
    one["columns"] = {field.first_column, field.first_column + count};
    one["dtype"] = tensor::dtype_name(field.spec.dtype);
    one["shape"] = field.spec.shape;
  }
  if (csv.header) out["header"] = true;
  if (csv.delimiter != ',') out["delimiter"] = std::string(1, csv.delimiter);
  if (csv.skip_errors) out["on_error"] = "skip";
  return out;
}

ReadStage read_jsonl(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  JsonlSource jsonl;
  jsonl.files = read_files(options);
  const ordered_json* fields = options.required("fields");
  jsonl.skip_errors = options.skips_errors();
  TFD_TRY(options.finish());
  jsonl.fields = TFD_TRY(read_fields(*fields, stage, "fields", read_jsonl_field));
  return jsonl;
}

ordered_json write(const JsonlSource& jsonl) {
  ordered_json out = write_files(jsonl.files);
  for (const FieldSpec& field : jsonl.fields) out["fields"][field.name] = write_spec(field);
  if (jsonl.skip_errors) out["on_error"] = "skip";
  return out;
}

ReadStage read_text(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  TextSource text;
  text.files = read_files(options);
  text.field = options.text("field").value_or(text.field);
  TFD_TRY(options.finish());
  return text;
}

ordered_json write(const TextSource& text) {
  ordered_json out = write_files(text.files);
  out["field"] = text.field;
  return out;
}

ReadStage read_tfrecord(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  TfrecordSource records;
  records.files = read_files(options);
  const ordered_json* features = options.find("features");
  records.skip_errors = options.skips_errors();
  if (const auto field = options.text("field")) {
    records.field = *field;
    if (features != nullptr) options.note("field", "is for records without features");
  }
  TFD_TRY(options.finish());
  if (features == nullptr) return records;
  records.features = TFD_TRY(read_fields(*features, stage, "features", read_feature));
  return records;
}

ordered_json write(const TfrecordSource& records) {
  ordered_json out = write_files(records.files);
  for (const ExampleFeature& feature : records.features) {
    ordered_json& one = out["features"][feature.spec.name];
    one = write_spec(feature.spec);
    if (feature.fallback && feature.spec.is_text)
      one["default"] =
          std::string(reinterpret_cast<const char*>(feature.fallback->data()), feature.fallback->byte_size());
    else if (feature.fallback)
      one["default"] = write_rows(*feature.fallback);
  }
  if (records.features.empty()) out["field"] = records.field;
  if (records.skip_errors) out["on_error"] = "skip";
  return out;
}

ReadStage read_npy(const StatedStage& stage) { return read_arrays<ArrayFormat::kNpy>(stage); }
ReadStage read_idx(const StatedStage& stage) { return read_arrays<ArrayFormat::kIdx>(stage); }
ordered_json write(const NpySource& arrays) { return write_arrays(arrays); }
ordered_json write(const IdxSource& arrays) { return write_arrays(arrays); }

ReadStage read_npz(const StatedStage& stage) { return read_archive<ArchiveFormat::kNpz>(stage); }
ReadStage read_safetensors(const StatedStage& stage) { return read_archive<ArchiveFormat::kSafetensors>(stage); }
ordered_json write(const NpzSource& archive) { return write_archive(archive); }
ordered_json write(const SafetensorsSource& archive) { return write_archive(archive); }

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

ReadStage read_tensor_slices(const StatedStage& stage) {
  SlicesSource slices;
  if (!stage.value.is_object() || !stage.value.contains("fields")) {
    slices.fields.push_back(TFD_TRY(read_slices_field("value", stage.value, stage.path)));
    return slices;
  }
  Options options(stage.value, stage.path);
  const ordered_json& fields = *options.required("fields");
  TFD_TRY(options.finish());
  slices.fields = TFD_TRY(read_fields(fields, stage, "fields", read_slices_field));
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
      one = write_rows(field.rows);
    }
  }
  return {{"fields", std::move(fields)}};
}

}  // namespace tfd::data
