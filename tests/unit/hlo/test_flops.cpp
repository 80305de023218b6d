// SPDX-License-Identifier: Apache-2.0
//
// A module's operations, counted in its text.
#include <doctest/doctest.h>

#include "tfd/hlo/flops.hpp"

namespace tfd::hlo {
namespace {

std::optional<double> flops_of(const std::string& body) {
  Module module;
  module.code = "module @m {\n" + body + "\n}\n";
  return estimate_flops(module);
}

std::string main_of(const std::string& body) {
  return "  func.func public @main(%a: tensor<4x8xf32>) -> tensor<4x2xf32> {\n" + body +
         "\n    return %a : tensor<4x2xf32>\n  }";
}

constexpr const char* kProduct =
    "    %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : "
    "(tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>";

TEST_CASE("flops: two for each element and each that is summed up for it") {
  CHECK(flops_of(main_of(kProduct)) == 2 * 4 * 2 * 8);
  CHECK(flops_of(main_of(
            "    %1 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1, 2] x [1, 2] : "
            "(tensor<5x3x7xf32>, tensor<5x3x7xf32>) -> tensor<5xf32>")) == 2 * 5 * 21);
  CHECK(flops_of(main_of("    %1 = \"stablehlo.dot_general\"(%a, %b) <{dot_dimension_numbers = "
                         "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : "
                         "(tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>")) == 128);
  CHECK(flops_of(main_of(
            "    %5 = stablehlo.convolution(%4, %a) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = "
            "{pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
            "(tensor<35x4x4x8xf32>, tensor<3x3x8x16xf32>) -> tensor<35x4x4x16xf32>")) == 2.0 * 35 * 4 * 4 * 16 * 72);
}

TEST_CASE("flops: of functions, as often as they are called") {
  const std::string begin = "\n  func.func private @inner(%a: tensor<4x8xf32>) -> tensor<4x2xf32> {\n";
  const std::string call = "    %2 = call @inner(%a) : (tensor<4x8xf32>) -> tensor<4x2xf32>\n";
  const std::string inner = begin + kProduct + "\n    return %1 : tensor<4x2xf32>\n  }";
  CHECK(flops_of(main_of(call + call + kProduct) + inner) == 3 * 128);
  CHECK(flops_of(main_of(kProduct) + inner) == 128);                          // nobody calls it
  CHECK(flops_of(main_of(call) + begin + call + kProduct + "\n  }") == 128);  // it calls itself, which it may not
}

TEST_CASE("flops: what can't be made out isn't counted") {
  for (const char* line :
       {"    %1 = stablehlo.add %a, %a : tensor<4x8xf32>",
        "    %1 = stablehlo.dot_general %a, %b, contracting_dims = [9] x [0] : (tensor<4xf32>, tensor<4xf32>) -> "
        "tensor<f32>",
        "    %1 = stablehlo.dot_general %a, %b, contracting_dims = [x",
        "    %1 = stablehlo.convolution(%4, %a) dim_numbers = [b]x[0, o : (tensor<4xf32>, tensor<4xf32>) -> "
        "tensor<f32>"})
    CHECK(flops_of(main_of(line)) == std::nullopt);
  CHECK(flops_of("") == std::nullopt);
  Module bytecode;
  bytecode.is_text = false;
  CHECK(estimate_flops(bytecode) == std::nullopt);
}

}  // namespace
}  // namespace tfd::hlo
