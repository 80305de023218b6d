// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tfd/tensor/json.hpp"
#include "tfd/tensor/npy.hpp"
#include "tfd/tensor/safetensors.hpp"

#include "temporary_directory.hpp"

using namespace tfd;
using namespace tfd::tensor;
using nlohmann::json;

namespace {

std::string printed(const Tensor& tensor) {
  std::string out;
  append_json(tensor, out);
  return out;
}

Tensor read(const char* text, const TensorSpec& spec) {
  Result<Tensor> tensor = tensor_from_json(json::parse(text), spec);
  REQUIRE_MESSAGE(tensor, (tensor ? "" : tensor.error().message));
  return *tensor;
}

std::string error_of(const char* text, const TensorSpec& spec) {
  Result<Tensor> tensor = tensor_from_json(json::parse(text), spec);
  REQUIRE_FALSE(tensor);
  CHECK(tensor.error().code == Code::kInvalidArgument);
  return tensor.error().message;
}

}  // namespace

TEST_CASE("json: nested lists are typed by the spec they meet") {
  const Tensor matrix = read("[[1, 2.5], [\"NaN\", \"-Infinity\"]]", {DType::kF32, {2, 2}});
  CHECK(matrix.as<float>()[0] == 1);
  CHECK(matrix.as<float>()[1] == 2.5f);
  CHECK(std::isnan(matrix.as<float>()[2]));
  CHECK(matrix.as<float>()[3] == -std::numeric_limits<float>::infinity());
  CHECK(read("7", {DType::kS64, {}}).as<std::int64_t>()[0] == 7);
  CHECK(read("18446744073709551615", {DType::kU64, {}}).as<std::uint64_t>()[0] == ~std::uint64_t{0});
  CHECK(read("[-9223372036854775808]", {DType::kS64, {1}}).as<std::int64_t>()[0] ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(read("[true, 0, 1]", {DType::kBool, {3}}).as<bool>()[2]);
  CHECK(read("[]", {DType::kF32, {0, 3}}).shape() == Shape{0, 3});
  CHECK(read("[[], []]", {DType::kF32, {2, 0}}).shape() == Shape{2, 0});
}

TEST_CASE("json: an error says where and what") {
  CHECK(error_of("[[1], [2], [300]]", {DType::kU8, {3, 1}}) == "[2][0]: 300 does not fit u8");
  CHECK(error_of("[1, -1]", {DType::kU8, {2}}) == "[1]: -1 does not fit u8");
  CHECK(error_of("1.5", {DType::kS32, {}}) == "1.5 is not a whole number");
  CHECK(error_of("true", {DType::kF32, {}}) == "true does not fit f32");
  CHECK(error_of("\"NaN\"", {DType::kS32, {}}) == "\"NaN\" is not a number");
  CHECK(error_of("9007199254740993.0", {DType::kS64, {}}).find("does not fit s64") != std::string::npos);
  CHECK(error_of("2", {DType::kBool, {}}) == "2 does not fit bool");
  CHECK(error_of("1e39", {DType::kF32, {}}) == "1e+39 does not fit f32");
  CHECK(error_of("70000", {DType::kF16, {}}) == "70000 does not fit f16");
  CHECK(error_of("\"nan\"", {DType::kF32, {}}) == "\"nan\" does not fit f32");
  CHECK(error_of("[1, [2]]", {DType::kF32, {2}}) == "[1]: a list does not fit f32");
  CHECK(error_of("[[1, 2], [3]]", {DType::kF32, {2, 2}}) == "[1]: a list of 1 where shape [2, 2] takes 2");
  CHECK(error_of("3", {DType::kF32, {2}}) == "expected a list of 2 for shape [2], not 3");
  CHECK(error_of("[3]", {DType::kF32, {}}) == "expected a number for shape [], not a list");
}

TEST_CASE("json: the object form states dtype and shape, and must agree with the spec") {
  const Tensor empty = read(R"({"dtype": "f32", "shape": [0, 3], "data": []})", {DType::kF32, {0, 3}});
  CHECK(empty.shape() == Shape{0, 3});
  CHECK(printed(empty) == R"({"data":[],"dtype":"f32","shape":[0,3]})");
  CHECK(read(R"({"dtype": "int64", "shape": [2, 2], "data": [1, 2, 3, 4]})", {DType::kS64, {2, 2}})
            .as<std::int64_t>()[3] == 4);
  CHECK(read(R"({"dtype": "i8", "shape": [2, 2], "data": [[1, 2], [3, 4]]})", {DType::kS8, {2, 2}})
            .as<std::int8_t>()[3] == 4);
  CHECK(read(R"({"dtype": "u8", "data": [1, 2]})", {DType::kU8, {2}}).as<std::uint8_t>()[1] == 2);
  CHECK(error_of(R"({"dtype": "f32", "shape": [2], "data": [1, 2]})", {DType::kF64, {2}}) ==
        "is f32[2], expected f64[2]");
  CHECK(error_of(R"({"dtype": "f32", "shape": [3, 1], "data": [1, 2]})", {DType::kF32, {3, 1}}) ==
        "2 elements of data for shape [3, 1]");
  CHECK(error_of(R"({"dtype": "f32", "shap": [3], "data": [1, 2]})", {})
            .find("unknown key 'shap', did you mean 'shape'?") == 0);
  CHECK(error_of(R"({"dtype": "f32", "shape": [-3], "data": []})", {}) == "-3 is not a dimension of a shape");
  CHECK(error_of(R"({"dtype": "f32", "shape": [281474976710656, 281474976710656], "data": []})", {})
            .find("is too large") != std::string::npos);
}

TEST_CASE("json: without a spec the shape and the dtype are inferred") {
  const auto spec = [](const char* text) { return format_spec(tensor_from_json(json::parse(text)).value().spec()); };
  CHECK(spec("1") == "s32[]");
  CHECK(spec("[1, 3000000000]") == "s64[2]");
  CHECK(spec("[1, 2.5]") == "f32[2]");
  CHECK(spec("[[true], [false]]") == "bool[2, 1]");
  CHECK(spec("[\"NaN\"]") == "f32[1]");
  CHECK(spec("[]") == "f32[0]");
  CHECK(spec("[[], []]") == "f32[2, 0]");
  CHECK_FALSE(tensor_from_json(json::parse("[[1, 2], [3]]")));
  CHECK_FALSE(tensor_from_json(json::parse("[[1, 2], 3]")));
  CHECK_FALSE(tensor_from_json(json::parse("[1, true]")));
  CHECK_FALSE(tensor_from_json(json::parse("[null]")));
  CHECK_FALSE(tensor_from_json(json::parse(std::string(100000, '[') + std::string(100000, ']'))));
}

TEST_CASE("json: floats print the shortest form that reads back") {
  CHECK(printed(Tensor::scalar(DType::kF32, 0.1f)) == "0.1");
  CHECK(printed(Tensor::scalar(DType::kF32, 1.0f)) == "1.0");
  CHECK(printed(Tensor::scalar(DType::kF32, -0.0f)) == "-0.0");
  CHECK(printed(Tensor::scalar(DType::kF32, 1e30f)) == "1e+30");
  CHECK(printed(Tensor::scalar(DType::kF64, 0.1)) == "0.1");
  CHECK(printed(Tensor::scalar(DType::kF16, float_to_half(0.1f))) == "0.1");
  CHECK(printed(Tensor::scalar(DType::kBF16, float_to_bfloat16(3.14f))) == "3.14");
  CHECK(printed(Tensor::scalar(DType::kF32, std::numeric_limits<float>::infinity())) == "\"Infinity\"");
  CHECK(tensor_to_json(Tensor::scalar(DType::kF32, 0.1f)).dump() == "0.1");
  CHECK(tensor_to_json(Tensor::scalar(DType::kF16, float_to_half(0.1f))).dump() == "0.1");
  CHECK(tensor_to_json(Tensor::scalar(DType::kF32, std::nanf(""))).dump() == "\"NaN\"");
  const Tensor matrix = read("[[1, 2], [3, 4]]", {DType::kS32, {2, 2}});
  CHECK(printed(matrix) == "[[1,2],[3,4]]");
  CHECK(tensor_to_json(matrix).dump() == "[[1,2],[3,4]]");
  CHECK(printed(read("[true, false]", {DType::kBool, {2}})) == "[true,false]");
  CHECK(printed(read("[-5]", {DType::kS8, {1}})) == "[-5]");
}

TEST_CASE("json: every finite half and a walk over the floats round-trip in both printers") {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Tensor all = Tensor::uninitialized(dtype, {65536});
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const float wide = dtype == DType::kF16 ? half_to_float(static_cast<std::uint16_t>(bits))
                                              : bfloat16_to_float(static_cast<std::uint16_t>(bits));
      all.mutable_as<std::uint16_t>()[bits] = static_cast<std::uint16_t>(std::isnan(wide) ? 0 : bits);
    }
    CHECK(same_bytes(*tensor_from_json(json::parse(printed(all)), all.spec()), all));
    CHECK(same_bytes(*tensor_from_json(tensor_to_json(all), all.spec()), all));
  }
  Tensor floats = Tensor::uninitialized(DType::kF32, {200000});
  std::uint32_t bits = 1;
  for (std::int64_t i = 0; i < floats.size(); ++i, bits += 21473) {
    const float value = std::bit_cast<float>(bits);
    floats.mutable_as<float>()[i] = std::isfinite(value) ? value : 0;
  }
  CHECK(same_bytes(*tensor_from_json(json::parse(printed(floats)), floats.spec()), floats));
  CHECK(same_bytes(*tensor_from_json(json::parse(tensor_to_json(floats).dump()), floats.spec()), floats));
}

TEST_CASE("json: large tensors come from files beside the document") {
  const test::TemporaryDirectory directory;
  const Tensor tensor = read("[1, 2, 3]", {DType::kF32, {3}});
  REQUIRE(save_npy(directory / "x.npy", tensor));
  REQUIRE(save_safetensors(directory / "x.safetensors", {{{"w", tensor}}, {}}));
  CHECK(same_bytes(*tensor_from_json(json{{"npy", "x.npy"}}, tensor.spec(), directory.path()), tensor));
  CHECK(same_bytes(*tensor_from_json(json{{"safetensors", "x.safetensors"}, {"key", "w"}}, directory.path()), tensor));
  CHECK(tensor_from_json(json{{"npy", "y.npy"}}, directory.path()).error().code == Code::kNotFound);
  const auto missing = tensor_from_json(json{{"safetensors", "x.safetensors"}, {"key", "v"}}, directory.path());
  CHECK(missing.error().code == Code::kNotFound);
  CHECK(missing.error().message.find("has no tensor 'v'") != std::string::npos);
  CHECK(tensor_from_json(json{{"npy", "x.npy"}}, {DType::kF32, {4}}, directory.path()).error().message ==
        "is f32[3], expected f32[4]");
}
