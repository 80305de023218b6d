// SPDX-License-Identifier: Apache-2.0
//
// Plans made into datasets: what only shows where the data are is checked here.
#include "tfd/data/plan.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "files/file_pattern.hpp"
#include "files/file_stamp.hpp"
#include "sources/sources.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"
#include "transformations/transformations.hpp"

namespace tfd::data {
namespace {

using MadeStage = Result<RowDatasetPtr>;

MadeStage make_rows(const Plan& plan, const DatasetContext& context, const std::string& path);

// Makes one stage of a plan, by its kind.
class Maker {
 public:
  /// `before`: the stages that the input was made of.
  Maker(const DatasetContext& context, std::string path, Plan before, RowDatasetPtr input)
      : context_(context), path_(std::move(path)), before_(std::move(before)), input_(std::move(input)) {}

  MadeStage operator()(const CsvSource& csv) const { return make_rows_of_files(csv, csv.skip_errors, make_csv); }
  MadeStage operator()(const JsonlSource& jsonl) const {
    return make_rows_of_files(jsonl, jsonl.skip_errors, make_jsonl);
  }
  MadeStage operator()(const TextSource& text) const { return make_rows_of_files(text, false, make_text); }
  MadeStage operator()(const TfrecordSource& records) const {
    return make_rows_of_files(records, records.skip_errors, make_tfrecord);
  }

  MadeStage operator()(const CommandSource& command) const {
    return make_command(command, {.skipped = context_.skipped, .parsing = context_.parsing}, context_.commands);
  }

  template <ArrayFormat kFormat>
  MadeStage operator()(const ArraySource<kFormat>& stated) const {
    Columns columns;
    for (const NpyField& field : stated.fields) {
      const std::string path = stated.is_single ? path_ : path_of_field(field.name);
      const StoredArray array{
          kFormat == ArrayFormat::kNpy ? StoredFormat::kNpy : StoredFormat::kIdx, file_path(field.path), {}};
      TFD_TRY(add_column(columns, {field.name, array, field.dtype, field.shape}, path));
    }
    return share(stated, [&] { return make_arrays(std::move(columns.arrays), columns.length); });
  }

  template <ArchiveFormat kFormat>
  MadeStage operator()(const ArchiveSource<kFormat>& stated) const {
    const StoredFormat format = kFormat == ArchiveFormat::kNpz ? StoredFormat::kNpz : StoredFormat::kSafetensors;
    const std::string file = file_path(stated.path);
    std::vector<ArchiveField> fields = stated.fields;
    if (fields.empty()) {
      if (!context_.look_at_files || (context_.missing_file && !is_there(file)))
        return fail(Code::kNotFound, "{}: cannot look at {} here, so state the fields, their dtypes and shapes", path_,
                    file);
      for (const std::string& key : TFD_TRY(load_array_names(format, file), path_ + ".path"))
        fields.push_back({key, key});
    }
    Columns columns;
    for (const ArchiveField& field : fields)
      TFD_TRY(add_column(columns, {field.name, {format, file, field.key}, field.dtype, field.shape},
                         path_of_field(field.name)));
    if (columns.arrays.empty()) return fail(Code::kInvalidArgument, "{}: {} has no arrays", path_, file);
    return share(stated, [&] { return make_arrays(std::move(columns.arrays), columns.length); });
  }

  MadeStage operator()(const RangeSource& range) const { return make_range(range); }

  MadeStage operator()(const SlicesSource& slices) const {
    ElementSpec spec;
    std::vector<tensor::Tensor> columns;
    const bool is_single = slices.fields.size() == 1 && slices.fields.front().name == "value";
    for (const SlicesField& field : slices.fields) {
      const std::string path = is_single ? path_ : path_of_field(field.name);
      tensor::Tensor column = TFD_TRY(rows_of(field), path);
      if (column.shape().empty()) return fail(Code::kInvalidArgument, "{}: a scalar can't be sliced", path);
      if (!columns.empty() && column.shape()[0] != columns.front().shape()[0])
        return fail(Code::kInvalidArgument, "{}: {} rows, but the fields before it have {}", path, column.shape()[0],
                    columns.front().shape()[0]);
      spec.push_back({field.name, column.dtype(), tensor::Shape(column.shape().begin() + 1, column.shape().end())});
      columns.push_back(std::move(column));
    }
    return make_tensor_slices(std::move(spec), std::move(columns));
  }

