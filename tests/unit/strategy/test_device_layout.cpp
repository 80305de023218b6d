// SPDX-License-Identifier: Apache-2.0
//
// Variables that share a buffer on devices, and how the step's module takes them.
#include <doctest/doctest.h>

#include "device/device_layout.hpp"
#include "tfd/strategy/device_training.hpp"

namespace tfd::strategy {
namespace {

using Of = DeviceLayout::Argument::Of;

/// Scalars v0, v1, … and a vector w[3]: joined to one vector, the last one first, or each multiplied with itself. The
/// gradients are the values.
std::string module_of(int scalars, bool joins) {
  std::string arguments, body, joined, ones, results, types;
  for (int i = 0; i < scalars; ++i) {
    arguments += fmt::format("%v{}: tensor<f32>, ", i);
    body += joins ? fmt::format("    %r{0} = stablehlo.reshape %v{0} : (tensor<f32>) -> tensor<1xf32>\n", i)
                  : fmt::format("    %r{0} = stablehlo.multiply %v{0}, %v{0} : tensor<f32>\n", i);
    joined = fmt::format("%r{}{}{}", i, i > 0 ? ", " : "", joined);
    ones += fmt::format("{}tensor<1xf32>", i > 0 ? ", " : "");
    results += fmt::format(", %g{}", i);
    types += ", tensor<f32>";
  }
  if (joins)
    body +=
        fmt::format("    %all = stablehlo.concatenate {}, dim = 0 : ({}) -> tensor<{}xf32>\n", joined, ones, scalars);
  for (int i = 0; i < scalars; ++i)
    body += joins ? fmt::format(
                        "    %s{0} = stablehlo.slice %all [{1}:{2}] : (tensor<{3}xf32>) -> tensor<1xf32>\n"
                        "    %g{0} = stablehlo.reshape %s{0} : (tensor<1xf32>) -> tensor<f32>\n",
                        i, scalars - 1 - i, scalars - i, scalars)
                  : fmt::format("    %g{0} = stablehlo.add %r{0}, %v{0} : tensor<f32>\n", i);
  return fmt::format(
      "module @m {{\n  func.func public @main({}%w: tensor<3xf32>, %x: tensor<f32>) -> (tensor<f32>, tensor<3xf32>{}) "
      "{{\n{}    %gw = stablehlo.add %w, %w : tensor<3xf32>\n    return %x, %gw{} : tensor<f32>, tensor<3xf32>{}\n  "
      "}}\n}}\n",
      arguments, types, body, results, types);
}

program::Program program_of(int scalars, bool joins) {
  std::string variables, inputs, outputs;
  for (int i = 0; i < scalars; ++i) {
    variables += fmt::format(R"("v{}": {{"shape": [], "init": {{"ones": {{}}}}}}, )", i);
    inputs += fmt::format(R"({{"variable": "v{}"}}, )", i);
    outputs += fmt::format(R"(, {{"gradient": "v{}"}})", i);
  }
  const std::string text = fmt::format(
      R"({{"v": 1, "variables": {{{}"w": {{"shape": [3], "init": {{"ones": {{}}}}}}}}, "optimizer": {{"sgd": {{}}}},
           "datasets": {{"d": [{{"tensor_slices": {{"fields": {{"x": [1.0, 2.0]}}}}}}, {{"repeat": {{}}}}]}},
           "functions": {{"f": {{"module": "m.mlir", "inputs": [{}{{"variable": "w"}}, {{"dataset": "d", "field": "x"}}],
                                 "outputs": [{{"metric": "loss"}}, {{"gradient": "w"}}{}]}}}},
           "train": {{"function": "f", "steps": 1}}}})",
      variables, inputs, outputs);
  const auto program = program::parse_program(
      text, "p.json", ".", [&](const std::string&) -> Result<std::string> { return module_of(scalars, joins); }, {});
  REQUIRE_MESSAGE(program, (program ? "" : program.error().message));
  return *program;
}

DeviceLayout layout_of(const program::Program& program, const LayoutOptions& options) {
  std::vector<variable::VariableState> states;
  for (const program::VariableDef& one : program.variables) states.push_back({one.name, {}, {}, 0, 0});
  auto layout = lay_out(program, states, options);
  REQUIRE_MESSAGE(layout, (layout ? "" : layout.error().message));
  return *layout;
}

TEST_CASE("device layout: on a CPU many small variables are views of a pack, each in memory that is aligned") {
  const auto program = program_of(20, false);
  CHECK(has_many_slices(program));
  CHECK_FALSE(is_fused(StepMode::kAuto, program, 1, "cpu"));
  CHECK(is_fused(StepMode::kFused, program, 1, "cpu"));
  const auto layout = layout_of(program, {.platform = "cpu"});
  REQUIRE(layout.packs.size() == 1);
  CHECK(layout.packs[0].is_viewed);
  CHECK(layout.packs[0].sizes == std::vector<std::int64_t>(21, 16));
  CHECK(layout.packs[0].spec.shape == tensor::Shape{21 * 16});
  REQUIRE(layout.computes[0].arguments.size() == 22);
  for (std::size_t i = 0; i < 21; ++i) {
    CHECK(layout.computes[0].arguments[i].of == Of::kVariable);
    CHECK(layout.computes[0].module.signature.arguments[i].spec == program.variables[i].spec);
  }
  CHECK(layout.computes[0].module.signature.results.back().spec == layout.packs[0].spec);
}

TEST_CASE("device layout: few small variables, and what isn't a CPU's, are slices of a pack") {
  CHECK_FALSE(has_many_slices(program_of(3, false)));
  CHECK(is_fused(StepMode::kAuto, program_of(3, false), 1, "cpu"));
  CHECK(is_fused(StepMode::kAuto, program_of(20, false), 1, "cuda"));
  for (const auto& [platform, fuses] : {std::pair("cpu", true), std::pair("cuda", true), std::pair("cuda", false)}) {
    const auto layout = layout_of(program_of(20, false), {.platform = platform, .fuses = fuses});
    REQUIRE(layout.packs.size() == 1);
    CHECK_FALSE(layout.packs[0].is_viewed);
    CHECK(layout.packs[0].spec.shape == tensor::Shape{20 + 3});
    CHECK(layout.computes[0].arguments.size() == 2);
    CHECK(layout.computes[0].arguments[0].of == Of::kPack);
  }
}

TEST_CASE("device layout: variables that the function makes one vector of are slices, in its order") {
  const auto program = program_of(20, true);
  CHECK_FALSE(has_many_slices(program));
  CHECK(is_fused(StepMode::kAuto, program, 1, "cpu"));
  const auto layout = layout_of(program, {.platform = "cpu"});  // as several replicas have it
  REQUIRE(layout.packs.size() == 2);
  CHECK_FALSE(layout.packs[0].is_viewed);
  REQUIRE(layout.packs[0].variables.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) CHECK(layout.packs[0].variables[i] == 19 - i);
  CHECK_FALSE(layout.packs[1].is_viewed);  // w by itself, as it is
  CHECK(layout.packs[1].sizes == std::vector<std::int64_t>{3});
}

}  // namespace
}  // namespace tfd::strategy
