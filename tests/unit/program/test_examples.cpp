// SPDX-License-Identifier: Apache-2.0
//
// The programs in examples/ fit their modules and data.
#include <doctest/doctest.h>

#include "tfd/program/program.hpp"

namespace tfd::program {
namespace {

Program load_example(const std::string& name, std::vector<std::string> overrides = {}) {
  ProgramOptions options;
  options.overrides = std::move(overrides);
  auto program = load_program(std::string(TFD_SOURCE) + "/examples/" + name + "/program.json", options);
  if (!program) FAIL(program.error().message);
  return *std::move(program);
}

std::int64_t count_elements(const Program& program, const std::string& name, std::vector<std::int64_t>& batches) {
  auto dataset = make_dataset(program, name, {});
  REQUIRE(dataset);
  auto iterator = (*dataset)->iterate();
  REQUIRE(iterator);
  std::int64_t total = 0;
  while (true) {
    auto element = (*iterator)->next();
    if (!element) FAIL(element.error().message);
    if (!*element) return total;
    batches.push_back((**element)[0].shape()[0]);
    total += batches.back();
  }
}

TEST_CASE("examples: digits fits its modules, and every batch of the test images has its own") {
  const Program program = load_example("digits", {"train.checkpoint.dir=elsewhere"});
  CHECK(program.variables.size() == 4);
  CHECK(program.train->steps == 2000);
  CHECK(program.train->checkpoint->directory == "elsewhere");
  std::vector<std::int64_t> batches;
  CHECK(count_elements(program, "test", batches) == 355);
  CHECK(batches == std::vector<std::int64_t>{64, 64, 64, 64, 64, 35});
  const FunctionDef& eval = *program.find_function("eval_step");
  for (const hlo::Module& module : eval.modules) {
    const auto& arguments = module.signature.arguments;
    CHECK(arguments[4].spec.shape[0] == arguments[5].spec.shape[0]);
  }
  CHECK(eval.modules[1].signature.arguments[4].spec.shape[0] == batches.back());
}

TEST_CASE("examples: digits has 1442 images to train with, scaled by the module") {
  const Program program =
      load_example("digits", {"datasets.train[2]={\"take\": 1442}", "datasets.train[3].batch.drop_remainder=false",
                              "functions.train_step.module=[\"" TFD_SOURCE "/examples/digits/train_step.mlir\"]"});
  std::vector<std::int64_t> batches;
  CHECK(count_elements(program, "train", batches) == 1442);
}

TEST_CASE("examples: recommender fits its modules, and every batch of the candidates has its own") {
  const Program program = load_example("recommender");
  CHECK(program.variables.size() == 10);
  std::vector<std::int64_t> batches;
  CHECK(count_elements(program, "candidates", batches) == 900);
  CHECK(batches.back() == 4);
  const FunctionDef& eval = *program.find_function("eval_step");
  CHECK(eval.inputs[8].lookup == "user_table/embeddings");  // after the towers
  CHECK(eval.modules[0].signature.arguments[9].spec.shape == tensor::Shape{64, 10, 16});
  CHECK(eval.modules[1].signature.arguments[9].spec.shape == tensor::Shape{4, 10, 16});
}

TEST_CASE("examples: counter and linear fit their modules") {
  const Program counter = load_example("counter");
  CHECK(counter.find_function("add_fn")->returns == std::vector<std::string>{"v"});
  CHECK(counter.find_function("worker_fn")->arg_count == 1);
  const Program linear = load_example("linear");
  CHECK(linear.find_function("step")->modules[0].signature.arguments[2].name == "x");
}

}  // namespace
}  // namespace tfd::program
