// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "golden.hpp"
#include "tfd/hlo/embed.hpp"
#include "tfd/hlo/source_line.hpp"

using namespace tfd;
using namespace tfd::hlo;

namespace {

Module module_of_text(const std::string& code) { return make_module("m.mlir", code, std::nullopt).value(); }

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("embed: every symbol that the module defines has the prefix, wherever it stands") {
  const auto out =
      embed(module_of_text("#loc = loc(unknown)\n"
                           "module @jit_step attributes {mhlo.num_partitions = 1 : i32} {\n"
                           "  sdy.mesh @mesh = <[\"x\"=1]>\n"
                           "  func.func public @main(%x: tensor<4xf32> loc(\"x\")) -> tensor<4xf32> {\n"
                           "    %0 = call @_where(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(#loc5)\n"
                           "    %1 = func.call @\"odd name\"(%0) : (tensor<4xf32>) -> tensor<4xf32>\n"
                           "    %2 = stablehlo.custom_call @_where(%1) : (tensor<4xf32>) -> tensor<4xf32>\n"
                           "    %3 = sdy.sharding_constraint %2 <@mesh, [{\"x\"}]> : tensor<4xf32>\n"
                           "    return %3 : tensor<4xf32> loc(#loc)\n"
                           "  } loc(#loc)\n"
                           "  func.func private @_where(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                           "    return %x : tensor<4xf32>\n"
                           "  }\n"
                           "  func.func @\"odd name\"(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                           "    return %x : tensor<4xf32>\n"
                           "  }\n"
                           "} loc(#loc)\n"
                           "#loc5 = loc(\"a\"(#loc))\n"),
            "p");
  REQUIRE(out);
  CHECK(out->main == "p.main");
  CHECK(out->aliases.empty());
  const std::string& text = out->functions;
  for (const char* part : {"func.func private @p.main(%x: tensor<4xf32>", "call @p._where(%x)",
                           "func.call @\"p.odd name\"(%0)", "stablehlo.custom_call @_where(%1)", "<@p.mesh, [{\"x\"}]>",
                           "sdy.mesh @p.mesh", "func.func private @p._where(", "func.func private @\"p.odd name\"("})
    CHECK_MESSAGE(has(text, part), part);
  for (const char* part : {"loc", "public", "jit_step", "num_partitions"}) CHECK_MESSAGE(!has(text, part), part);
}

TEST_CASE("embed: aliases are the prefix's too") {
  const auto out = embed(module_of_text("#map = affine_map<(d0) -> (d0)>\n!t = tensor<4xf32>\n"
                                        "module {\n  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                                        "    %0 = \"op\"(%x) {m = #map, k = #stablehlo.dot<x>} : (!t) -> !t\n"
                                        "    return %0 : tensor<4xf32>\n  }\n}\n"),
                         "q");
  REQUIRE(out);
  CHECK(has(out->aliases, "#q_map = affine_map<(d0) -> (d0)>"));
  CHECK(has(out->aliases, "!q_t = tensor<4xf32>"));
  CHECK(has(out->functions, "{m = #q_map, k = #stablehlo.dot<x>} : (!q_t) -> !q_t"));
}

TEST_CASE("embed: functions without a module around them") {
  const auto out =
      embed(module_of_text("func.func @main() -> tensor<f32> {\n  %0 = stablehlo.constant dense<1.0> : tensor<f32>\n"
                           "  return %0 : tensor<f32>\n}\n"),
            "r");
  REQUIRE(out);
  CHECK(has(out->functions, "func.func private @r.main()"));
}

TEST_CASE("embed: what stands before the module can't be a part of another one") {
  const auto out = embed(module_of_text(", module @f {\n  func.func public @main() -> tensor<f32> {\n  }\n}\n"), "p");
  REQUIRE_FALSE(out);
  CHECK(out.error().message.find("there is something before the module") != std::string::npos);
}

TEST_CASE("embed: bytecode, several devices and several platforms can't be") {
  Module module = module_of_text(test::golden("add.mlir"));
  module.partitions = 2;
  CHECK(embed(module, "p").error().code == Code::kUnimplemented);
  const auto bytecode =
      make_module("by_platform.mlirbc", test::golden("by_platform.mlirbc"), test::golden("by_platform.sig")).value();
  CHECK(embed(bytecode, "p").error().message ==
        "by_platform.mlirbc is bytecode: only text can be inlined into another module");
  CHECK(embed(make_module("by_platform.mlir", test::golden("by_platform.mlir"), std::nullopt).value(), "p")
            .error()
            .message == "by_platform.mlir is for several platforms and can't be inlined into another module");
}

TEST_CASE("embed: a line of the module around is that of the file which it is from") {
  const std::string text =
      "#loc = loc(unknown)\n"
      "module {\n"
      "  func.func public @main(%x: tensor<f32> loc(\"x\")) -> tensor<f32> {\n"
      "    %0 = stablehlo.add %x, %x : tensor<f32> loc(#loc)\n"
      "    %1 = stablehlo.multiply %0,\n"
      "      %x : tensor<f32> loc(\"of\"(\n"
      "        #loc))\n"
      "    return %1 : tensor<f32> } loc(#loc)\n"
      "}\n";
  const std::string code = "module {\n  // before\n" + embed(module_of_text(text), "p")->functions + "}\n";
  const auto found = [&](std::string_view part) {
    const std::string before = code.substr(0, code.find(part));
    return *source_of_line(code, 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')));
  };
  CHECK(found("stablehlo.add").line == 4);
  CHECK(found("stablehlo.add").file == "m.mlir");
  CHECK(found("stablehlo.multiply").line == 5);
  CHECK(found("return").line == 8);
  CHECK(found("// before").file.empty());
  CHECK(found("// before").line == 2);
  CHECK(found("// before").text == "  // before");
  CHECK_FALSE(source_of_line(text, 4));
}
