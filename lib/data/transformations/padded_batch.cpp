// SPDX-License-Identifier: Apache-2.0
//
// padded_batch: batches of rows of several sizes.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "packing.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::data {
namespace {

using nlohmann::ordered_json;

// null and -1 are as large as the largest.
std::optional<tensor::Shape> read_padded_shape(const ordered_json& value) {
  if (!value.is_array()) return std::nullopt;
  tensor::Shape shape;
  for (const ordered_json& size : value) {
    const auto number = size.is_null() ? std::optional<std::int64_t>(-1) : integer_of(size);
    if (!number || *number < -1) return std::nullopt;
    shape.push_back(*number);
  }
  return shape;
}

// Reads padded_shapes and padding_values for each field.
void read_padding(JsonObject& options, PaddedBatch& batch) {
  const auto field_of = [&](const std::string& name) -> PaddedBatch::Field& {
    const auto found = std::ranges::find(batch.fields, name, &PaddedBatch::Field::name);
    return found != batch.fields.end() ? *found : batch.fields.emplace_back(PaddedBatch::Field{name});
  };
  if (const auto* shapes = options.find("padded_shapes")) {
    if (!shapes->is_object()) options.note("padded_shapes", "must be an object of fields");
    for (const auto& [name, value] : shapes->items()) {
      if (!shapes->is_object()) break;
      field_of(name).shape = read_padded_shape(value);
      if (!field_of(name).shape) options.note("padded_shapes", printable(name) + ": must be a list of sizes");
    }
  }
  if (const auto* values = options.find("padding_values")) {
    if (!values->is_object()) options.note("padding_values", "must be an object of fields");
    for (const auto& [name, value] : values->items()) {
      if (!values->is_object()) break;
      if (value.is_number()) field_of(name).value = value.get<double>();
      if (value.is_boolean()) field_of(name).value = value.get<bool>() ? 1 : 0;
      if (!field_of(name).value) options.note("padding_values", printable(name) + ": must be a number");
    }
  }
}

// The batch without its padding.
Batch plain_batch(const PaddedBatch& batch) { return {batch.size, batch.drop_remainder, batch.mask}; }

Result<PaddedBatch> read_padded_batch(const StatedStage& stage) {
  const ordered_json value = with_key(stage.value, "size");
  JsonObject options(value, stage.path);
  const Batch plain = read_batching(options);
  PaddedBatch batch{.size = plain.size, .drop_remainder = plain.drop_remainder, .mask = plain.mask};
  read_padding(options, batch);
  TFD_TRY(options.finish());
  return batch;
}

ordered_json write_padded_batch(const PaddedBatch& batch) {
  ordered_json out = write_batching(plain_batch(batch));
  for (const PaddedBatch::Field& field : batch.fields) {
    if (field.shape) out["padded_shapes"][field.name] = *field.shape;
    if (field.value) out["padding_values"][field.name] = *field.value;
  }
  return out;
}

Result<tensor::Shape> padded_shape(const StageSite& site, const FieldSpec& field, tensor::Shape stated) {
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument, "{}.padded_shapes.{}: {} is padded to no {}", site.path, printable(field.name),
                format_field(field), tensor::format_shape(stated));
  };
  if (stated.size() != field.shape.size()) return wrong();
  for (std::size_t axis = 0; axis < stated.size(); ++axis) {
    if (stated[axis] == -1) stated[axis] = field.shape[axis];
    if (stated[axis] != -1 && stated[axis] < field.shape[axis]) return wrong();
  }
  return stated;
}

Result<tensor::Tensor> padding_value(const StageSite& site, const FieldSpec& field, double value) {
  const bool is_whole = value == std::trunc(value) && std::abs(value) < 9e15;
  const nlohmann::json json =
      is_whole && !is_floating(field.dtype) ? nlohmann::json(static_cast<std::int64_t>(value)) : nlohmann::json(value);
  return TFD_TRY(tensor::tensor_from_json(json, {field.dtype, {}}),
                 fmt::format("{}.padding_values.{}", site.path, printable(field.name)));
}

Result<std::vector<PaddedField>> padded_fields(const StageSite& site, const PaddedBatch& batch) {
  std::vector<PaddedField> fields;
  for (const FieldSpec& field : site.input->spec())
    fields.push_back({field.shape, tensor::Tensor::zeros(field.dtype, {})});
  for (const PaddedBatch::Field& stated : batch.fields) {
    const auto at = std::ranges::find(site.input->spec(), stated.name, &FieldSpec::name);
    if (at == site.input->spec().end())
      return fail(Code::kInvalidArgument, "{}: the elements have no field '{}'", site.path, printable(stated.name));
    PaddedField& field = fields[static_cast<std::size_t>(at - site.input->spec().begin())];
    if (stated.shape) field.shape = TFD_TRY(padded_shape(site, *at, *stated.shape));
    if (stated.value) field.value = TFD_TRY(padding_value(site, *at, *stated.value));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    tensor::Shape shape = fields[i].shape;
    std::ranges::replace(shape, -1, 1);
    shape.insert(shape.begin(), batch.size);
    TFD_TRY(tensor::checked_byte_size(site.input->spec()[i].dtype, shape), site.path + ".size");
  }
  return fields;
}

Result<RowDatasetPtr> make_padded_batch(const PaddedBatch& batch, const StageSite& site) {
  TFD_TRY(check_mask(site, plain_batch(batch)));
  std::vector<PaddedField> fields = TFD_TRY(padded_fields(site, batch));
  PackingPtr packing = make_padded_packing(site.input->spec(), fields);
  ElementSpec row = site.input->spec();
  for (std::size_t i = 0; i < row.size(); ++i) row[i].shape = std::move(fields[i].shape);
  return make_batches(site.input, std::move(row), std::move(packing), plain_batch(batch));
}

}  // namespace

const StageKind<PaddedBatch>& kind_of(Tag<PaddedBatch>) {
  static constexpr StageKind<PaddedBatch> kKind{
      .name = "padded_batch",
      .read = read_padded_batch,
      .write = write_padded_batch,
      .make = make_padded_batch,
      .traits = [](const PaddedBatch& batch) -> StageTraits { return {.batch_size = batch.size}; },
      .tensorflow_cardinality = [](const PaddedBatch& batch,
                                   std::int64_t input) { return batched_cardinality(plain_batch(batch), input); },
  };
  return kKind;
}

}  // namespace tfd::data
