// SPDX-License-Identifier: Apache-2.0
//
// A module's uses of its arguments.
#include <doctest/doctest.h>

#include "tfd/hlo/uses.hpp"

namespace tfd::hlo {
namespace {

/// @main takes %a, %b: f32; %c: f32[2]; %d: f32[2,2].
std::vector<std::size_t> joined_in(const std::string& body, const std::string& around = "") {
  const auto module =
      make_module("m",
                  "module @m {\n" + around +
                      "  func.func public @main(%a: tensor<f32>, %b: tensor<f32> loc(\"b\"), %c: tensor<2xf32> "
                      "{jax.arg_info = \"(c)\"}, %d: tensor<2x2xf32>) -> tensor<4xf32> {\n" +
                      body + "\n  }\n}\n",
                  std::nullopt);
  REQUIRE_MESSAGE(module, (module ? "" : module.error().message));
  return joined_arguments(*module);
}

constexpr const char* kStack =
    "    %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<1xf32>\n"
    "    %1 = stablehlo.reshape %b : (tensor<f32>) -> tensor<1xf32>\n"
    "    %2 = stablehlo.concatenate %1, %0, %c, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<2xf32>) -> "
    "tensor<4xf32>\n";
constexpr const char* kReturn = "    return %2 : tensor<4xf32>";

TEST_CASE("uses: scalars and vectors that are only put together, in that order") {
  CHECK(joined_in(std::string(kStack) + kReturn) == std::vector<std::size_t>{1, 0, 2});
  CHECK(joined_in("    %2 = \"stablehlo.concatenate\"(%c, %c) <{dimension = 0 : i64}> : (tensor<2xf32>, tensor<2xf32>) "
                  "-> tensor<4xf32>\n" +
                  std::string(kReturn))
            .empty());  // twice
}

TEST_CASE("uses: not what anything else reads, too") {
  const std::string negated = "    %3 = stablehlo.negate %a : tensor<f32>\n";
  CHECK(joined_in(kStack + negated + kReturn) == std::vector<std::size_t>{1, 2});
  CHECK(joined_in(kStack + std::string("    %3 = stablehlo.negate %1 : tensor<1xf32>\n") + kReturn) ==
        std::vector<std::size_t>{0, 2});
  CHECK(joined_in(kStack + std::string("    return %c : tensor<2xf32>")) == std::vector<std::size_t>{1, 0});
}

TEST_CASE("uses: other functions have values of their own") {
  const std::string other =
      "  func.func private @f(%a: tensor<f32>) -> tensor<f32> {\n"
      "    %0 = stablehlo.negate %a : tensor<f32>\n    return %0 : tensor<f32>\n  }\n";
  CHECK(joined_in(std::string(kStack) + kReturn, other) == std::vector<std::size_t>{1, 0, 2});
  CHECK(joined_in(std::string(kStack) + kReturn + "\n  }\n" + other + "  func.func private @g() {\n    return") ==
        std::vector<std::size_t>{1, 0, 2});
}

TEST_CASE("uses: results are computed one after the other, several by one call at once") {
  const auto module =
      make_module("m",
                  "module @m {\n  func.func public @main(%a: tensor<f32>) -> (tensor<f32>, tensor<f32>, "
                  "tensor<f32>, tensor<f32>) {\n"
                  "    %0 = stablehlo.negate %a : tensor<f32>\n"
                  "    %1:2 = call @f(%0) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)\n"
                  "    %2 = stablehlo.add %1#0, %0 : tensor<f32>\n"
                  "    return %2, %1#1, %a, %0 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>\n  }\n"
                  "  func.func private @f(%a: tensor<f32>) -> (tensor<f32>, tensor<f32>) {\n"
                  "    return %a, %a : tensor<f32>, tensor<f32>\n  }\n}\n",
                  std::nullopt);
  REQUIRE_MESSAGE(module, (module ? "" : module.error().message));
  CHECK(result_positions(*module) == std::vector<std::size_t>{2, 1, 0, 0});
}

TEST_CASE("uses: nothing is known of bytecode") {
  Module module;
  module.is_text = false;
  CHECK(joined_arguments(module).empty());
  CHECK(result_positions(module).empty());
}

}  // namespace
}  // namespace tfd::hlo
