// SPDX-License-Identifier: Apache-2.0
//
// The operations that for_cpu() finds in texts, and those that it leaves alone. tests/unit/function tests their
// numbers.
#include <doctest/doctest.h>

#include "tfd/hlo/for_cpu.hpp"

using namespace tfd;
using namespace tfd::hlo;

namespace {

Module module_with(const std::string& code) {
  Module module;
  module.name = "m";
  module.code = code;
  return module;
}

constexpr const char* kGrouped =
    "stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, "
    "1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<4x8x8x16xf32>, tensor<3x3x8x16xf32>) "
    "-> "
    "tensor<4x8x8x16xf32>";

std::string pool(const std::string& operation) {
  return "\"stablehlo.reduce_window\"(%x, %c) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = "
         "array<i64: 1, "
         "2, 2, 1>}> ({\n^bb0(%a: tensor<f32> loc(\"a\"), %b: tensor<f32> loc(\"b\")):\n  %z = " +
         operation +
         " : tensor<f32>\n  stablehlo.return %z : tensor<f32>\n}) : (tensor<4x32x32x16xf32>, tensor<f32>) -> "
         "tensor<4x16x16x16xf32>";
}

std::size_t count(const std::string& code) { return for_cpu(module_with(code)).operations.size(); }

}  // namespace

TEST_CASE("for_cpu: the operation is replaced, and everything around it stays") {
  const std::string before = "module {\n  func.func public @main(%x: t) -> t {\n    ",
                    after = " loc(#loc3)\n    return %5\n  }\n}\n";
  const auto done = for_cpu(module_with(before + "%5 = " + kGrouped + after));
  REQUIRE(done.operations.size() == 1);
  CHECK(done.operations[0].operation == "convolution");
  CHECK(done.operations[0].from == "f32[4, 8, 8, 16], f32[3, 3, 8, 16]");
  CHECK(done.operations[0].how == "2 convolutions of a group each");
  CHECK(done.module.code.starts_with(before));
  CHECK(done.module.code.ends_with(after));
  CHECK(done.module.code.find("%5 = stablehlo.reshape %tfd.cpu0_") != std::string::npos);
  CHECK(done.module.code.find("feature_group_count = 2") == std::string::npos);
}

TEST_CASE("for_cpu: names that the text has already aren't used") {
  const auto done = for_cpu(module_with(std::string("%tfd.cpu0_1 = stablehlo.abs %x : tensor<f32>\n%5 = ") + kGrouped));
  CHECK(done.module.code.find("%5 = stablehlo.reshape %tfd.cpu_0_") != std::string::npos);
}

TEST_CASE("for_cpu: pools of one value whose region is one operation") {
  CHECK(count("%5 = " + pool("stablehlo.maximum %a, %b")) == 1);
  CHECK(count("%5 = " + pool("stablehlo.maximum %b, %a")) == 1);
  CHECK(count("%5 = " + pool("stablehlo.add %a, %a")) == 0);
  CHECK(count("%5 = " + pool("stablehlo.multiply %a, %b")) == 0);
  CHECK(count("%5 = " + pool("stablehlo.negate %a")) == 0);
  CHECK(count("%5:2 = " + pool("stablehlo.maximum %a, %b")) == 0);
  CHECK(count(pool("stablehlo.maximum %a, %b")) == 0);
}

TEST_CASE("for_cpu: what isn't as MLIR prints it, or has other types, is left alone") {
  const std::string text = std::string("%5 = ") + kGrouped;
  CHECK(count(text) == 1);
  for (const auto& [from, to] :
       {std::pair("[b, 0, 1, f]x", "[b, 0, 0, f]x"), std::pair("[b, 0, 1, f]x", "[b, 0, 1]x"),
        std::pair("feature_group_count = 2", "feature_group_count = 3"),
        std::pair("feature_group_count = 2", "feature_group_count = 0"),
        std::pair("pad = [[1, 1], [1, 1]]", "pad = [[1, 1]]"),
        std::pair("pad = [[1, 1], [1, 1]]", "pad = [[1, 1], [1, 99999999999999]]"),
        std::pair("pad = [[1, 1], [1, 1]]", "pad = #pads"), std::pair("(%x, %k)", "(%x, %k, %k)"),
        std::pair("-> tensor", "-> complex"), std::pair("-> tensor<4x8x8x16xf32>", "-> tensor<4x8x8x16xf64>"),
        std::pair("-> tensor<4x8x8x16xf32>", "-> tensor<4x8x9x16xf32>")}) {
    std::string changed = text;
    changed.replace(changed.find(from), std::string(from).size(), to);
    CHECK_MESSAGE(count(changed) == 0, changed);
  }
  std::string half = text;
  for (std::size_t at; (at = half.find("f32")) != std::string::npos;) half.replace(at, 3, "f16");
  CHECK(count(half) == 0);  // sums of half precision would lose bits
}

TEST_CASE("for_cpu: cut-off texts and bytecode") {
  const std::string text = std::string("%5 = ") + kGrouped + "\n%6 = " + pool("stablehlo.maximum %a, %b");
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto done = for_cpu(module_with(text.substr(0, size)));
    if (done.operations.empty()) CHECK(done.module.code == text.substr(0, size));
  }
  CHECK(count(text) == 2);
  Module bytecode = module_with(text);
  bytecode.is_text = false;
  CHECK(for_cpu(bytecode).module.code == text);
}
