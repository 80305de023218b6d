// SPDX-License-Identifier: Apache-2.0
//
// Functions for any batch size, and batches that a mask lets fill up.
#include <doctest/doctest.h>

#include "programs.hpp"

namespace tfd::program {
namespace {

using tensor::DType;
using tensor::TensorSpec;

std::string template_text(const std::string& weights = "8x2") {
  return "// tfd-template: b=64\nmodule @step {\n  func.func public @main(%arg0: tensor<" + weights +
         "xf32> loc(\"w\"), %arg1: tensor<2xf32> loc(\"b\"), %arg2: tensor<${b}x8xf32> loc(\"x\"), "
         "%arg3: tensor<${b}xi32> loc(\"y\")) -> (tensor<f32>, tensor<8x2xf32>, tensor<2xf32>) {\n"
         "    %0 = stablehlo.constant dense<${1/b}> : tensor<f32>\n"
         "    return %0, %arg0, %arg1 : tensor<f32>, tensor<8x2xf32>, tensor<2xf32>\n  }\n}\n";
}

/// The program has any.mlirt in place of step.mlir.
Result<Program> load(std::vector<std::string> overrides, int replicas = 0, const std::string& text = template_text()) {
  auto files = test::modules();
  files["any.mlirt"] = text;
  ProgramOptions options{.overrides = {"functions.train_step.module=any.mlirt"}, .look_at_files = false};
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  options.replicas = replicas;
  return parse_program(test::kProgram, "p.json", "/nowhere", test::memory_reader(files), options);
}

std::string problem(std::vector<std::string> overrides, int replicas = 0, const std::string& text = template_text()) {
  const auto program = load(std::move(overrides), replicas, text);
  return program ? std::string() : program.error().message;
}

std::vector<std::int64_t> called_sizes(const Modules& modules) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < modules.called_size(); ++i)
    out.push_back(modules.called(i).signature.arguments[2].spec.shape[0]);
  return out;
}

std::vector<TensorSpec> specs(std::int64_t batch, std::int64_t labels) {
  return {{DType::kF32, {8, 2}}, {DType::kF32, {2}}, {DType::kF32, {batch, 8}}, {DType::kS32, {labels}}};
}

}  // namespace

TEST_CASE("modules: a template is made into a module for each size that comes") {
  const auto program = load({"datasets.train[2].batch.size=5"});
  REQUIRE(program);
  const Modules& modules = program->find_function("train_step")->modules;
  CHECK(modules.any_size() != nullptr);
  CHECK(called_sizes(modules) == std::vector<std::int64_t>{5});  // known beforehand
  const FunctionDef& step = *program->find_function("train_step");
  CHECK(choose_module(step, specs(3, 3)) == 1);
  CHECK(choose_module(step, specs(5, 5)) == 0);
  CHECK(choose_module(step, specs(3, 3)) == 1);
  CHECK(called_sizes(modules) == std::vector<std::int64_t>{5, 3});
  CHECK(modules.called(1).name == "any.mlirt (b=3)");
  CHECK(choose_module(step, specs(3, 4)).error().message ==
        "train_step: argument 2 (x) is f32[3, 8], but the module takes f32[64, 8]");
  CHECK(modules.may_take(2, {DType::kF32, {9, 8}}));
  CHECK_FALSE(modules.may_take(2, {DType::kF32, {9, 7}}));
  CHECK_FALSE(modules.may_take(2, {DType::kS32, {9, 8}}));
}

TEST_CASE("modules: replicas share a batch as they can") {
  const auto program = load({"train.replicas=split", "datasets.train[2].batch.size=8"}, 3);
  REQUIRE(program);
  CHECK(called_sizes(program->find_function("train_step")->modules) == std::vector<std::int64_t>{2, 3});
  const auto unknown = load({"train.replicas=split", "datasets.train[2].batch.size=8"});
  REQUIRE(unknown);
  CHECK(called_sizes(unknown->find_function("train_step")->modules).empty());
  CHECK(unknown->find_function("train_step")->modules.expected().front()->name == "any.mlirt (b=64)");
}

