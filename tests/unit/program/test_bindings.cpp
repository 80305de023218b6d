// SPDX-License-Identifier: Apache-2.0
//
// Parts that a program need not spell out: groups of variables, weights from one file, random inputs, the loss scale.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "programs.hpp"
#include "tfd/tensor/safetensors.hpp"

namespace tfd::program {
namespace {

const std::map<std::string, std::string> kModules{
    {"step.mlir",
     "module { func.func public @main(%w: tensor<2xf32>, %b: tensor<f32>, %n: tensor<i32>, %x: tensor<f32>) -> "
     "(tensor<f32>, tensor<2xf32>, tensor<f32>) { } }"},
    {"noise.mlir",
     "module { func.func public @main(%key: tensor<2xui32>, %noise: tensor<4xf32>) -> (tensor<4xf32>) { } }"},
    {"rate.mlir", "module { func.func public @main(%s: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>) { } }"}};

Result<Program> parse_at(const std::string& directory, std::vector<std::string> overrides) {
  const FileReader read = [](const std::string& path) -> Result<std::string> { return kModules.at(path); };
  return parse_program(R"({"v": 1, "seed": 7,
    "variables": {"enc/w": {"shape": [2], "init": {"zeros": {}}}, "out": {"shape": [], "init": {"zeros": {}}},
                  "enc/b": {"shape": [], "init": {"ones": {}}},
                  "enc/n": {"shape": [], "dtype": "s32", "init": {"zeros": {}}}},
    "optimizer": {"sgd": {"on_nonfinite": "skip"}},
    "functions": {
      "step": {"module": "step.mlir", "inputs": [{"variables": "enc/*"}, {"arg": 0}],
        "outputs": [{"result": 0}, {"gradients": "enc/*", "reduce": "sum"}]},
      "noise": {"module": "noise.mlir", "inputs": {"noise": "rng", "key": {"rng": {"dtype": "ui32", "shape": [2], "seed": 3}}},
        "outputs": [{"result": 0}]},
      "rate": {"module": "rate.mlir", "inputs": ["loss_scale", {"variable": "out"}], "outputs": [{"gradient": "out"}]}}})",
                       "p.json", directory, read, {std::move(overrides), directory != "/nowhere"});
}
Program parsed(std::vector<std::string> overrides = {}) {
  auto program = parse_at("/nowhere", std::move(overrides));
  if (!program) FAIL(program.error().message);
  return *std::move(program);
}

/// Parses the program's document again, as a task does.
Program parsed_again(const Program& program, std::vector<std::string> overrides = {}) {
  const FileReader read = [](const std::string& path) -> Result<std::string> { return kModules.at(path); };
  auto again = parse_program(program.document(), "p.json", "/nowhere", read, {std::move(overrides), false});
  if (!again) FAIL(again.error().message);
  return *std::move(again);
}

std::vector<std::string> names_of_inputs(const FunctionDef& function) {
  std::vector<std::string> names;
  for (const InputBinding& input : function.inputs) names.push_back(input.name);
  return names;
}

}  // namespace

TEST_CASE("group: stands for all names that match, in creation order, and its gradients for the trainable ones") {
  const Program program = parsed();
  const FunctionDef& step = *program.find_function("step");
  CHECK(names_of_inputs(step) == std::vector<std::string>{"enc/w", "enc/b", "enc/n", ""});
  REQUIRE(step.outputs.size() == 3);
  CHECK(step.outputs[1].name == "enc/w");
  CHECK(step.outputs[2].name == "enc/b");
  CHECK(step.outputs[2].reduce == Reduce::kSum);
}

TEST_CASE("group: tasks get what it stands for, whatever variables are added") {
  const Program program = parsed();
  CHECK(program.document().find("enc/*") == std::string::npos);
  const Program again = parsed_again(program, {R"(variables.enc/more={"shape": [], "init": {"zeros": {}}})"});
  CHECK(names_of_inputs(*again.find_function("step")) == names_of_inputs(*program.find_function("step")));
  CHECK(again.document() != program.document());
  CHECK(parsed().document() == program.document());
}

TEST_CASE("group: stands for no loss scale, which isn't stated, at tasks either") {
  const Program program = parsed({R"(functions.rate.inputs=["loss_scale", {"variables": "o*"}])"});
  const std::vector<std::string> names = {std::string(kLossScaleVariable), "out"};
  CHECK(names_of_inputs(*program.find_function("rate")) == names);
  CHECK(names_of_inputs(*parsed_again(program).find_function("rate")) == names);
}

