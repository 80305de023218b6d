// SPDX-License-Identifier: Apache-2.0
//
// Plans rewritten, and made into datasets: what only shows where the data are is checked here.
#include "tfd/data/plan.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "file_stamp.hpp"
#include "sources.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/tensor/npy.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

using MadeStage = Result<RowDatasetPtr>;

// Makes one stage of a plan, by its kind.
class Maker {
 public:
  Maker(const DatasetContext& context, std::string path, RowDatasetPtr input)
      : context_(context), path_(std::move(path)), input_(std::move(input)) {}

  MadeStage operator()(const CsvSource& stated) const {
    CsvSource csv = stated;
    csv.path = file_path(stated.path);
    const bool look = context_.look_at_files && !is_left_to_others(path_, csv.path);
    if (look) TFD_TRY(load_stamp(csv.path), path_ + ".path");
    return share(stated, [&] { return make_csv(std::move(csv)); });
  }

  MadeStage operator()(const NpySource& stated) const {
    std::vector<NpyColumn> columns;
    std::optional<std::int64_t> length;
    for (const NpyField& field : stated.fields) {
      const std::string path = stated.is_single ? path_ : fmt::format("{}.fields.{}", path_, printable(field.name));
      NpyFile file = TFD_TRY(look_at(field, path));
      if (length && file.length && *length != *file.length)
        return fail(Code::kInvalidArgument, "{}: {} rows, but the fields before it have {}", path, *file.length,
                    *length);
      length = file.length;
      columns.push_back(std::move(file.column));
    }
    return share(stated, [&] { return make_npy(std::move(columns), length); });
  }

  MadeStage operator()(const RangeSource& range) const { return make_range(range); }

  MadeStage operator()(const SlicesSource& slices) const {
    ElementSpec spec;
    std::vector<tensor::Tensor> columns;
    const bool is_single = slices.fields.size() == 1 && slices.fields.front().name == "value";
    for (const SlicesField& field : slices.fields) {
      const std::string path = is_single ? path_ : fmt::format("{}.fields.{}", path_, printable(field.name));
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
  MadeStage operator()(const Repeat& repeat) const { return make_repeat(input_, repeat); }

  MadeStage operator()(const Batch& batch) const {
    for (const FieldSpec& field : input_->spec()) {
      if (std::find(field.shape.begin(), field.shape.end(), -1) != field.shape.end())
        return fail(Code::kInvalidArgument,
                    "{}: field '{}' varies in size ({}): set \"drop_remainder\": true in the batch before", path_,
                    field.name, format_field(field));
      tensor::Shape shape = field.shape;
      shape.insert(shape.begin(), batch.size);
      TFD_TRY(tensor::checked_byte_size(field.dtype, shape), path_ + ".size");
    }
    return make_batch(input_, batch);
  }

  MadeStage operator()(const Map& map) const {
    if (!context_.find_function) return fail(Code::kInvalidArgument, "{}: functions can't be called here", path_);
    MapFunction function =
        TFD_TRY(context_.find_function(map.function, input_->spec(), map.fields), path_ + ".function");
    return make_map(input_, map.function, std::move(function));
  }

  MadeStage operator()(const Take& take) const { return make_take(input_, take); }
  MadeStage operator()(const Skip& skip) const { return make_skip(input_, skip); }
  MadeStage operator()(const Shard& shard) const { return make_shard(input_, shard); }
  MadeStage operator()(const Prefetch& prefetch) const { return make_prefetch(input_, prefetch); }

 private:
  std::string file_path(const std::string& stated) const {
    const std::filesystem::path path(stated);
    return path.is_absolute() || context_.directory.empty()
               ? stated
               : (std::filesystem::path(context_.directory) / path).string();
  }

  bool is_left_to_others(const std::string& path, const std::string& file) const {
    if (!context_.missing_file || is_there(file)) return false;
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

  // One file of an npy source. Its header says dtype and shape; where it can't be looked at they must be stated.
  struct NpyFile {
    NpyColumn column;
    std::optional<std::int64_t> length;
  };
  Result<NpyFile> look_at(const NpyField& field, const std::string& path) const {
    NpyFile file;
    file.column.path = file_path(field.path);
    const bool is_stated = field.dtype && field.shape;
    file.column.spec = {field.name, field.dtype.value_or(tensor::DType::kF32), field.shape.value_or(tensor::Shape{})};
    if (is_stated && is_left_to_others(path, file.column.path)) return file;
    if (context_.missing_file && !is_there(file.column.path))
      return fail(Code::kNotFound,
                  "{}: cannot find {}; if only the workers have it, set its dtype and the shape of a row", path,
                  file.column.path);
    if (!context_.look_at_files) {
      if (is_stated) return file;
      return fail(Code::kInvalidArgument,
                  "{}: the file can't be read from here, so set its dtype and the shape of a row", path);
    }
    const tensor::TensorSpec whole = TFD_TRY(tensor::load_npy_spec(file.column.path), path + ".path");
    const tensor::TensorSpec row = TFD_TRY(row_spec_of(whole, file.column.path), path + ".path");
    if (field.dtype.value_or(row.dtype) != row.dtype || field.shape.value_or(row.shape) != row.shape)
      return fail(Code::kInvalidArgument, "{}: the rows of {} are {}, not {}", path, file.column.path, format_spec(row),
                  format_field({"", field.dtype.value_or(row.dtype), field.shape.value_or(row.shape)}));
    file.column.spec = {field.name, row.dtype, row.shape};
    file.length = whole.shape[0];
    return file;
  }

  Result<tensor::Tensor> rows_of(const SlicesField& field) const {
    if (field.rows.has_value()) return field.rows;
    const nlohmann::json file = field.key ? nlohmann::json{{"safetensors", field.path}, {"key", *field.key}}
                                          : nlohmann::json{{"npy", field.path}};
    return tensor::tensor_from_json(file, context_.directory);
  }

  const DatasetContext& context_;
  const std::string path_;     // "[3].batch"
  const RowDatasetPtr input_;  // null for a source
};

}  // namespace

bool operator==(const SlicesField& a, const SlicesField& b) {
  const bool same_rows = a.rows.has_value() && b.rows.has_value() ? tensor::same_bytes(a.rows, b.rows)
                                                                  : a.rows.has_value() == b.rows.has_value();
  return same_rows && a.name == b.name && a.path == b.path && a.key == b.key;
}

Plan shard(Plan plan, std::int64_t count, std::int64_t index) {
  const auto stays = [](const Stage& stage) {
    return std::holds_alternative<Map>(stage) || std::holds_alternative<Prefetch>(stage);
  };
  auto at = plan.stages.end();
  while (at != plan.stages.begin() && stays(at[-1])) --at;
  plan.stages.insert(at, Shard{count, index});
  return plan;
}

Result<std::shared_ptr<const Dataset>> instantiate(const Plan& plan, const DatasetContext& context) {
  RowDatasetPtr dataset;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const Stage& stage = plan.stages[i];
    std::string path = fmt::format("[{}].{}", i, name_of(stage));
    if (is_source(stage) != (i == 0))
      return fail(Code::kInvalidArgument, "{}: a pipeline starts with a source, and has one", path);
    dataset = TFD_TRY(std::visit(Maker(context, std::move(path), dataset), stage));
  }
  if (!dataset) return fail(Code::kInvalidArgument, "a pipeline starts with a source");
  if (context.ahead > 0) return make_prefetch(std::move(dataset), Prefetch{context.ahead});
  return dataset;
}

}  // namespace tfd::data
