// SPDX-License-Identifier: Apache-2.0
#include "types.hpp"

#include <algorithm>
#include <string>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::hlo {

Result<TensorType> parse_tensor_type(std::string_view inside) {
  TensorType out;
  tensor::TensorSpec& spec = out.spec;
  std::string text(inside);
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; });
  std::string_view rest = text;
  for (;;) {
    if (rest.starts_with('?') || rest.starts_with('*'))
      return fail(Code::kInvalidArgument,
                  "dynamic shapes are not supported: export it for one shape, or list a module for each batch size");
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits == 0) break;
    if (digits == rest.size() || rest[digits] != 'x') return fail(Code::kInvalidArgument, "not a tensor type");
    spec.shape.push_back(TFD_TRY(parse_integer(rest.substr(0, digits), 0, std::int64_t{1} << 48)));
    rest.remove_prefix(digits + 1);
  }
  out.is_complex = rest == "complex<f32>" || rest == "complex<f64>";
  if (out.is_complex) spec.shape.push_back(2);
  if (spec.shape.size() > 64) return fail(Code::kInvalidArgument, "too many dimensions");
  const auto dtype = tensor::parse_dtype(out.is_complex ? rest.substr(rest.find('<') + 1, 3) : rest);
  if (!dtype) return fail(Code::kInvalidArgument, "element type '{}' is not supported", printable(rest.substr(0, 40)));
  spec.dtype = *dtype;
  TFD_TRY(tensor::checked_byte_size(spec.dtype, spec.shape));
  return out;
}

std::string format_tensor_type(const tensor::TensorSpec& spec) {
  std::string out = "tensor<";
  for (const std::int64_t size : spec.shape) out += fmt::format("{}x", size);
  const std::string_view name = tensor::dtype_name(spec.dtype);  // "s32", "u8", "f32"
  if (spec.dtype == tensor::DType::kBool) return out + "i1>";
  if (name.starts_with('s')) return fmt::format("{}i{}>", out, name.substr(1));
  return fmt::format("{}{}{}>", out, name.starts_with('u') ? "ui" : "", name.starts_with('u') ? name.substr(1) : name);
}

}  // namespace tfd::hlo