  MadeStage operator()(const Shuffle& shuffle) const { return make_shuffle(input_, shuffle); }
  MadeStage operator()(const Repeat& repeat) const { return make_repeat(input_, repeat, counts_by_content(before_)); }

  MadeStage operator()(const Batch& batch) const {
    TFD_TRY(check_packed(batch.size));
    TFD_TRY(check_mask(batch.mask, batch.size));
    return make_batch(input_, batch);
  }
  MadeStage operator()(const Window& window) const {
    TFD_TRY(check_packed(window.size));
    return make_window(input_, window);
  }
  MadeStage operator()(const PaddedBatch& batch) const {
    TFD_TRY(check_mask(batch.mask, batch.size));
    return make_padded_batch(input_, batch, TFD_TRY(padded_fields(batch)));
  }

  MadeStage operator()(const Unbatch&) const {
    TFD_TRY(check_rows());
    return make_unbatch(input_);
  }
  MadeStage operator()(const Rebatch& rebatch) const {
    TFD_TRY(check_rows());
    return make_rebatch(input_, rebatch);
  }
  MadeStage operator()(const LegacyRebatch& rebatch) const {
    TFD_TRY(check_batched());
    return make_legacy_rebatch(input_, rebatch);
  }
  MadeStage operator()(const WholeSteps& steps) const {
    if (!steps.drop_remainder) TFD_TRY(check_batched());
    return make_whole_steps(input_, steps);
  }

  MadeStage operator()(const Map& map) const {
    return make_map(input_, map, TFD_TRY(find_function(map.function, map.fields)), context_.skipped);
  }
  MadeStage operator()(const Filter& filter) const {
    MapFunction function = TFD_TRY(find_function(filter.function, {"keep"}));
    if (function.spec.size() != 1 || function.spec[0].dtype != tensor::DType::kBool || !function.spec[0].shape.empty())
      return fail(Code::kInvalidArgument, "{}.function: '{}' makes {}, but a filter's makes one bool", path_,
                  filter.function, function.spec.empty() ? "nothing" : format_field(function.spec[0]));
    return make_filter(input_, filter, std::move(function), context_.skipped);
  }
  MadeStage operator()(const Enumerate& enumerate) const {
    TFD_TRY(check_new("field", enumerate.field));
    return make_enumerate(input_, enumerate);
  }
  MadeStage operator()(const Take& take) const { return make_take(input_, take); }
  MadeStage operator()(const Skip& skip) const { return make_skip(input_, skip); }
  MadeStage operator()(const Shard& shard) const {
    if (!shard.by_hint) return make_shard(input_, shard);
    return fail(
        Code::kFailedPrecondition,
        "{}: a hint (tf.data's SHARD_HINT) is for datasets that are distributed with {{\"options\": {{\"auto_shard\": "
        "\"hint\"}}}}; elsewhere state count and index",
        path_);
  }

  MadeStage operator()(const Concatenate& concatenate) const {
    auto inputs = TFD_TRY(make_inputs(concatenate.others, path_));
    ElementSpec spec = TFD_TRY(common_spec(inputs), path_);
    return make_concatenate(std::move(spec), std::move(inputs));
  }
  MadeStage operator()(const Interleave& interleave) const {
    auto inputs = TFD_TRY(make_inputs(interleave.others, path_ + ".datasets"));
    ElementSpec spec = TFD_TRY(common_spec(inputs), path_);
    return make_interleave(std::move(spec), std::move(inputs), interleave);
  }
  MadeStage operator()(const Zip& zip) const {
    auto inputs = TFD_TRY(make_inputs(zip.others, path_));
    std::set<std::string> names;
    for (const RowDatasetPtr& input : inputs)
      for (const FieldSpec& field : input->spec())
        if (!names.insert(field.name).second)
          return fail(Code::kInvalidArgument, "{}: two datasets have a field '{}'", path_, printable(field.name));
    return make_zip(std::move(inputs));
  }

