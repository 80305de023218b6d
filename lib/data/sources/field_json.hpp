#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// JSON that several sources have in common: fields with their dtypes and shapes, and lists of files. Errors
// are noted in the JsonObject that is read. Thread rule: pure functions.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "../plan/stage_kinds.hpp"
#include "tfd/base/text.hpp"

namespace tfd::data {

/// Whether "dtype" is "string", which is u8 of any length and so has no "shape".
bool reads_text(JsonObject& options);
/// "dtype" where it is stated.
std::optional<tensor::DType> read_dtype(JsonObject& options);
/// "shape" where it is stated. `may_vary`: the first dimension may be -1.
std::optional<tensor::Shape> read_shape(JsonObject& options, tensor::DType dtype, bool may_vary = false);
/// A field whose first dimension may vary, from its "dtype" and "shape"; f32 and a scalar where they aren't stated.
FieldSpec read_varying_spec(const std::string& name, JsonObject& options);
nlohmann::ordered_json write_spec(const FieldSpec& field);
/// A tensor as an object with its dtype and shape.
nlohmann::ordered_json write_typed(const tensor::Tensor& rows);

/// "path": one, or a list of them; "shard": which of the files; "cycle_length": how many at a time.
FileList read_files(JsonObject& options);
nlohmann::ordered_json write_files(const FileList& files);

template <class Read>
using FieldRead = typename std::invoke_result_t<Read, std::string, nlohmann::ordered_json, std::string>::value_type;

/// Calls read(name, value, path) for each of the fields that the stage states under `key`, and returns the results.
template <class Read>
auto read_fields(const nlohmann::ordered_json& fields, const StatedStage& stage, const char* key, const Read& read)
    -> Result<std::vector<FieldRead<Read>>> {
  const std::string path = fmt::format("{}.{}", stage.path, key);
  if (!fields.is_object() || fields.empty())
    return fail(Code::kInvalidArgument, "{}: must be an object with at least one field", path);
  std::vector<FieldRead<Read>> out;
  for (const auto& [name, value] : fields.items())
    out.push_back(TFD_TRY(read(name, value, fmt::format("{}.{}", path, printable(name)))));
  return out;
}

}  // namespace tfd::data
