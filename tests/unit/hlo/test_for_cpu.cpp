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

std::size_t count(const std::string& code) {
  const auto done = for_cpu(module_with(code));
  return done ? done->operations.size() : 0;
}
RewrittenModule rewritten(const std::string& code) {
  auto done = for_cpu(module_with(code));
  REQUIRE(done);
  return std::move(*done);
}

}  // namespace

TEST_CASE("for_cpu: the operation is replaced, and everything around it stays") {
  const std::string before = "module {\n  func.func public @main(%x: t) -> t {\n    ",
                    after = " loc(#loc3)\n    return %5\n  }\n}\n";
  const auto done = rewritten(before + "%5 = " + kGrouped + after);
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
  const auto done = rewritten(std::string("%tfd.cpu0_1 = stablehlo.abs %x : tensor<f32>\n%5 = ") + kGrouped);
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
  for (std::size_t size = 0; size < text.size(); ++size) CHECK(count(text.substr(0, size)) <= 1);
  CHECK(count(text) == 2);
  Module bytecode = module_with(text);
  bytecode.is_text = false;
  CHECK(!for_cpu(bytecode));
}

namespace {

/// The gradient of an average pool of %p, which `pad` defines.
std::string average(const std::string& pad, const std::string& type = "4x34x34x16xf32") {
  return "%c = stablehlo.constant dense<0.000000e+00> : tensor<f32>\n" + pad +
         "\n%5 = \"stablehlo.reduce_window\"(%p, %c) <{window_dimensions = array<i64: 1, 3, 3, 1>}> ({\n^bb0(%a: "
         "tensor<f32>, %b: tensor<f32>):\n  %z = stablehlo.add %a, %b : tensor<f32>\n  stablehlo.return %z : "
         "tensor<f32>\n}) : (tensor<" +
         type + ">, tensor<f32>) -> tensor<4x32x32x16xf32>\n";
}

}  // namespace

TEST_CASE("for_cpu: a pad before a sum is taken into it only if it is that one") {
  const std::string pad =
      "%p = stablehlo.pad %x, %c, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : "
      "(tensor<4x32x32x16xf32>, tensor<f32>) -> tensor<4x34x34x16xf32>";
  const auto takes = [](const std::string& code) {
    const std::string made = rewritten(code).module.code;
    CHECK((made.find("@tfd.fence(%x)") != std::string::npos) != (made.find("@tfd.fence(%p)") != std::string::npos));
    return made.find("@tfd.fence(%x)") != std::string::npos;
  };
  CHECK(takes(average(pad)));
  // Another region defines the name again, as a value or as an argument.
  CHECK_FALSE(takes(average(pad + "\n}, {\n%p = stablehlo.abs %y : tensor<4x34x34x16xf32>")));
  CHECK_FALSE(takes(average(pad + "\n^bb0(%p: tensor<4x34x34x16xf32>):")));
  CHECK_FALSE(takes(average(pad + "\n%c = stablehlo.add %u, %v : tensor<f32>")));
  // Its types aren't those of the sum.
  std::string flat = average(pad);
  flat.replace(flat.find("tensor<4x34x34x16xf32>"), 22, "tensor<34x34xf32>");
  CHECK_FALSE(takes(flat));
}

TEST_CASE("for_cpu: types that don't fit together, sizes of zero, and results without end") {
  const auto with = [](std::string code, const std::string& from, const std::string& to) {
    code.replace(code.find(from), from.size(), to);
    return code;
  };
  const std::string maximum = "%5 = " + pool("stablehlo.maximum %a, %b");
  CHECK(count(with(maximum, "16xf32>, tensor<f32>)", "16xf32>, tensor<4xf32>)")) == 0);
  CHECK(count(with(maximum, "16xf32>, tensor<f32>)", "16xbf16>, tensor<f32>)")) == 0);
  CHECK(count(with(maximum, "tensor<4x16x16x16xf32>", "tensor<4x15x16x16xf32>")) == 0);
  // Ten dimensions with eight phases each.
  std::string dims, ones, eights, pads, left, kernel, result;
  for (int i = 0; i < 10; ++i) {
    dims += fmt::format("{}, ", i);
    ones += fmt::format("{}1", i > 0 ? ", " : "");
    eights += fmt::format("{}8", i > 0 ? ", " : "");
    pads += fmt::format("{}[7, 7]", i > 0 ? ", " : "");
    left += "2x";
    kernel += "8x";
    result += "16x";
  }
  const std::string many = fmt::format(
      "%5 = stablehlo.convolution(%x, %k) dim_numbers = [b, {0}f]x[{0}i, o]->[b, {0}f], window = {{stride = [{1}], pad "
      "= "
      "[{2}], lhs_dilate = [{3}]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : "
      "(tensor<1x{4}1xf32>, tensor<{5}1x8xf32>) -> tensor<1x{6}8xf32>",
      dims, ones, pads, eights, left, kernel, result);
  CHECK(count(many) == 0);
  // A text that isn't MLIR's is read in linear time: these take seconds otherwise.
  std::string nested, names, headers;
  for (int i = 0; i < 20000; ++i) {
    nested += "%a = stablehlo.pad [";
    headers += "^ func.func @main( ";
  }
  names = "%tfd.cpu" + std::string(1 << 20, '_');
  CHECK(count(nested) == 0);
  CHECK(count(headers) == 0);
  CHECK(count(names + "\n%5 = " + kGrouped) == 0);
}
