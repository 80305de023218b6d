// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "../files/file_rows.hpp"
#include "../files/record_reader.hpp"
#include "example.hpp"
#include "field_json.hpp"
#include "sources.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

class TfrecordReader final : public PieceReader {
 public:
  explicit TfrecordReader(RecordReader records) : records_(std::move(records)) {}
  Result<std::optional<Piece>> next() override { return records_.next(); }
  bool is_empty() const override { return records_.records() == 0; }
  const OpenFilePtr& file() const override { return records_.file(); }

 private:
  RecordReader records_;
};

class TfrecordFormat final : public RowFormat {
 public:
  explicit TfrecordFormat(std::vector<ExampleFeature> features) : features_(std::move(features)) {}
  std::unique_ptr<PieceReader> read(ByteReader bytes, std::size_t piece_bytes) const override {
    return std::make_unique<TfrecordReader>(RecordReader(std::move(bytes), piece_bytes));
  }
  Result<bool> parse_row(Piece& piece, BlockBuilder& out) const override {
    const std::optional<std::string_view> record = TFD_TRY(next_record(piece));
    if (!record) return false;
    if (features_.empty()) {
      std::byte* to = TFD_TRY(out.allocate(0, static_cast<std::int64_t>(record->size())));
      std::memcpy(to, record->data(), record->size());
    } else {
      TFD_TRY(parse_example(*record, features_, out), fmt::format("{}: record {}", piece.file->path(), piece.number));
    }
    return true;
  }

 private:
  std::vector<ExampleFeature> features_;
};

ElementSpec spec_of(const TfrecordSource& source) {
  if (source.features.empty()) return {text_field(source.field)};
  ElementSpec spec;
  for (const ExampleFeature& feature : source.features) spec.push_back(feature.spec);
  return spec;
}

tensor::Tensor bytes_of(const std::string& text) {
  tensor::Tensor out = tensor::Tensor::uninitialized(tensor::DType::kU8, {static_cast<std::int64_t>(text.size())});
  std::ranges::copy(text, out.mutable_as<std::uint8_t>());
  return out;
}

Result<ExampleFeature> read_feature(const std::string& name, const ordered_json& value, const std::string& path) {
  JsonObject options(value, path);
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

Result<TfrecordSource> read_tfrecord(const StatedStage& stage) {
  JsonObject options(stage.value, stage.path);
  TfrecordSource records;
  records.files = read_files(options);
  const ordered_json* features = options.find("features");
  records.skip_errors = skips_errors(options);
  if (const auto field = options.text("field")) {
    records.field = *field;
    if (features != nullptr) options.note("field", "is for records without features");
  }
  TFD_TRY(options.finish());
  if (features == nullptr) return records;
  records.features = TFD_TRY(read_fields(*features, stage, "features", read_feature));
  return records;
}

ordered_json write_tfrecord(const TfrecordSource& records) {
  ordered_json out = write_files(records.files);
  for (const ExampleFeature& feature : records.features) {
    ordered_json& one = out["features"][feature.spec.name];
    one = write_spec(feature.spec);
    if (feature.fallback && feature.spec.is_text)
      one["default"] =
          std::string(reinterpret_cast<const char*>(feature.fallback->data()), feature.fallback->byte_size());
    else if (feature.fallback)
      one["default"] = write_typed(*feature.fallback);
  }
  if (records.features.empty()) out["field"] = records.field;
  if (records.skip_errors) out["on_error"] = "skip";
  return out;
}

Result<RowDatasetPtr> make_tfrecord_source(const TfrecordSource& records, const StageSite& site) {
  return make_file_source(site, records, records.files, records.skip_errors,
                          [records](FileRowsOptions options) { return make_tfrecord(records, std::move(options)); });
}

}  // namespace

RowDatasetPtr make_tfrecord(const TfrecordSource& source, FileRowsOptions options) {
  return make_file_rows(spec_of(source), std::make_unique<TfrecordFormat>(source.features), std::move(options));
}

const StageKind<TfrecordSource>& kind_of(Tag<TfrecordSource>) {
  static constexpr StageKind<TfrecordSource> kKind{
      .name = "tfrecord",
      .is_source = true,
      .read = read_tfrecord,
      .write = write_tfrecord,
      .make = make_tfrecord_source,
  };
  return kKind;
}

}  // namespace tfd::data
