// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tfd/hlo/template.hpp"

namespace tfd::hlo {
namespace {

/// Lines 2 to 7 of the file.
std::string body(std::string_view expression = "1.0*b") {
  return fmt::format(
      "module @f {{\n"
      "  func.func public @main(%x: tensor<${{b}}x3xf32>, %w: tensor<3xf32>) -> tensor<${{2*b+1}}xf32> {{\n"
      "    %0 = stablehlo.constant dense<${{{}}}> : tensor<f32>\n"
      "    return %0 : tensor<f32>\n"
      "  }}\n"
      "}}\n",
      expression);
}

Result<Template> made(const std::string& text, const std::string& mark = "// tfd-template: b=64\n") {
  return Template::make("f.mlirt", mark + text);
}

std::string expanded(std::string_view expression, std::int64_t batch) {
  const auto any = made(body(expression));
  REQUIRE(any);
  const auto module = any->expand(batch);
  if (!module) return module.error().message;
  const std::size_t first = module->code.find("dense<") + 6;
  return module->code.substr(first, module->code.find('>', first) - first);
}

std::string problem(const std::string& text, const std::string& mark = "// tfd-template: b=64\n") {
  const auto any = made(text, mark);
  REQUIRE_FALSE(any);
  CHECK(any.error().code == Code::kInvalidArgument);
  return any.error().message;
}

std::optional<std::int64_t> size_of(const Template& any, std::vector<tensor::Shape> shapes) {
  return any.find_size([&](std::size_t i) { return &shapes[i]; });
}

}  // namespace

TEST_CASE("template: its first line says what it is") {
  CHECK(is_template("// tfd-template: b=1\n"));
  CHECK_FALSE(is_template("module @f {}\n// tfd-template: b=1"));
}

TEST_CASE("template: it is a module for each batch size") {
  const auto any = made(body(), "// tfd-template: b=64, for people\r\n");
  REQUIRE(any);
  CHECK(any->size() == 64);
  const auto module = any->expand(7);
  REQUIRE(module);
  CHECK(module->name == "f.mlirt (b=7)");
  CHECK(format_signature(module->signature) == "(x: f32[7, 3], w: f32[3]) -> (f32[15])");
  REQUIRE(any->examples().size() == 2);
  CHECK(any->examples()[0].signature.arguments[0].spec.shape == tensor::Shape{64, 3});
  CHECK(any->examples()[1].signature.arguments[0].spec.shape == tensor::Shape{65, 3});
}

TEST_CASE("template: numbers with a point or a quotient are floating-point numbers") {
  CHECK(expanded("b", 7) == "7");
  CHECK(expanded("2*b+1", 7) == "15");
  CHECK(expanded("b*b-1", 7) == "48");
  CHECK(expanded("-2*b+200", 7) == "186");
  CHECK(expanded("3*(b-1)", 7) == "18");
  CHECK(expanded("1.0*b", 7) == "7.0000000000000000e+00");
  CHECK(expanded("1/(48.0*b)", 7) == "2.9761904761904760e-03");
  CHECK(expanded("0.1*48*b/(48*b-1)", 1) == "1.0212765957446809e-01");
}

TEST_CASE("template: what isn't a number for a size is said with its line") {
  CHECK(expanded("b-3", 2) == "f.mlirt: line 4: '${b-3}': it is negative for b=2");
  CHECK(expanded("1/(b-1)", 1) == "f.mlirt: line 4: '${1/(b-1)}': it is no number for b=1");
  CHECK(expanded("b*b*b", std::int64_t{1} << 20) == "f.mlirt: line 4: '${b*b*b}': it is too large for b=1048576");
}

TEST_CASE("template: what isn't an expression is said with its line") {
  CHECK(problem(body("b+")) == "f.mlirt: line 4: '${b+}': a number, b or '(' is missing");
  CHECK(problem(body("")) == "f.mlirt: line 4: '${}': a number, b or '(' is missing");
  CHECK(problem(body("2b")) == "f.mlirt: line 4: '${2b}': 'b' is unexpected");
  CHECK(problem(body("n")) == "f.mlirt: line 4: '${n}': a number, b or '(' is missing");
  CHECK(problem(body("(b")) == "f.mlirt: line 4: '${(b}': a ')' is missing");
  CHECK(problem(body("inf")) == "f.mlirt: line 4: '${inf}': a number, b or '(' is missing");
  CHECK(problem(body(std::string(40, '('))) ==
        "f.mlirt: line 4: '${((((((((((((((((((((((((((((((((((((((((}': it has too many parentheses");
  CHECK(problem("module { ${b \n }") == "f.mlirt: line 2: '${' without a '}'");
}

TEST_CASE("template: the first line has the size that it was written for") {
  const std::string wanted = "f.mlirt: line 1: must be '// tfd-template: b=64', with a batch size that it is for";
  for (const char* mark : {"// tfd-template:\n", "// tfd-template: b=0\n", "// tfd-template: n=3\n",
                           "// tfd-template: b=x\n", "// tfd-template: b=-1\n"})
    CHECK(problem(body(), mark) == wanted);
  CHECK(problem("", "// tfd-template:") == wanted);
}

TEST_CASE("template: it has to be a module, of arguments that depend on the batch") {
  CHECK(problem("module @f {}\n") == "f.mlirt (b=64): it has no public @main function");
  CHECK(problem("module {\n func.func public @main(%x: tensor<3xf32>) -> tensor<${b}xf32> {\n }\n}\n") ==
        "f.mlirt: no argument of @main has b in its shape: (x: f32[3]) -> (f32[64])");
}

TEST_CASE("template: the size of a batch is known by the shapes of the arguments") {
  const auto any = made(body());
  REQUIRE(any);
  CHECK(size_of(*any, {{7, 3}, {3}}) == 7);
  CHECK(size_of(*any, {{0, 3}, {3}}) == std::nullopt);
  CHECK(any->find_size([](std::size_t) { return nullptr; }) == std::nullopt);
  const auto other = made(
      "module {\n func.func public @main(%x: tensor<${3*b+1}xf32>, %y: tensor<${b*b}xf32>) -> tensor<f32> {\n }\n}\n");
  REQUIRE(other);
  CHECK(size_of(*other, {{22}, {49}}) == 7);
  CHECK(size_of(*other, {{23}, {49}}) != 7);
}

}  // namespace tfd::hlo
