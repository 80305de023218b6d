// SPDX-License-Identifier: Apache-2.0
//
// Lookups and updates of rows in the program file: right ones, and the check's errors for others.
#include <doctest/doctest.h>

#include "programs.hpp"

namespace tfd::program {
namespace {

const std::map<std::string, std::string> kLookupModules{
    {"step.mlir",
     "module { func.func public @main(%u: tensor<4x8xf32>, %v: tensor<4x2x8xf32>, %y: tensor<4xf32>) -> "
     "(tensor<f32>, tensor<4x8xf32>, tensor<4x2x8xf32>) { } }"},
    {"call.mlir",
     "module { func.func public @main(%i: tensor<3xi64>, %x: tensor<3x8xf32>) -> (tensor<3xi64>, "
     "tensor<3x8xf32>) { } }"}};

Result<Program> parse(std::vector<std::string> overrides) {
  const FileReader read = [](const std::string& path) -> Result<std::string> { return kLookupModules.at(path); };
  return parse_program(R"({"v": 1,
    "variables": {"users": {"shape": [100, 8], "init": {"zeros": {}}}, "items": {"shape": [50, 8], "init": {"zeros": {}}},
                  "bias": {"shape": [], "init": {"zeros": {}}}},
    "optimizer": {"sgd": {}},
    "datasets": {"clicks": [{"tensor_slices": {"fields": {"user": [1, 2, 3, 4], "item": [[1, 2], [3, 4], [1, 2], [3, 4]],
                                                          "label": {"dtype": "f32", "shape": [4], "data": [0, 1, 0, 1]}}}},
                            {"repeat": {}}, {"batch": {"size": 4, "drop_remainder": true}}]},
    "functions": {
      "step": {"module": "step.mlir",
        "inputs": [{"lookup": "users", "ids": {"dataset": "clicks", "field": "user"}},
                   {"lookup": "items", "ids": {"dataset": "clicks", "field": "item"}}, {"dataset": "clicks", "field": "label"}],
        "outputs": [{"metric": "loss"}, {"gradient": "users", "ids": {"dataset": "clicks", "field": "user"}},
                    {"gradient": "items", "ids": {"dataset": "clicks", "field": "item"}}]},
      "put": {"module": "call.mlir", "inputs": [{"arg": 0}, {"arg": 1}],
        "outputs": [{"assign": "users", "part": "indices"}, {"assign": "users", "part": "values"}]}},
    "train": {"function": "step", "steps": 3}})",
                       "p.json", "/nowhere", read, {std::move(overrides), false});
}

}  // namespace

TEST_CASE("lookups: ids from a dataset, of any rank, and updates of the same rows") {
  const auto program = parse({});
  if (!program) FAIL(program.error().message);
  const FunctionDef& step = *program->find_function("step");
  CHECK(step.inputs[0].lookup == "users");
  CHECK(step.inputs[0].kind == InputKind::kDataset);
  CHECK(step.variables_read().empty());
  CHECK(step.outputs[2].rows == RowsPart::kValues);
  CHECK(program->find_function("put")->outputs[0].rows == RowsPart::kIndices);
}

TEST_CASE("lookups: what doesn't fit is said with its place") {
  struct Case {
    std::string change, message;
  };
  const std::vector<Case> cases{
      {"functions.step.inputs[0].lookup=user",
       "functions.step.inputs[0].lookup: variable 'user' is unknown, did you mean 'users'?"},
      {"functions.step.inputs[0].lookup=bias",
       "functions.step.inputs[0].lookup: variable 'bias' is a scalar: it has no rows"},
      {R"(functions.step.inputs[0].ids="step")",
       "functions.step.inputs[0].ids: must be a dataset's field, an arg or a kwarg"},
      {"functions.step.inputs[0].ids.field=label",
       "functions.step.inputs[0].ids: field 'label' is f32[4]: row numbers must be s32 or s64"},
      {"functions.step.inputs[2]={\"lookup\": \"users\", \"ids\": {\"dataset\": \"clicks\", \"field\": \"user\"}}",
       "functions.step.inputs[2]: rows of 'users' are f32[…, 8], but argument 'y' of step.mlir is f32[4]"},
      {"functions.step.outputs[1]={\"gradient\": \"users\", \"part\": \"values\"}",
       "functions.step.outputs[1]: has no indices of the rows"},
      {"functions.step.outputs[1].ids.field=label",
       "functions.step.outputs[1].ids: field 'label' of dataset 'clicks' does not give the row numbers of result "
       "'result1' of step.mlir, which is f32[4, 8]: they must be s32 or s64 of shape [4]"},
      {R"(functions.step.outputs[1].ids={"arg": 0})",
       "functions.step.outputs[1].ids: arg 0 is not an input; bind it as one, or as the ids of a lookup"},
      {"datasets.clicks[2].batch.size=2",
       "functions.step: no module accepts batch size 2 of dataset 'clicks' (available: 4): export it for any batch "
       "size (tfd-export(1)), or pad batches, with a mask (\"pad_remainder\": true)"},
      {"functions.step.outputs[1].gradient=bias",
       "functions.step.outputs[1]: variable 'bias' is a scalar: it has no rows"},
      {"functions.put.outputs[0].part=values",
       "functions.put.outputs[0]: rows of 'users' are f32[…, 8], but result 'result0' of call.mlir is s64[3]"}};
  for (const Case& one : cases) {
    INFO(one.change);
    const auto program = parse({one.change});
    REQUIRE_FALSE(program);
    CHECK(program.error().message == "p.json: " + one.message);
  }
}

}  // namespace tfd::program
