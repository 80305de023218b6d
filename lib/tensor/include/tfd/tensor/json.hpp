#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tensors as JSON, in one place: nested lists typed by the signature they meet; {"dtype", "shape", "data"} where that
// leaves doubt; {"npy": PATH} and {"safetensors": PATH, "key": NAME} for large ones. NaN and the infinities are the
// strings "NaN", "Infinity", "-Infinity"; floats print their shortest round-trip form.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "tfd/tensor/tensor.hpp"

namespace tfd::tensor {

/// Reads `value` as a tensor of this spec. Nested lists must have the spec's shape; numbers are those of number.hpp; a
/// bool is true or false (or 0, 1). The object forms must agree with the spec. Files are read relative to `directory`.
/// kInvalidArgument says where: "[2][0]: 300 does not fit u8".
Result<Tensor> tensor_from_json(const nlohmann::json& value, const TensorSpec& spec, const std::string& directory = "");
/// Reads a tensor without a spec: the object forms state their own; plain lists infer the shape, and s32 (s64 if a
/// value doesn't fit), f32 or bool. kInvalidArgument for ragged lists.
Result<Tensor> tensor_from_json(const nlohmann::json& value, const std::string& directory = "");
/// Nested lists (an empty tensor with rank > 1 as the object form, for lists can't hold its shape).
nlohmann::json tensor_to_json(const Tensor& tensor);
/// The same as text, without building a document: appended to `out`.
void append_json(const Tensor& tensor, std::string& out);

/// Parses a document that may hold tensors, NaN and Infinity as Python writes them, too. kInvalidArgument: "not JSON:
/// line 1, column 2: syntax error …".
Result<nlohmann::ordered_json> parse_json(std::string_view text);
/// Shortens the message of a JSON parser's exception: "[json.exception.parse_error.101] parse error at line 1, column
/// 2: syntax error while parsing value - invalid literal" becomes "line 1, column 2: syntax error while parsing value -
/// invalid literal".
std::string short_parse_error(std::string_view what);

}  // namespace tfd::tensor
