// SPDX-License-Identifier: Apache-2.0
//
// jsonl: a JSON object on every line. Most are read by simdjson (jsonl_row.hpp). The values of others are read as
// tensor/json.hpp reads them, but for its objects: data don't name files.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "../files/file_rows.hpp"
#include "../files/line_reader.hpp"
#include "field_json.hpp"
#include "jsonl_row.hpp"
#include "sources.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/tensor/number.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

using nlohmann::json;

Result<json> parse_object(std::string_view line) {
  try {
    json parsed = json::parse(tensor::plain_json(line));
    if (!parsed.is_object()) return fail(Code::kInvalidArgument, "not a JSON object");
    return parsed;
  } catch (const json::parse_error& error) {
    return fail(Code::kInvalidArgument, "not JSON at its byte {}", error.byte);
  } catch (const json::exception& error) {  // such as a number that no double holds
    return fail(Code::kInvalidArgument, "not JSON: {}", printable(error.what()));
  }
}

Result<void> write_text(const std::string& text, std::size_t index, const FieldSpec& field, BlockBuilder& out) {
  if (field.dtype != tensor::DType::kU8 || field.shape.size() != 1)
    return fail(Code::kInvalidArgument, "a text, but the field is {}", format_field(field));
  const auto length = static_cast<std::int64_t>(text.size());
  if (field.shape[0] != -1 && field.shape[0] != length)
    return fail(Code::kInvalidArgument, "a text of {} bytes, but the field is {}", length, format_field(field));
  std::byte* to = out.row()[index];
  if (to == nullptr) to = TFD_TRY(out.allocate(index, length));
  std::memcpy(to, text.data(), text.size());
  return {};
}

Result<void> write_value(const json& value, std::size_t index, const FieldSpec& field, BlockBuilder& out) {
  if (value.is_string() && (field.dtype == tensor::DType::kU8 || !field.shape.empty()))
    return write_text(value.get_ref<const std::string&>(), index, field, out);
  if (field.is_text || value.is_object() || value.is_null())
    return fail(Code::kInvalidArgument, "must be {}, not {}",
                field.is_text         ? "a string"
                : field.shape.empty() ? "a number"
                                      : "a list",
                value.is_object()  ? "an object"
                : value.is_array() ? "a list"
                                   : printable(value.dump()));
  tensor::TensorSpec spec{field.dtype, field.shape};
  if (varies(field)) {
    if (!value.is_array()) return fail(Code::kInvalidArgument, "must be a list");
    spec.shape[0] = static_cast<std::int64_t>(value.size());
  }
  const tensor::Tensor tensor = TFD_TRY(tensor::tensor_from_json(value, spec));
  std::byte* to = out.row()[index];
  if (to == nullptr) to = TFD_TRY(out.allocate(index, spec.shape[0]));
  std::memcpy(to, tensor.data(), tensor.byte_size());
  return {};
}

class JsonlReader final : public PieceReader {
 public:
  explicit JsonlReader(LineReader lines) : lines_(std::move(lines)) {}
  Result<std::optional<Piece>> next() override {
    auto piece = lines_.next();
    if (is_empty_ && piece && *piece) is_empty_ = std::ranges::all_of((*piece)->rest(), is_space);
    return piece;
  }
  bool is_empty() const override { return is_empty_; }
  const OpenFilePtr& file() const override { return lines_.file(); }

 private:
  LineReader lines_;
  bool is_empty_ = true;
};

class JsonlFormat final : public RowFormat {
 public:
  explicit JsonlFormat(ElementSpec spec) : spec_(std::move(spec)) {}
  std::unique_ptr<PieceReader> read(ByteReader bytes, std::size_t piece_bytes) const override {
    return std::make_unique<JsonlReader>(LineReader(std::move(bytes), piece_bytes));
  }
  Result<bool> parse_row(Piece& piece, BlockBuilder& out) const override {
    while (const auto line = next_line(piece)) {
      if (std::ranges::all_of(*line, is_space)) continue;
      const auto readable = static_cast<std::size_t>(piece.bytes.get() + piece.end - line->data());
      if (write_plain_object(*line, readable, spec_, out)) return true;
      TFD_TRY(write_line(*line, out), place_of_line(piece));
      return true;
    }
    return false;
  }

 private:
  Result<void> write_line(std::string_view line, BlockBuilder& out) const {
    const json object = TFD_TRY(parse_object(line));
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      const auto value = object.find(spec_[i].name);
      if (value == object.end()) return fail(Code::kInvalidArgument, "'{}' is missing", printable(spec_[i].name));
      TFD_TRY(write_value(*value, i, spec_[i], out), printable(spec_[i].name));
    }
    return {};
  }

  ElementSpec spec_;
};

Result<FieldSpec> read_jsonl_field(const std::string& name, const ordered_json& value, const std::string& path) {
  Options options(value, path);
  FieldSpec field = read_varying_spec(name, options);
  TFD_TRY(options.finish());
  return field;
}

Result<JsonlSource> read_jsonl(const StatedStage& stage) {
  Options options(stage.value, stage.path);
  JsonlSource jsonl;
  jsonl.files = read_files(options);
  const ordered_json* fields = options.required("fields");
  jsonl.skip_errors = options.skips_errors();
  TFD_TRY(options.finish());
  jsonl.fields = TFD_TRY(read_fields(*fields, stage, "fields", read_jsonl_field));
  return jsonl;
}

ordered_json write_jsonl(const JsonlSource& jsonl) {
  ordered_json out = write_files(jsonl.files);
  for (const FieldSpec& field : jsonl.fields) out["fields"][field.name] = write_spec(field);
  if (jsonl.skip_errors) out["on_error"] = "skip";
  return out;
}

Result<RowDatasetPtr> make_jsonl_source(const JsonlSource& jsonl, const StageSite& site) {
  return make_file_source(site, jsonl, jsonl.files, jsonl.skip_errors,
                          [jsonl](FileRowsOptions options) { return make_jsonl(jsonl, std::move(options)); });
}

}  // namespace

RowDatasetPtr make_jsonl(const JsonlSource& source, FileRowsOptions options) {
  return make_file_rows(source.fields, std::make_unique<JsonlFormat>(source.fields), std::move(options));
}

const StageKind<JsonlSource>& kind_of(Tag<JsonlSource>) {
  static constexpr StageKind<JsonlSource> kKind{
      .name = "jsonl",
      .is_source = true,
      .read = read_jsonl,
      .write = write_jsonl,
      .make = make_jsonl_source,
  };
  return kKind;
}

}  // namespace tfd::data
