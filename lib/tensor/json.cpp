// SPDX-License-Identifier: Apache-2.0
#include "tfd/tensor/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "tfd/base/text.hpp"
#include "tfd/tensor/native.hpp"
#include "tfd/tensor/npy.hpp"
#include "tfd/tensor/number.hpp"
#include "tfd/tensor/safetensors.hpp"

namespace tfd::tensor {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRank = 32;

/// Describes a value for messages, in a few words however long it is.
std::string describe(const json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

tl::unexpected<Error> does_not_fit(const json& value, DType dtype, NumberFit fit) {
  if (fit == NumberFit::kNotWhole) return fail(Code::kInvalidArgument, "{} is not a whole number", describe(value));
  if (value.is_null() || (value.is_string() && !is_floating(dtype)))
    return fail(Code::kInvalidArgument, "{} is not a number", describe(value));
  return fail(Code::kInvalidArgument, "{} does not fit {}", describe(value), dtype_name(dtype));
}

// --- reading one element -------------------------------------------------------------------------------------------

/// The value of a special name; nullopt: it is none.
std::optional<double> special_value(const json& value) {
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

template <class T>
NumberFit convert(const json& value, T& out) {
  if constexpr (std::is_same_v<T, bool>)
    if (value.is_boolean()) return out = value.get<bool>(), NumberFit::kOk;
  if (value.is_number_unsigned()) return convert_number(value.get<std::uint64_t>(), out);
  if (value.is_number_integer()) return convert_number(value.get<std::int64_t>(), out);
  if (value.is_number_float()) return convert_number(value.get<double>(), out);
  if constexpr (!std::is_integral_v<T>)
    if (const auto special = special_value(value)) return convert_number(*special, out);
  return NumberFit::kNotANumber;
}

template <class T>
Result<void> read_element(const json& value, DType dtype, T& out) {
  const NumberFit fit = convert(value, out);
  if (fit != NumberFit::kOk) return does_not_fit(value, dtype, fit);
  return {};
}

// --- nested lists --------------------------------------------------------------------------------------------------

/// "[2]" in front of "[0]: 300 does not fit u8".
tl::unexpected<Error> fail_at(std::size_t index, Error error) {
  error.message = fmt::format("[{}]{}{}", index, error.message.starts_with('[') ? "" : ": ", error.message);
  return fail(std::move(error));
}

Result<void> check_shape(const json& value, const Shape& shape, std::size_t depth) {
  if (depth == shape.size()) {
    if (value.is_array() || value.is_object())
      return fail(Code::kInvalidArgument, "expected a number for shape {}, not {}", format_shape(shape),
                  describe(value));
    return {};
  }
  if (!value.is_array())
    return fail(Code::kInvalidArgument, "expected a list of {} for shape {}, not {}", shape[depth], format_shape(shape),
                describe(value));
  if (static_cast<std::int64_t>(value.size()) != shape[depth])
    return fail(Code::kInvalidArgument, "a list of {} where shape {} takes {}", value.size(), format_shape(shape),
                shape[depth]);
  if (depth + 1 == shape.size()) return {};  // the elements are checked when they are read
  for (std::size_t i = 0; i < value.size(); ++i)
    if (Result<void> inner = check_shape(value[i], shape, depth + 1); !inner) return fail_at(i, inner.error());
  return {};
}

template <class T>
Result<void> fill(const json& value, DType dtype, std::size_t depth, T*& out) {
  if (depth == 0) {
    T element{};
    Result<void> read = read_element(value, dtype, element);
    if (read) *out++ = element;
    return read;
  }
  for (std::size_t i = 0; i < value.size(); ++i)
    if (Result<void> inner = fill(value[i], dtype, depth - 1, out); !inner) return fail_at(i, inner.error());
  return {};
}

/// `value` is a list of lists of … of this shape, or with `depth` 1 a flat list of all elements.
Result<Tensor> read_lists(const json& value, const TensorSpec& spec, std::size_t depth) {
  Tensor tensor = Tensor::uninitialized(spec.dtype, spec.shape);
  const Result<void> filled = with_native(spec.dtype, [&](auto type) {
    auto* out = reinterpret_cast<decltype(type)*>(tensor.mutable_data());
    return fill(value, spec.dtype, depth, out);
  });
  if (!filled) return fail(filled.error());
  return tensor;
}

Result<Tensor> read_nested(const json& value, const TensorSpec& spec) {
  TFD_TRY(checked_byte_size(spec.dtype, spec.shape));
  TFD_TRY(check_shape(value, spec.shape, 0));
  return read_lists(value, spec, spec.shape.size());
}

// --- shapes and dtypes of plain lists ------------------------------------------------------------------------------

struct Kinds {
  bool has_bool = false, has_integer = false, has_float = false;
  bool wide = false;  // an integer that s32 doesn't hold
};

Result<void> survey(const json& value, std::size_t depth, Kinds& kinds) {
  if (depth > 0 && value.is_array()) {
    for (const json& inner : value) TFD_TRY(survey(inner, depth - 1, kinds));
    return {};
  }
  if (value.is_boolean())
    kinds.has_bool = true;
  else if (value.is_number_integer()) {
    kinds.has_integer = true;
    if (value.is_number_unsigned() ? !std::in_range<std::int32_t>(value.get<std::uint64_t>())
                                   : !std::in_range<std::int32_t>(value.get<std::int64_t>()))
      kinds.wide = true;
  } else if (value.is_number_float() || special_value(value))
    kinds.has_float = true;
  else if (!value.is_array())
    return fail(Code::kInvalidArgument, "{} is not an element of a tensor", describe(value));
  return {};
}

Result<TensorSpec> infer_spec(const json& value) {
  TensorSpec spec;
  for (const json* level = &value; level->is_array(); level = &level->front()) {
    if (spec.shape.size() == kMostRank) return fail(Code::kInvalidArgument, "more than {} nested lists", kMostRank);
    spec.shape.push_back(static_cast<std::int64_t>(level->size()));
    if (level->empty()) break;
  }
  Kinds kinds;
  TFD_TRY(survey(value, spec.shape.size(), kinds));
  if (kinds.has_bool && (kinds.has_integer || kinds.has_float))
    return fail(Code::kInvalidArgument, "a tensor can't mix bools and numbers");
  if (kinds.has_bool)
    spec.dtype = DType::kBool;
  else if (kinds.has_integer && !kinds.has_float)
    spec.dtype = kinds.wide ? DType::kS64 : DType::kS32;
  return spec;
}

// --- the object forms ----------------------------------------------------------------------------------------------

Result<void> check_keys(const json& value, std::initializer_list<std::string> known) {
  const std::vector<std::string> names(known);
  for (const auto& [key, unused] : value.items())
    if (std::find(names.begin(), names.end(), key) == names.end())
      return fail(Code::kInvalidArgument, "unknown key '{}'{}", printable(key), did_you_mean(key, names));
  return {};
}

Result<std::string> string_of(const json& value, const char* key) {
  const auto found = value.find(key);
  if (found == value.end() || !found->is_string()) return fail(Code::kInvalidArgument, "'{}' must be a string", key);
  return found->get<std::string>();
}

std::string path_within(const std::string& directory, const std::string& path) {
  return directory.empty() || path.starts_with('/') ? path : directory + "/" + path;
}

Result<Tensor> read_typed(const json& value) {
  TFD_TRY(check_keys(value, {"dtype", "shape", "data"}));
  const std::string dtype = TFD_TRY(string_of(value, "dtype"));
  TensorSpec spec;
  spec.dtype = TFD_TRY(parse_dtype(dtype));
  const auto data = value.find("data");
  if (data == value.end()) return fail(Code::kInvalidArgument, "'data' is missing");
  const auto shape = value.find("shape");
  if (shape == value.end()) {
    spec.shape = TFD_TRY(infer_spec(*data), "data").shape;
    return read_nested(*data, spec);
  }
  if (!shape->is_array()) return fail(Code::kInvalidArgument, "'shape' must be a list");
  for (const json& dimension : *shape) {
    if (!dimension.is_number_unsigned() || dimension.get<std::uint64_t>() > (std::uint64_t{1} << 48))
      return fail(Code::kInvalidArgument, "{} is not a dimension of a shape", describe(dimension));
    spec.shape.push_back(dimension.get<std::int64_t>());
  }
  if (spec.shape.size() > kMostRank)
    return fail(Code::kInvalidArgument, "rank {} is more than {}", spec.shape.size(), kMostRank);
  TFD_TRY(checked_byte_size(spec.dtype, spec.shape));
  const bool flat = data->is_array() && (data->empty() || !data->front().is_array()) && spec.shape.size() != 1;
  if (!flat) return read_nested(*data, spec);
  if (static_cast<std::int64_t>(data->size()) != element_count(spec.shape))
    return fail(Code::kInvalidArgument, "{} elements of data for shape {}", data->size(), format_shape(spec.shape));
  return read_lists(*data, spec, 1);
}

Result<Tensor> read_safetensors(const json& value, const std::string& directory) {
  TFD_TRY(check_keys(value, {"safetensors", "key"}));
  const std::string path = path_within(directory, TFD_TRY(string_of(value, "safetensors")));
  const std::string key = TFD_TRY(string_of(value, "key"));
  const SafetensorsReader file = TFD_TRY(SafetensorsReader::open(path));
  if (file.specs().contains(key)) return file.read(key);
  std::vector<std::string> names;
  for (const auto& [name, spec] : file.specs()) names.push_back(name);
  return fail(Code::kNotFound, "{} has no tensor '{}'{}", path, printable(key), did_you_mean(key, names));
}

Result<Tensor> read_object(const json& value, const std::string& directory) {
  if (value.contains("npy")) {
    TFD_TRY(check_keys(value, {"npy"}));
    return load_npy(path_within(directory, TFD_TRY(string_of(value, "npy"))));
  }
  if (value.contains("safetensors")) return read_safetensors(value, directory);
  return read_typed(value);
}

// --- writing -------------------------------------------------------------------------------------------------------

template <class T>
std::string_view special_name(T value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

/// The fewest digits that a half type reads back as itself: as a float it would show digits that it never had.
template <class T>
std::string shortest(T value) {
  const float wide = widen(value);
  for (int digits = 1;; ++digits) {
    std::string text = fmt::format("{:.{}g}", wide, digits);
    T again{};
    convert_number(std::strtod(text.c_str(), nullptr), again);
    if (digits >= 9 || again.bits == value.bits) return fmt::format("{}", std::strtod(text.c_str(), nullptr));
  }
}

template <class T>
void append_element(T value, std::string& out) {
  if constexpr (std::is_same_v<T, bool>)
    out += value ? "true" : "false";
  else if constexpr (std::is_integral_v<T>)
    fmt::format_to(std::back_inserter(out), "{}", value);
  else {
    if (!std::isfinite(widen(value))) {
      fmt::format_to(std::back_inserter(out), "\"{}\"", special_name(widen(value)));
      return;
    }
    const std::size_t start = out.size();
    if constexpr (std::is_floating_point_v<T>)
      fmt::format_to(std::back_inserter(out), "{}", value);
    else
      out += shortest(value);
    if (out.find_first_of(".e", start) == std::string::npos) out += ".0";  // so that readers see a float
  }
}

template <class T>
void append_nested(const Shape& shape, std::size_t depth, const T*& element, std::string& out) {
  if (depth == shape.size()) return append_element(*element++, out);
  out += '[';
  for (std::int64_t i = 0; i < shape[depth]; ++i) {
    if (i > 0) out += ',';
    append_nested(shape, depth + 1, element, out);
  }
  out += ']';
}

/// Lists can't hold the shape of an empty tensor of rank 2 or more.
bool needs_object(const Tensor& tensor) { return tensor.size() == 0 && tensor.shape().size() > 1; }

template <class T>
json element_to_json(T value) {
  if constexpr (std::is_integral_v<T>)
    return value;
  else {
    if (!std::isfinite(widen(value))) return std::string(special_name(widen(value)));
    if constexpr (std::is_same_v<T, double>)
      return value;
    else if constexpr (std::is_same_v<T, float>) {
      // The double nearest to the float's own shortest digits, so that dump() prints these.
      std::array<char, 32> digits{};
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
      double wide = 0;
      std::from_chars(digits.data(), end, wide);
      return wide;
    } else
      return std::strtod(shortest(value).c_str(), nullptr);
  }
}

template <class T>
json nested_to_json(const Shape& shape, std::size_t depth, const T*& element) {
  if (depth == shape.size()) return element_to_json(*element++);
  json list = json::array();
  for (std::int64_t i = 0; i < shape[depth]; ++i) list.push_back(nested_to_json(shape, depth + 1, element));
  return list;
}

}  // namespace

std::string short_parse_error(std::string_view what) {
  constexpr std::string_view kMark = "parse error at ";
  const auto at = what.find(kMark);
  if (at == std::string_view::npos)
    return printable(what.substr(what.find("] ") + 2));  // a number that overflows: "[json.exception.….406] number …"
  // "… last read: '1, /'; expected string literal"
  constexpr std::string_view kRead = "last read: '";
  const std::string_view read = what.substr(std::min(what.find(kRead), what.size()));
  const bool is_comment = read.find("/'") != std::string_view::npos || read.find("#'") != std::string_view::npos;
  return printable(what.substr(at + kMark.size())) + (is_comment ? ": JSON has no comments" : "");
}

Result<nlohmann::ordered_json> parse_json(std::string_view text) {
  try {
    return nlohmann::ordered_json::parse(plain_json(text));
  } catch (const nlohmann::ordered_json::exception& error) {
    return fail(Code::kInvalidArgument, "not JSON: {}", short_parse_error(error.what()));
  }
}

Result<Tensor> tensor_from_json(const json& value, const TensorSpec& spec, const std::string& directory) {
  if (!value.is_object()) return read_nested(value, spec);
  Tensor tensor = TFD_TRY(read_object(value, directory));
  if (tensor.spec() != spec)
    return fail(Code::kInvalidArgument, "is {}, expected {}", format_spec(tensor.spec()), format_spec(spec));
  return tensor;
}

Result<Tensor> tensor_from_json(const json& value, const std::string& directory) {
  if (value.is_object()) return read_object(value, directory);
  return read_nested(value, TFD_TRY(infer_spec(value)));
}

json tensor_to_json(const Tensor& tensor) {
  if (needs_object(tensor))
    return {{"dtype", dtype_name(tensor.dtype())}, {"shape", tensor.shape()}, {"data", json::array()}};
  return with_native(tensor.dtype(), [&](auto type) {
    auto* element = reinterpret_cast<const decltype(type)*>(tensor.data());
    return nested_to_json(tensor.shape(), 0, element);
  });
}

void append_json(const Tensor& tensor, std::string& out) {
  if (needs_object(tensor)) {
    out += tensor_to_json(tensor).dump();
    return;
  }
  with_native(tensor.dtype(), [&](auto type) {
    auto* element = reinterpret_cast<const decltype(type)*>(tensor.data());
    append_nested(tensor.shape(), 0, element, out);
  });
}

}  // namespace tfd::tensor