  MadeStage operator()(const Cache& cache) const {
    Cache placed = cache;
    if (!cache.path.empty()) placed.path = file_path(cache.path);
    return make_cache(input_, placed, to_json(before_).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  MadeStage operator()(const Prefetch& prefetch) const { return make_prefetch(input_, prefetch); }
  MadeStage operator()(const WithOptions&) const { return input_; }

 private:
  std::string file_path(const std::string& stated) const {
    const std::filesystem::path path(stated);
    return path.is_absolute() || context_.directory.empty()
               ? stated
               : (std::filesystem::path(context_.directory) / path).string();
  }

  std::string path_of_field(const std::string& name) const {
    return fmt::format("{}.fields.{}", path_, printable(name));
  }

  // Sources whose files are looked for here, and read by every pass.
  template <class Source, class Make>
  MadeStage make_rows_of_files(const Source& stated, bool skip_errors, const Make& make) const {
    FileRowsOptions options{
        .files = stated.files, .skip_errors = skip_errors, .skipped = context_.skipped, .parsing = context_.parsing};
    for (std::string& path : options.files.paths) {
      path = file_path(path);
      if (!context_.look_at_files || is_left_to_others(path_, path)) continue;
      for (const std::string& file : TFD_TRY(find_files(path), path_ + ".path"))
        TFD_TRY(load_stamp(file), path_ + ".path");
    }
    return share(stated, [&]() -> RowDatasetPtr {
      if (stated.files.cycle_length == 1) return make(stated, std::move(options));
      ElementSpec spec = make(stated, options)->spec();
      const auto make_one = [stated, make](FileRowsOptions one) { return make(stated, std::move(one)); };
      return make_interleaved_files(std::move(spec), std::move(options), make_one);
    });
  }

  // Rows of one size, which are packed so many at a time.
  Result<void> check_packed(std::int64_t size) const {
    for (const FieldSpec& field : input_->spec()) {
      if (varies(field))
        return fail(Code::kInvalidArgument, "{}: field '{}' varies in size ({}): {}", path_, field.name,
                    format_field(field),
                    is_batched() ? "set \"drop_remainder\": true in the batch before" : "use padded_batch");
      tensor::Shape shape = field.shape;
      shape.insert(shape.begin(), size);
      TFD_TRY(tensor::checked_byte_size(field.dtype, shape), path_ + ".size");
    }
    return {};
  }
  // Fields that are rows.
  Result<void> check_batched() const {
    for (const FieldSpec& field : input_->spec())
      if (is_scalar(field))
        return fail(Code::kInvalidArgument, "{}: field '{}' is a scalar: not of a batch", path_, field.name);
    return {};
  }
  // As many of each, as far as that is known.
  Result<void> check_rows() const {
    TFD_TRY(check_batched());
    const FieldSpec* known = nullptr;
    for (const FieldSpec& field : input_->spec()) {
      if (field.shape.front() == -1) continue;
      if (known != nullptr && known->shape.front() != field.shape.front())
        return fail(Code::kInvalidArgument, "{}: field '{}' has {} rows, but '{}' has {}", path_, field.name,
                    field.shape.front(), known->name, known->shape.front());
      known = &field;
    }
    return {};
  }
  Result<void> check_new(const std::string& key, const std::string& name) const {
    if (std::ranges::find(input_->spec(), name, &FieldSpec::name) == input_->spec().end()) return {};
    return fail(Code::kInvalidArgument, "{}.{}: the elements have a field '{}' already", path_, key, printable(name));
  }
  // Where a batch is filled up its size is a matter of memory.
  Result<void> check_mask(const std::optional<std::string>& mask, std::int64_t size) const {
    constexpr std::int64_t kMost = 1 << 28;
    if (!mask) return {};
    if (size > kMost) return fail(Code::kInvalidArgument, "{}.size: at most {} are filled up", path_, kMost);
    return check_new("mask", *mask);
  }
  bool is_batched() const {
    return std::ranges::any_of(before_.stages, [](const Stage& stage) {
      return std::holds_alternative<Batch>(stage) || std::holds_alternative<Window>(stage);
    });
  }

  Result<std::vector<PaddedField>> padded_fields(const PaddedBatch& batch) const {
    std::vector<PaddedField> fields;
    for (const FieldSpec& field : input_->spec())
      fields.push_back({field.shape, tensor::Tensor::zeros(field.dtype, {})});
    for (const PaddedBatch::Field& stated : batch.fields) {
      const auto at = std::ranges::find(input_->spec(), stated.name, &FieldSpec::name);
      if (at == input_->spec().end())
        return fail(Code::kInvalidArgument, "{}: the elements have no field '{}'", path_, printable(stated.name));
      PaddedField& field = fields[static_cast<std::size_t>(at - input_->spec().begin())];
      if (stated.shape) field.shape = TFD_TRY(padded_shape(*at, *stated.shape));
      if (stated.value) field.value = TFD_TRY(padding_value(*at, *stated.value));
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
      tensor::Shape shape = fields[i].shape;
      std::ranges::replace(shape, -1, 1);
      shape.insert(shape.begin(), batch.size);
      TFD_TRY(tensor::checked_byte_size(input_->spec()[i].dtype, shape), path_ + ".size");
    }
    return fields;
  }
  Result<tensor::Shape> padded_shape(const FieldSpec& field, tensor::Shape stated) const {
    const auto wrong = [&] {
      return fail(Code::kInvalidArgument, "{}.padded_shapes.{}: {} is padded to no {}", path_, printable(field.name),
                  format_field(field), tensor::format_shape(stated));
    };
    if (stated.size() != field.shape.size()) return wrong();
    for (std::size_t axis = 0; axis < stated.size(); ++axis) {
      if (stated[axis] == -1) stated[axis] = field.shape[axis];
      if (stated[axis] != -1 && stated[axis] < field.shape[axis]) return wrong();
    }
    return stated;
  }
  Result<tensor::Tensor> padding_value(const FieldSpec& field, double value) const {
    const bool is_whole = value == std::trunc(value) && std::abs(value) < 9e15;
    const nlohmann::json json = is_whole && !is_floating(field.dtype) ? nlohmann::json(static_cast<std::int64_t>(value))
                                                                      : nlohmann::json(value);
    return at_field(tensor::tensor_from_json(json, {field.dtype, {}}), "padding_values", field);
  }
  template <class T>
  Result<T> at_field(Result<T> result, const char* key, const FieldSpec& field) const {
    if (result) return result;
    return fail(std::move(result.error()).within(fmt::format("{}.{}.{}", path_, key, printable(field.name))));
  }

  Result<MapFunction> find_function(const std::string& name, const std::vector<std::string>& fields) const {
    if (!context_.find_function) return fail(Code::kInvalidArgument, "{}: functions can't be called here", path_);
    return TFD_TRY(context_.find_function(name, input_->spec(), fields), path_ + ".function");
  }

  // This dataset, then the other ones.
  Result<std::vector<RowDatasetPtr>> make_inputs(const std::vector<Plan>& others, const std::string& path) const {
    std::vector<RowDatasetPtr> inputs{input_};
    for (std::size_t i = 0; i < others.size(); ++i) {
      const std::string at = others.size() == 1 ? path : fmt::format("{}[{}]", path, i);
      inputs.push_back(TFD_TRY(make_rows(others[i], context_, at)));
    }
    return inputs;
  }

  static bool is_missing(const std::string& file) {
    return is_pattern(file) ? !find_files(file).has_value() : !is_there(file);
  }
  bool is_left_to_others(const std::string& path, const std::string& file) const {
    if (!context_.missing_file || !is_missing(file)) return false;
    context_.missing_file(path + ".path", file);
    return true;
  }

  // The source that the context has of this, or a new one, which it has from now on.
  template <class Make>
  RowDatasetPtr share(const Stage& stated, const Make& make) const {
    if (context_.sources == nullptr) return make();
    for (const auto& [stage, dataset] : context_.sources->made)
      if (stage == stated) return std::static_pointer_cast<const RowDataset>(dataset);
    RowDatasetPtr made = make();
    context_.sources->made.emplace_back(stated, made);
    return made;
  }

  // A field of arrays, as it is stated. Its header says dtype and shape; where it can't be looked at they must be
  // stated.
  struct StatedColumn {
    std::string name;
    StoredArray array;
    std::optional<tensor::DType> dtype;
    std::optional<tensor::Shape> shape;
  };
  struct Columns {
    std::vector<ArrayColumn> arrays;
    std::optional<std::int64_t> length;
  };
  Result<void> add_column(Columns& columns, const StatedColumn& field, const std::string& path) const {
    const std::string& file = field.array.path;
    const bool is_stated = field.dtype && field.shape;
    columns.arrays.push_back(
        {{field.name, field.dtype.value_or(tensor::DType::kF32), field.shape.value_or(tensor::Shape{})}, field.array});
    if (is_stated && is_left_to_others(path, file)) return {};
    if (context_.missing_file && !is_there(file))
      return fail(Code::kNotFound,
                  "{}: cannot find {}; if only the workers have it, set its dtype and the shape of a row", path, file);
    if (!context_.look_at_files) {
      if (is_stated) return {};
      return fail(Code::kInvalidArgument,
                  "{}: the file can't be read from here, so set its dtype and the shape of a row", path);
    }
    const std::string where = field.array.key.empty() ? path + ".path" : path;  // a file of its own, or an array in one
    const tensor::TensorSpec whole = TFD_TRY(load_array_spec(field.array), where);
    const tensor::TensorSpec row = TFD_TRY(row_spec_of(whole, file), where);
    if (field.dtype.value_or(row.dtype) != row.dtype || field.shape.value_or(row.shape) != row.shape)
      return fail(Code::kInvalidArgument, "{}: the rows of {} are {}, not {}", path, file, format_spec(row),
                  format_field({"", field.dtype.value_or(row.dtype), field.shape.value_or(row.shape)}));
    if (columns.length && *columns.length != whole.shape[0])
      return fail(Code::kInvalidArgument, "{}: {} rows, but the fields before it have {}", path, whole.shape[0],
                  *columns.length);
    columns.arrays.back().spec = {field.name, row.dtype, row.shape};
    columns.length = whole.shape[0];
    return {};
  }

  Result<tensor::Tensor> rows_of(const SlicesField& field) const {
    if (field.rows.has_value()) return field.rows;
    const nlohmann::json file = field.key ? nlohmann::json{{"safetensors", field.path}, {"key", *field.key}}
                                          : nlohmann::json{{"npy", field.path}};
    return tensor::tensor_from_json(file, context_.directory);
  }

  const DatasetContext& context_;
  const std::string path_;  // "[3].batch"
  const Plan before_;
  const RowDatasetPtr input_;  // null for a source
};

// `path`: where the pipeline is; empty for the outermost.
MadeStage make_rows(const Plan& plan, const DatasetContext& context, const std::string& path) {
  RowDatasetPtr dataset;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const Stage& stage = plan.stages[i];
    std::string at = fmt::format("{}[{}].{}", path, i, name_of(stage));
    if (is_source(stage) != (i == 0))
      return fail(Code::kInvalidArgument, "{}: a pipeline starts with a source, and has one", at);
    Plan before{{plan.stages.begin(), plan.stages.begin() + static_cast<std::ptrdiff_t>(i)}};
    dataset = TFD_TRY(std::visit(Maker(context, std::move(at), std::move(before), dataset), stage));
  }
  if (!dataset)
    return fail(Code::kInvalidArgument, "{}a pipeline starts with a source", path.empty() ? "" : path + ": ");
  return dataset;
}

// The same source, stating what the dataset made of it has found in the files' headers.
template <class Fields>
void state_fields(Fields& fields, const ElementSpec& spec) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    fields[i].dtype = spec[i].dtype;
    fields[i].shape = spec[i].shape;
  }
}
struct StateSpecs {
  const ElementSpec& spec;
  template <ArrayFormat kFormat>
  void operator()(ArraySource<kFormat>& source) const {
    state_fields(source.fields, spec);
  }
  template <ArchiveFormat kFormat>
  void operator()(ArchiveSource<kFormat>& source) const {
    if (source.fields.empty())
      for (const FieldSpec& field : spec) source.fields.push_back({field.name, field.name});
    state_fields(source.fields, spec);
  }
  template <class Other>
  void operator()(Other&) const {}
};

bool is_of_arrays(const Stage& stage) {
  return std::holds_alternative<NpySource>(stage) || std::holds_alternative<IdxSource>(stage) ||
         std::holds_alternative<NpzSource>(stage) || std::holds_alternative<SafetensorsSource>(stage);
}

}  // namespace

Result<void> state_specs(Plan& plan, const DatasetContext& context) {
  DatasetContext silent = context;
  if (silent.missing_file) silent.missing_file = [](const std::string&, const std::string&) {};
  for (Stage& stage : plan.stages) {
    if (is_of_arrays(stage)) {
      const RowDatasetPtr rows = TFD_TRY(make_rows(Plan{{stage}}, silent, ""));
      std::visit(StateSpecs{rows->spec()}, stage);
    }
    for (Plan& inner : inner_plans(stage)) TFD_TRY(state_specs(inner, silent));
  }
  return {};
}

Result<std::shared_ptr<const Dataset>> instantiate(const Plan& plan, const DatasetContext& context) {
  RowDatasetPtr dataset = TFD_TRY(make_rows(plan, context, ""));
  if (context.ahead > 0) return make_prefetch(std::move(dataset), Prefetch{context.ahead});
  return dataset;
}

}  // namespace tfd::data
