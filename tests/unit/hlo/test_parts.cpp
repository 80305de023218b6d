// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "golden.hpp"
#include "modules.hpp"
#include "tfd/hlo/embed.hpp"
#include "tfd/hlo/module.hpp"
#include "tfd/hlo/partition.hpp"
#include "tfd/hlo/template.hpp"

using namespace tfd;
using namespace tfd::hlo;
using tfd::hlo::test::error_of;
using tfd::hlo::test::parsed;
using tfd::test::golden;

namespace {

bool says(const Module& module, std::string_view text) { return module.code.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("parts: complex arguments and results are f32 or f64 with a last dimension of 2") {
  const Module module = parsed(
      "func.func @main(%z: tensor<4x3xcomplex<f32>>, %x: tensor<3xf32>, %s: tensor<complex<f64>>, %none: "
      "tensor<0xcomplex<f32>>) -> (tensor<complex<f64>>, tensor<4x3xcomplex<f32>>) {\n"
      "  return %s, %z : tensor<complex<f64>>, tensor<4x3xcomplex<f32>>\n}\n");
  CHECK(format_signature(module.signature) ==
        "(z: f32[4, 3, 2], x: f32[3], s: f64[2], none: f32[0, 2]) -> (f64[2], f32[4, 3, 2])");
  CHECK(says(module,
             "@main(%tfd.parts0: tensor<4x3x2xf32>, %x: tensor<3xf32>, %tfd.parts1: tensor<2xf64>, "
             "%tfd.parts2: tensor<0x2xf32>) -> (tensor<2xf64>, tensor<4x3x2xf32>) {"));
  CHECK(says(module, "%z = stablehlo.complex %tfd.parts0.0, %tfd.parts0.1 : tensor<4x3xcomplex<f32>>"));
  CHECK(says(module, "%tfd.parts1.1.column = stablehlo.slice %tfd.parts1 [1:2] : (tensor<2xf64>) -> tensor<1xf64>"));
  CHECK(says(module, "return %tfd.parts3, %tfd.parts4 : tensor<2xf64>, tensor<4x3x2xf32>\n}\n"));
  CHECK(std::ranges::count(module.code, '\n') == 3);
  CHECK(parsed(module.code).code == module.code);
}

TEST_CASE("parts: jax's text keeps its lines, its names and what it donates") {
  const std::string text = golden("complex.mlir");
  const Module module = parsed(text);
  CHECK(format_signature(module.signature) ==
        "(gain: f32[3, 2], mean: f32[3, 2], x: f32[2, 3], z: f32[2, 3, 2]) -> (f32[2, 3, 2], f32[3, 2], f32[], "
        "f32[3, 2], f32[2, 3, 2])");
  CHECK(module.signature.results[1].name == "result['gain']");
  CHECK(module.signature.arguments[1].aliases_output == 1);
  CHECK(module.may_donate);
  CHECK(std::ranges::count(module.code, '\n') == std::ranges::count(text, '\n'));
  CHECK(format_signature(parsed(module.code).signature) == format_signature(module.signature));
  const Module sidecar = make_module("m.mlir", text, golden("complex.sig")).value();
  CHECK(format_signature(sidecar.signature) == format_signature(module.signature));
}

TEST_CASE("parts: complex values that stay inside are left alone") {
  const std::string text =
      "module @m {\n  func.func private @square(%z: tensor<complex<f32>>) -> tensor<complex<f32>> {\n"
      "    %0 = stablehlo.multiply %z, %z : tensor<complex<f32>>\n    return %0 : tensor<complex<f32>>\n  }\n"
      "  func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n"
      "    %0 = stablehlo.complex %x, %x : tensor<complex<f32>>\n"
      "    %1 = call @square(%0) : (tensor<complex<f32>>) -> tensor<complex<f32>>\n"
      "    %2 = stablehlo.imag %1 : (tensor<complex<f32>>) -> tensor<f32>\n    return %2 : tensor<f32>\n  }\n}\n";
  CHECK(parsed(text).code == text);
}

TEST_CASE("parts: results of several values, values twice, and names that the text has itself") {
  const Module module = parsed(
      "func.func @main(%tfd.parts0: tensor<complex<f32>>) -> (tensor<complex<f32>> {jax.result_info = \"a\"}, "
      "tensor<i1>, "
      "tensor<complex<f32>>, tensor<complex<f32>>) {\n"
      "  %0:2 = call @f(%tfd.parts0) : (tensor<complex<f32>>) -> (tensor<complex<f32>>, tensor<i1>)\n"
      "  func.return %0#0, %0#1, %0#0, %tfd.parts0 : tensor<complex<f32>>, tensor<i1>, tensor<complex<f32>>, "
      "tensor<complex<f32>> loc(#loc1)\n}\n");
  CHECK(says(module, "@main(%tfd.parts_0: tensor<2xf32>)"));
  CHECK(says(module, "%tfd.parts_1.0 = stablehlo.real %0#0 : (tensor<complex<f32>>) -> tensor<f32>"));
  CHECK(says(module,
             "func.return %tfd.parts_1, %0#1, %tfd.parts_2, %tfd.parts_3 : tensor<2xf32>, tensor<i1>, "
             "tensor<2xf32>, tensor<2xf32> loc(#loc1)"));
  CHECK(module.signature.results[0].name == "a");
}

TEST_CASE("parts: only the function's own return counts, and a result needs no parentheses") {
  const Module module = parsed(
      "func.func @main(%n: tensor<f32>) -> tensor<complex<f32>> {\n"
      "  %0 = \"stablehlo.case\"(%n) ({\n    stablehlo.return %n : tensor<f32>\n  }) : (tensor<f32>) -> tensor<f32>\n"
      "  // return %n : tensor<f32>\n  %1 = stablehlo.complex %0, %n : tensor<complex<f32>>\n"
      "  return %1 : tensor<complex<f32>>\n}\nfunc.func private @g(%z: tensor<complex<f32>>) -> tensor<complex<f32>> "
      "{\n"
      "  return %z : tensor<complex<f32>>\n}\n");
  CHECK(says(module, "-> tensor<2xf32> {"));
  CHECK(says(module, "return %tfd.parts0 : tensor<2xf32>\n}\nfunc.func private @g(%z: tensor<complex<f32>>)"));
}

TEST_CASE("parts: shardings have one dimension more, which isn't cut") {
  const Module xla = parsed(
      "module @m attributes {mhlo.num_partitions = 2 : i32} {\n  func.func public @main(%z: tensor<4x3xcomplex<f32>> "
      "{mhlo.sharding = \"{devices=[2,1]<=[2]}\"}, %s: tensor<complex<f32>> {mhlo.sharding = \"{replicated}\"}) -> "
      "tensor<4x3xcomplex<f32>> {\n    return %z : tensor<4x3xcomplex<f32>>\n  }\n}\n");
  CHECK(xla.sharding_problem.empty());
  CHECK(xla.signature.arguments[0].sharding == OpSharding{OpSharding::Kind::kSplit, {2, 1, 1}});
  CHECK(says(xla,
             "tensor<4x3x2xf32> {mhlo.sharding = \"{devices=[2,1,1]<=[2]}\"}, %tfd.parts1: tensor<2xf32> "
             "{mhlo.sharding = \"{replicated}\"}"));
  const Module whole = with_all_shardings(xla).value();
  CHECK(says(whole, "-> (tensor<4x3x2xf32>  {mhlo.sharding = \"{replicated}\"}) {"));
  const Module shardy = parsed(
      "module @m attributes {mhlo.num_partitions = 2 : i32} {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func public "
      "@main(%z: tensor<4x3xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}, %s: "
      "tensor<complex<f32>> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<4xcomplex<f32>> {sdy.sharding = "
      "#sdy.sharding<@mesh, [{\"x\"}], replicated={\"y\"}>}) {\n    return %z : tensor<4xcomplex<f32>>\n  }\n}\n");
  CHECK(shardy.signature.arguments[0].sharding == OpSharding{OpSharding::Kind::kSplit, {2, 1, 1}});
  CHECK(says(shardy,
             "#sdy.sharding<@mesh, [{\"x\"}, {}, {}]>}, %tfd.parts1: tensor<2xf32> {sdy.sharding = "
             "#sdy.sharding<@mesh, [{}]>}"));
  CHECK(says(shardy, "#sdy.sharding<@mesh, [{\"x\"}, {}], replicated={\"y\"}>"));
}

TEST_CASE("parts: a module for several platforms, a part of another module, a template") {
  Module platforms = parsed(
      "module @m {\n  func.func public @main(%i: tensor<i32> {jax.global_constant = \"_platform_index\"}, %z: "
      "tensor<complex<f32>>) -> tensor<complex<f32>> {\n    return %z : tensor<complex<f32>>\n  }\n}\n");
  platforms.platforms = {"cpu", "cuda"};
  const Module cpu = for_platform(platforms, "cpu").value();
  CHECK(says(cpu,
             "@main( %tfd.parts0: tensor<2xf32>) -> tensor<2xf32> { %i = stablehlo.constant dense<0> : tensor<i32>"));
  CHECK(format_signature(cpu.signature) == "(z: f32[2]) -> (f32[2])");
  const Embedded embedded = embed(cpu, "inner").value();
  CHECK(embedded.functions.find("func.func private @inner.main( %tfd.parts0: tensor<2xf32>)") != std::string::npos);
  const Template any = Template::make("any.mlirt",
                                      "// tfd-template: b=4\nfunc.func @main(%z: tensor<${b}xcomplex<f32>>) -> "
                                      "tensor<${b}xcomplex<f32>> {\n  return %z : tensor<${b}xcomplex<f32>>\n}\n")
                           .value();
  CHECK(format_signature(any.expand(7).value().signature) == "(z: f32[7, 2]) -> (f32[7, 2])");
  const tensor::Shape nine{9, 2};
  CHECK(any.find_size([&](std::size_t) { return &nine; }) == 9);
}

TEST_CASE("parts: a text that isn't one is said with its line, and cut or changed anywhere it never crashes") {
  const auto with_return = [](const std::string& text) {
    return "func.func @main(%z: tensor<complex<f32>>) -> (tensor<complex<f32>>, tensor<f32>) {\n" + text + "\n}\n";
  };
  CHECK(error_of(with_return("return %z : tensor<complex<f32>>")) ==
        "m.mlir: line 2: it returns 1 values of 1 types, but the results of @main are 2");
  CHECK(error_of(with_return("return %z, %z : tensor<complex<f32>>, tensor<f32")) ==
        "m.mlir: line 2: it returns 2 values of 1 types, but the results of @main are 2");
  CHECK(error_of(with_return("return %z, %z : tensor<f32>, tensor<f32>")) ==
        "m.mlir: line 2: it returns %z as tensor<f32>, but result 0 of @main is tensor<complex<f32>>");
  CHECK(parsed(with_return("return %z, %z : tensor< complex<f32> >, tensor<f32>")).signature.results.size() == 2);
  CHECK(error_of(with_return("\"func.return\"(%z, %z) : (tensor<complex<f32>>, tensor<f32>) -> ()")) ==
        "m.mlir: its @main has no 'return'");
  CHECK(error_of("func.func @main(%z: tensor<4xcomplex<f16>>) {\n return\n}") ==
        "m.mlir: line 1: argument 0 (%z): tensor<4xcomplex<f16>>: element type 'complex<f16>' is not supported");
  CHECK(parsed("func.func @main(%z: tensor<complex<f32>>) {\n return\n}").signature.results.empty());
  const std::string text =
      "module @m {\n func.func @main(%z: tensor<2xcomplex<f32>> {mhlo.sharding = \"{devices=[1]0}\"} loc(\"z\")) -> "
      "tensor<2xcomplex<f32>> {\n %0:2 = call @f(%z) : (tensor<2xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, "
      "tensor<f32>)\n return %0#0 : tensor<2xcomplex<f32>> loc(#loc)\n }\n}\n";
  CHECK(parsed(text).signature.results.size() == 1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    (void)make_module("m.mlir", text.substr(0, i), std::nullopt);
    for (const char byte : {'<', '"', '{', '\n', '#'}) {
      std::string changed = text;
      changed[i] = byte;
      if (const auto module = make_module("m.mlir", changed, std::nullopt)) (void)embed(*module, "x");
    }
  }
}
