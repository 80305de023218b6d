// SPDX-License-Identifier: Apache-2.0
//
// jsonl: a JSON object on every line. Most are read by simdjson (write_plain_object()). The values of others are read
// as tensor/json.hpp reads them, but for its objects: data don't name files.
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "../files/block_builder.hpp"
#include "../files/file_rows.hpp"
#include "../files/line_reader.hpp"
#include "field_json.hpp"
#include "sources.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/tensor/native.hpp"
#include "tfd/tensor/number.hpp"

namespace tfd::data {
namespace {

// Reads a line of jsonl by simdjson, straight into the row: the common and correct cases. Wrong or rare lines are left
// to the slower reader, which can name the error.

using simdjson::dom::element;

// A parser keeps memory of several times its longest line.
constexpr std::size_t kLongestPlainLine = std::size_t{1} << 20;

template <class T>
bool write_number(const element& value, T& out) {
  using simdjson::dom::element_type;
  using tensor::convert_number;
  using tensor::NumberFit;
  switch (value.type()) {
    case element_type::INT64:
      return convert_number(value.get_int64().value_unsafe(), out) == NumberFit::kOk;
    case element_type::UINT64:
      return convert_number(value.get_uint64().value_unsafe(), out) == NumberFit::kOk;
    case element_type::DOUBLE:
      return convert_number(value.get_double().value_unsafe(), out) == NumberFit::kOk;
    default:
      return false;
  }
}

/// Numbers one behind the other, of lists of these sizes.
template <class T>
class Numbers {
 public:
  Numbers(const tensor::Shape& shape, std::byte* to) : shape_(shape), to_(reinterpret_cast<T*>(to)) {}

  bool write(const element& value, std::size_t depth = 0) {
    if (depth == shape_.size()) return write_number(value, *to_++);
    simdjson::dom::array list;
    if (value.get_array().get(list) != simdjson::SUCCESS) return false;
    std::int64_t left = shape_[depth];
    for (const element one : list)
      if (left-- == 0 || !write(one, depth + 1)) return false;
    return left == 0;
  }

 private:
  const tensor::Shape& shape_;
  T* to_;
};

bool write_numbers(const element& value, tensor::DType dtype, const tensor::Shape& shape, std::byte* to) {
  return tensor::with_native(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      return Numbers<T>(shape, to).write(value);
    else
      return false;
  });
}

/// Where the field goes, whose first dimension is `length` if it varies; null where there is no room.
std::byte* place_of(std::size_t index, std::int64_t length, BlockBuilder& out) {
  if (std::byte* to = out.row()[index]) return to;
  return out.allocate(index, length).value_or(nullptr);
}

bool write_text(std::string_view text, std::size_t index, const FieldSpec& field, BlockBuilder& out) {
  const auto length = static_cast<std::int64_t>(text.size());
  if (field.dtype != tensor::DType::kU8 || field.shape.size() != 1) return false;
  if (field.shape[0] != -1 && field.shape[0] != length) return false;
  std::byte* to = place_of(index, length, out);
  if (to != nullptr) std::memcpy(to, text.data(), text.size());
  return to != nullptr;
}

bool write_field(const element& value, std::size_t index, const FieldSpec& field, BlockBuilder& out) {
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) return write_text(text, index, field, out);
  if (field.is_text) return false;
  if (!varies(field)) return write_numbers(value, field.dtype, field.shape, out.row()[index]);
  simdjson::dom::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) return false;
  tensor::Shape shape = field.shape;
  shape[0] = std::distance(list.begin(), list.end());
  std::byte* to = place_of(index, shape[0], out);
  return to != nullptr && write_numbers(value, field.dtype, shape, to);
}

/// Writes the row's fields. `readable`: the number of bytes from the line's beginning on, including those behind the
/// line. Returns false if the line needs the slower reader; written bytes then mean nothing.
bool write_plain_object(std::string_view line, std::size_t readable, const ElementSpec& spec, BlockBuilder& out) {
  if (line.size() > kLongestPlainLine) return false;
  static thread_local simdjson::dom::parser parser;
  const bool must_copy = readable < line.size() + simdjson::SIMDJSON_PADDING;
  simdjson::dom::object object;
  if (parser.parse(line.data(), line.size(), must_copy).get_object().get(object) != simdjson::SUCCESS) return false;
  static thread_local std::vector<bool> found;
  found.assign(spec.size(), false);
  std::size_t next = 0;  // fields come mostly in their order
  for (const auto& [key, value] : object) {
    for (std::size_t tried = 0; tried < spec.size(); ++tried) {
      const std::size_t index = (next + tried) % spec.size();
      if (spec[index].name != key) continue;
      if (found[index] || !write_field(value, index, spec[index], out)) return false;
      found[index] = true;
      next = index + 1;
      break;
    }
  }
  return std::ranges::find(found, false) == found.end();
}

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
  JsonObject options(value, path);
  FieldSpec field = read_varying_spec(name, options);
  TFD_TRY(options.finish());
  return field;
}

Result<JsonlSource> read_jsonl(const StatedStage& stage) {
  JsonObject options(stage.value, stage.path);
  JsonlSource jsonl;
  jsonl.files = read_files(options);
  const ordered_json* fields = options.required("fields");
  jsonl.skip_errors = skips_errors(options);
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
