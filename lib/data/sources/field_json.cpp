// SPDX-License-Identifier: Apache-2.0
#include "field_json.hpp"

#include <algorithm>

#include "tfd/tensor/json.hpp"

namespace tfd::data {

using nlohmann::ordered_json;
using tensor::DType;
using tensor::Shape;

bool reads_text(JsonObject& options) {
  const auto* const dtype = options.find("dtype");
  if (dtype == nullptr || *dtype != "string") return false;
  const auto* const shape = options.find("shape");
  if (shape != nullptr && *shape != ordered_json::array())
    options.note("shape", "a string is of any length, without a shape");
  return true;
}

std::optional<DType> read_dtype(JsonObject& options) {
  const auto name = options.text("dtype");
  if (!name) return std::nullopt;
  auto dtype = tensor::parse_dtype(*name);
  if (!dtype) options.note("dtype", dtype.error().message);
  return dtype.value_or(DType::kF32);
}

std::optional<Shape> read_shape(JsonObject& options, DType dtype, bool may_vary) {
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

FieldSpec read_varying_spec(const std::string& name, JsonObject& options) {
  if (reads_text(options)) return text_field(name);
  const DType dtype = read_dtype(options).value_or(DType::kF32);
  return {name, dtype, read_shape(options, dtype, true).value_or(Shape{})};
}

ordered_json write_spec(const FieldSpec& field) {
  if (field.is_text) return {{"dtype", "string"}};
  ordered_json out = {{"dtype", tensor::dtype_name(field.dtype)}};
  if (!field.shape.empty()) out["shape"] = field.shape;
  return out;
}

ordered_json write_typed(const tensor::Tensor& rows) {
  const auto value = tensor::tensor_to_json(rows);
  ordered_json out = {{"dtype", tensor::dtype_name(rows.dtype())}, {"shape", rows.shape()}};
  out["data"] = value.is_object() ? ordered_json(value["data"]) : ordered_json(value);
  return out;
}

FileList read_files(JsonObject& options) {
  const ordered_json* path = options.find("path");
  FileList files;
  if (path == nullptr || !path->is_array()) files.paths.push_back(options.required_text("path"));
  if (path != nullptr && path->is_array()) {
    for (const ordered_json& one : *path)
      if (one.is_string() && one != "") files.paths.push_back(one.get<std::string>());
    if (path->empty() || files.paths.size() != path->size()) options.note("path", "must be a path, or a list of paths");
  }
  if (const ordered_json* stated = options.find("shard")) {
    const auto shard = kind_of(Tag<Shard>()).read({*stated, options.path() + ".shard"});
    if (shard) files.shard = *shard;
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
  if (files.shard != Shard{}) out["shard"] = kind_of(Tag<Shard>()).write(files.shard);
  if (files.cycle_length != 1) out["cycle_length"] = files.cycle_length;
  if (files.block_length != 1) out["block_length"] = files.block_length;
  return out;
}

}  // namespace tfd::data
