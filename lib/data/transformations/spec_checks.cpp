// SPDX-License-Identifier: Apache-2.0
//
// Checks of the input's fields that several transformations make.
#include <algorithm>

#include "tfd/base/text.hpp"
#include "transformations.hpp"

namespace tfd::data {
namespace {

bool is_batched(const Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const Stage& stage) {
    return std::holds_alternative<Batch>(stage) || std::holds_alternative<Window>(stage);
  });
}

}  // namespace

Result<void> check_packed(const StageSite& site, std::int64_t size) {
  for (const FieldSpec& field : site.input->spec()) {
    if (varies(field))
      return fail(Code::kInvalidArgument, "{}: field '{}' varies in size ({}): {}", site.path, field.name,
                  format_field(field),
                  is_batched(site.before) ? "set \"drop_remainder\": true in the batch before" : "use padded_batch");
    tensor::Shape shape = field.shape;
    shape.insert(shape.begin(), size);
    TFD_TRY(tensor::checked_byte_size(field.dtype, shape), site.path + ".size");
  }
  return {};
}

Result<void> check_batched(const StageSite& site) {
  for (const FieldSpec& field : site.input->spec())
    if (is_scalar(field))
      return fail(Code::kInvalidArgument, "{}: field '{}' is a scalar: not of a batch", site.path, field.name);
  return {};
}

Result<void> check_rows(const StageSite& site) {
  TFD_TRY(check_batched(site));
  const FieldSpec* known = nullptr;
  for (const FieldSpec& field : site.input->spec()) {
    if (field.shape.front() == -1) continue;
    if (known != nullptr && known->shape.front() != field.shape.front())
      return fail(Code::kInvalidArgument, "{}: field '{}' has {} rows, but '{}' has {}", site.path, field.name,
                  field.shape.front(), known->name, known->shape.front());
    known = &field;
  }
  return {};
}

Result<void> check_new(const StageSite& site, const std::string& key, const std::string& name) {
  if (std::ranges::find(site.input->spec(), name, &FieldSpec::name) == site.input->spec().end()) return {};
  return fail(Code::kInvalidArgument, "{}.{}: the elements have a field '{}' already", site.path, key, printable(name));
}

}  // namespace tfd::data