TEST_CASE("modules: tasks get the template") {
  const auto program = load({});
  REQUIRE(program);
  CHECK(program->files.at("any.mlirt") == template_text());
  CHECK(program->document().find("any.mlirt") != std::string::npos);
}

TEST_CASE("modules: what is wrong with a template is said where it is named") {
  CHECK(problem({}, 0, "// tfd-template: b=4\nmodule {}\n") ==
        "p.json: functions.train_step.module: any.mlirt (b=4): it has no public @main function");
  CHECK(problem({}, 0, "// tfd-template: n\n" + template_text()) ==
        "p.json: functions.train_step.module: any.mlirt: line 1: must be '// tfd-template: b=64', with a batch size "
        "that it is for");
  CHECK(problem({R"(functions.train_step.module=["any.mlirt", "step.mlir"])"}) ==
        "p.json: functions.train_step.module[0]: any.mlirt is for any batch size: it can only be a function's one "
        "module");
  CHECK(problem({}, 0, template_text("${b}x2")) ==
        "p.json: functions.train_step.inputs[0]: variable 'w' is f32[8, 2], but argument 'w' of any.mlirt (b=64) is "
        "f32[64, 2]");
}

TEST_CASE("modules: shardings of the program are those of every size") {
  auto files = test::modules();
  files["any.mlirt"] = template_text();
  ProgramOptions options{.overrides = {"functions.train_step.module=any.mlirt",
                                       R"(functions.train_step.inputs[0].sharding={"split": [2, 1]})"},
                         .look_at_files = false,
                         .logical_devices = 2,
                         .spmd = true};
  const auto program = parse_program(test::kProgram, "p.json", "/nowhere", test::memory_reader(files), options);
  REQUIRE(program);
  const FunctionDef& step = *program->find_function("train_step");
  REQUIRE(choose_module(step, specs(3, 3)) == 1);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(step.modules.called(i).signature.arguments[0].sharding == step.inputs[0].sharding);
  options.logical_devices = 1;
  options.spmd = false;
  options.ignore_shardings = true;
  const auto whole = parse_program(test::kProgram, "p.json", "/nowhere", test::memory_reader(files), options);
  REQUIRE(whole);
  CHECK_FALSE(whole->find_function("train_step")->inputs[0].sharding);
  CHECK(whole->document().find("sharding") == std::string::npos);
}

TEST_CASE("modules: a batch that no module takes is filled up, where a mask says so") {
  auto files = test::modules();
  files["masked.mlir"] = R"(module @step {
  func.func public @main(%arg0: tensor<8x2xf32> loc("w"), %arg1: tensor<2xf32> loc("b"), %arg2: tensor<4x8xf32> loc("x"), %arg3: tensor<4xi32> loc("y"), %arg4: tensor<4xf32> loc("mask")) -> (tensor<f32>, tensor<8x2xf32>, tensor<2xf32>) {
    %0 = stablehlo.constant dense<0.0> : tensor<f32>
    return %0, %arg0, %arg1 : tensor<f32>, tensor<8x2xf32>, tensor<2xf32>
  }
}
)";
  const auto error = [&](int size) {
    ProgramOptions options{
        .overrides = {"functions.train_step.module=masked.mlir",
                      fmt::format(R"(datasets.train[2].batch={{"size": {}, "pad_remainder": true}})", size),
                      R"(functions.train_step.inputs=[{"variable": "w"}, {"variable": "b"},
                                            {"dataset": "train", "field": "image"}, {"dataset": "train", "field": "label"},
                                            {"dataset": "train", "field": "mask"}])",
                      "train.replicas=split"},
        .look_at_files = false};
    options.replicas = 3;
    const auto program = parse_program(test::kProgram, "p.json", "/nowhere", test::memory_reader(files), options);
    return program ? std::string() : program.error().message;
  };
  CHECK(error(8).empty());   // 3, 3, 2
  CHECK(error(12).empty());  // 4 each
  CHECK(error(13) ==
        "p.json: functions.train_step: 3 replicas share a batch of 13 of dataset 'train', and no module accepts 5 "
        "(available: 4): export it for any batch size (tfd-export(1)), or pad batches, with a mask (\"pad_remainder\": "
        "true)");
}

}  // namespace tfd::program