TEST_CASE("group: a name that doesn't fit says which one it is") {
  const auto program = parse_at("/nowhere", {"variables.enc/b.shape=[3]"});
  REQUIRE_FALSE(program);
  CHECK(program.error().message ==
        "p.json: functions.step.inputs[0]: variable 'enc/b' is f32[3], but argument 'b' of step.mlir is f32[]");
}

namespace {

const std::map<std::string, std::string> kStateModules{
    {"bn.mlir",
     "module { func.func public @main(%m: tensor<f32>, %v: tensor<f32>, %n: tensor<i32>, %x: tensor<f32>) -> "
     "(tensor<f32>, tensor<f32>, tensor<i32>) { } }"}};

/// Moving averages and a counter, assigned as `outputs` say; `n` states more of the counter.
Result<Program> with_state(const std::string& outputs, const std::string& n = "") {
  const FileReader read = [](const std::string& path) -> Result<std::string> { return kStateModules.at(path); };
  return parse_program(R"({"v": 1,
    "variables": {"bn/mean": {"shape": [], "init": {"zeros": {}}}, "bn/var": {"shape": [], "init": {"ones": {}}},
                  "n": {"shape": [], "dtype": "s32", "init": {"zeros": {}})" +
                           n + R"(}},
    "functions": {"step": {"module": "bn.mlir", "inputs": [{"variables": "*"}, {"arg": 0}], "outputs": [)" +
                           outputs + "]}}}",
                       "p.json", "/nowhere", read, {.overrides = {}, .look_at_files = false});
}
std::optional<std::string> lost(const Result<Program>& program, bool is_certain = true) {
  if (!program) FAIL(program.error().message);
  return lost_updates_of(*program, *program->find_function("step"), is_certain);
}

}  // namespace

TEST_CASE("state: an output says how it is applied, of a group all of them, and so do the tasks' programs") {
  const auto program = with_state(R"({"assign": "bn/*", "apply": "difference"}, {"assign": "n", "apply": "last"})");
  if (!program) FAIL(program.error().message);
  const auto& outputs = program->find_function("step")->outputs;
  REQUIRE(outputs.size() == 3);
  CHECK(outputs[0].name == "bn/mean");
  CHECK(outputs[1].name == "bn/var");
  CHECK(outputs[1].apply == Apply::kDifference);
  CHECK(outputs[2].apply == Apply::kLast);
  CHECK_FALSE(lost(program));
  const FileReader read = [](const std::string& path) -> Result<std::string> { return kStateModules.at(path); };
  auto document = program->document();  // with a variable of a strategy's own, which no group includes
  document.replace(document.find("\"variables\":{") + 13, 0, R"("bn/own": {"shape": [], "init": {"zeros": {}}}, )");
  const auto again = parse_program(document, "p.json", "/nowhere", read, {.overrides = {}, .look_at_files = false});
  if (!again) FAIL(again.error().message);
  const auto& same = again->find_function("step")->outputs;
  REQUIRE(same.size() == 3);
  CHECK(same[1].name == "bn/var");
  CHECK(same[1].apply == Apply::kDifference);
}

TEST_CASE("state: what is read and assigned without a word is told, once for a function") {
  CHECK(
      lost(with_state(R"({"assign": "bn/mean", "apply": "last"}, {"assign": "bn/var"}, {"assign_add": "n"})")) ==
      "p.json: functions.step.outputs[1]: 'bn/var' is read and assigned by every worker: updates of other workers are "
      "lost; set \"apply\" to \"difference\" (add what changed) or \"last\" (overwrite)");
  CHECK(
      lost(with_state(R"({"assign": "bn/*"}, {"assign": "n"})"), false) ==
      "p.json: functions.step.outputs[0]: 'bn/mean', 'bn/var' and 'n' are read and assigned by every worker: with more "
      "than one worker, updates of other workers are lost; set \"apply\" to \"difference\" (add what changed) or "
      "\"last\" (overwrite)");
  CHECK_FALSE(lost(with_state(R"({"assign_add": "bn/mean"}, {"assign_sub": "bn/var"}, {"assign_add": "n"})")));
  const auto own = with_state(R"({"assign_add": "bn/*"}, {"assign": "n"})", R"(, "per_worker": true)");
  CHECK_FALSE(lost(own));  // nobody else has it
}

TEST_CASE("random inputs: are of the stated type, numbered, and of a seed of their own or the program's") {
  const Program program = parsed();
  CHECK(program.seed == 7);
  const FunctionDef& noise = *program.find_function("noise");
  CHECK(noise.inputs[0].kind == InputKind::kRng);
  CHECK(noise.inputs[0].rng.seed == 3);
  CHECK_FALSE(noise.inputs[1].rng.seed);
  CHECK(noise.inputs[0].index == 0);
  CHECK(noise.inputs[1].index == 1);
}

TEST_CASE("loss scale: one that moves is a variable of its own, the last; one that doesn't is none") {
  const Program moving = parsed();
  CHECK(moving.variables.back().name == kLossScaleVariable);
  CHECK(moving.variables.size() == 5);
  CHECK_FALSE(moving.variables.back().trainable);
  CHECK(variable::to_json(moving.variables.back().init).dump() == R"({"constant":{"value":32768.0}})");
  CHECK(moving.find_function("rate")->variables_read() == std::vector<std::string>{"optimizer/.loss_scale", "out"});
  CHECK(parsed({"optimizer.sgd.loss_scale=1024"}).variables.size() == 4);
  CHECK(parsed({"functions.rate=null"}).variables.size() == 4);
  const Program stated = parsed({R"(optimizer.sgd.loss_scale={"initial": 8, "growth_steps": 2})"});
  CHECK(stated.rules->loss_scale()->growth_steps == 2);
  CHECK(variable::to_json(stated.variables.back().init).dump() == R"({"constant":{"value":8.0}})");
}

TEST_CASE("loss scale: what doesn't go together is said") {
  const auto error = [](std::vector<std::string> overrides) {
    return parse_at("/nowhere", std::move(overrides)).error().message;
  };
  CHECK(error({"optimizer.sgd.on_nonfinite=ignore"}) ==
        R"(p.json: optimizer.sgd.on_nonfinite: must be "stop", "skip" or "continue", not "ignore")");
  CHECK(error({"optimizer.sgd.on_nonfinite=stop", "optimizer.sgd.loss_scale={}"}) ==
        "p.json: optimizer.sgd.loss_scale: a dynamic one needs \"on_nonfinite\": \"skip\", not \"stop\"");
  CHECK(error({"optimizer.sgd.on_nonfinite=continue", "optimizer.sgd.loss_scale={}"}) ==
        "p.json: optimizer.sgd.loss_scale: a dynamic one needs \"on_nonfinite\": \"skip\", not \"continue\"");
  CHECK(error({R"(train={"function": "rate", "steps": 1, "on_nonfinite": "skip"})"}) ==
        R"(p.json: train.on_nonfinite: must be "stop" or "continue", not "skip")");
  CHECK(error({"optimizer.sgd.loss_scale={\"growth_step\": 3}"}) ==
        "p.json: optimizer.sgd.loss_scale.growth_step: unknown key, did you mean 'growth_steps'?");
  CHECK(error({"optimizer.sgd.loss_scale=0"}).starts_with("p.json: optimizer.sgd.loss_scale: must be"));
}

TEST_CASE("weights: one file initialises all variables, and what it lacks is said") {
  const std::string directory = test::temporary_directory();
  const auto scalar = tensor::Tensor::scalar(tensor::DType::kF32, 2.0F);
  const auto count = tensor::Tensor::scalar(tensor::DType::kS32, 3);
  tensor::SafetensorsFile file{{{"enc/w", tensor::Tensor::zeros(tensor::DType::kF32, {2})},
                                {"enc/b", scalar},
                                {"enc/n", count},
                                {"other", scalar}},
                               {}};
  const std::string path = directory + "/w.safetensors";
  REQUIRE(tensor::save_safetensors(path, file));
  const std::vector<std::string> change{"weights=w.safetensors", "variables.enc/b.init=null"};
  CHECK(parse_at(directory, change).error().message == "p.json: weights: " + path + " has no 'out'");
  file.tensors.emplace_back("out", count);
  REQUIRE(tensor::save_safetensors(path, file));
  CHECK(parse_at(directory, change).error().message ==
        "p.json: weights: " + path + ": out is s32[], but the variable is f32[]");
  file.tensors.back().second = scalar;
  REQUIRE(tensor::save_safetensors(path, file));
  const auto program = parse_at(directory, change);
  if (!program) FAIL(program.error().message);
  for (const VariableDef& variable : program->variables)
    if (variable.name != kLossScaleVariable)
      CHECK(variable::to_json(variable.init).dump() ==
            R"({"safetensors":{"path":")" + path + R"(","key":")" + variable.name + "\"}}");
  CHECK(parse_at(directory, {"weights=v.safetensors"}).error().code == Code::kNotFound);
  const FileReader read = [](const std::string& name) -> Result<std::string> { return kModules.at(name); };
  const auto on_task = parse_program(program->document(), "p.json", directory, read, {{}, false});
  REQUIRE(on_task);
  CHECK(on_task->document() == program->document());
  std::filesystem::remove_all(directory);
}

}  // namespace tfd::program
