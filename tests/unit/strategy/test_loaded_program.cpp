// SPDX-License-Identifier: Apache-2.0
//
// A program in a strategy's scope: what its functions take of replicas, and what becomes of its variables.
#include "fake_engine.hpp"
#include "strategy_group.hpp"
#include "strategy_kit.hpp"
#include "temporary_directory.hpp"
#include "tfd/strategy/function_run.hpp"
#include "tfd/strategy/loaded_program.hpp"
#include "tfd/variable/reduction.hpp"

namespace tfd::strategy::test {
namespace {

using nlohmann::json;
using tensor::Tensor;

const char* const kDocument = R"({"v": 1,
  "variables": {"w": {"shape": [], "init": {"ones": {}}, "aggregation": "sum"},
                "none": {"shape": [], "init": {"zeros": {}}, "aggregation": "none"},
                "own": {"shape": [], "init": {"zeros": {}}, "aggregation": "sum", "synchronization": "on_read"}},
  "optimizer": {"sgd": {"learning_rate": 1.0}},
  "datasets": {"rows": [{"tensor_slices": {"fields": {"x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": [10.0, 20.0, 30.0, 40.0, 50.0]}}}, {"batch": 2}]},
  "functions": {
    "scale": {"module": "scale.mlir", "inputs": [{"variable": "w"}, {"arg": 0, "field": "x"}], "outputs": [{"result": 0}]},
    "add": {"module": "add.mlir", "inputs": [{"arg": 0}, {"kwarg": "y"}], "outputs": [{"result": 0}]},
    "count": {"module": ["count.mlir", "whole.mlir"], "inputs": [{"dataset": "rows", "field": "x"}],
              "outputs": [{"assign_add": "w"}, {"assign_add": "own"}, {"result": 0}], "returns": ["w", "own"]},
    "step": {"module": "step.mlir", "inputs": [{"variable": "w"}], "outputs": [{"gradient": "w"}]}}})";

const std::map<std::string, std::string> kSignatures{
    {"scale.mlir", "(%w: tensor<f32>, %x: tensor<1xf32>) -> tensor<1xf32>"},
    {"add.mlir", "(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32>"},
    {"count.mlir", "(%x: tensor<1xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)"},
    {"whole.mlir", "(%x: tensor<2xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)"},  // what no replica gets
    {"step.mlir", "(%w: tensor<f32>) -> tensor<f32>"}};

const std::map<std::string, kit::Body> kBodies{
    {"scale.mlir",
     [](const Tensors& in) -> Result<Tensors> {
       return Tensors{floats({in[0].as<float>()[0] * in[1].as<float>()[0]})};
     }},
    {"add.mlir",
     [](const Tensors& in) -> Result<Tensors> { return Tensors{floats(in[0].as<float>()[0] + in[1].as<float>()[0])}; }},
    {"count.mlir",
     [](const Tensors& in) -> Result<Tensors> {
       const Tensor x = floats(in[0].as<float>()[0]);
       return Tensors{x, x, x};
     }},
    {"whole.mlir", [](const Tensors&) -> Result<Tensors> { return fail(Code::kInternal, "not shared"); }},
    {"step.mlir", [](const Tensors& in) -> Result<Tensors> { return Tensors{floats(in[0].as<float>()[0])}; }}};

program::Program parse() {
  const auto read = [](const std::string& path) -> Result<std::string> {
    return "module { func.func public @main" + kSignatures.at(path) + " { } }";
  };
  auto program = program::parse_program(kDocument, "test.json", "/", read, {});
  if (!program) FAIL(program.error().message);
  return std::move(*program);
}

Result<std::shared_ptr<function::Engine>> engine_of(int replicas) {
  return std::make_shared<kit::FakeEngine>(kBodies, replicas);
}

std::unique_ptr<Strategy> with_engine(int replicas) {
  const auto make_engine = [replicas] { return engine_of(replicas); };
  return Strategy::make(
             {.kind = &kMirroredKind, .devices = function::first_devices(replicas), .make_engine = make_engine})
      .value();
}

std::unique_ptr<LoadedProgram> load(Strategy& strategy, const program::Program& program) {
  auto loaded = strategy.load(program);
  if (!loaded) FAIL(loaded.error().message);
  return std::move(*loaded);
}

TEST_CASE("loaded program: replicas get their rows of an element, those without any don't run") {
  const auto program = parse();
  const auto strategy = with_engine(2);
  const auto loaded = load(*strategy, program);
  auto rows = loaded->distribute("rows").value().iterate().value();
  json seen = json::array();
  while (auto element = rows.next().value()) seen.push_back(shown(loaded->run("scale", {*element}).value().at(0)));
  CHECK(seen == json::parse("[[[1],[2]], [[3],[4]], [[5]]]"));
  CHECK_FALSE(loaded->distribute("cols"));
}

TEST_CASE("loaded program: arguments are plain, per replica, or variables, by position and by name") {
  const auto program = parse();
  const auto strategy = with_engine(2);
  const auto loaded = load(*strategy, program);
  DistributedVariable* const mine = strategy->create_variable("mine", floats(100)).value();
  CHECK(shown(loaded->run("add", {per_replica({1, 2})}, {{"y", DistributedValue(floats(10))}}).value()[0]) ==
        json{11, 12});
  CHECK(shown(loaded->run("add", {std::cref(*mine)}, {{"y", per_replica({1, 2})}}).value()[0]) == json{101, 102});
  CHECK(error_of(loaded->run("add", {per_replica({1, 2})})) == "add: argument 'y' is missing");
  CHECK(error_of(loaded->run("add", {floats(1), floats(2)})) == "add: 2 arguments for a function that takes 1");
  CHECK(error_of(loaded->run("add", {per_replica({1})})) == "add: a value with 1 component for 2 replicas");
  CHECK(error_of(loaded->run("ad", {})) == "no function 'ad', did you mean 'add'?");
}

TEST_CASE("loaded program: what replicas want of variables is applied, and returned variables are read after it") {
  const auto program = parse();
  const auto strategy = with_engine(2);
  const auto loaded = load(*strategy, program);
  const auto first = loaded->run("count", {}).value();
  REQUIRE(first.size() == 3);
  CHECK(shown(first[0]) == json{1, 2});
  CHECK(first[1].is_mirrored());
  CHECK(shown(first[1]) == json{4, 4});  // 1 + 1 + 2
  CHECK(shown(first[2]) == json{3});     // the sum of the replicas' own
  CHECK(shown(loaded->find_variable("w")->read()) == 4);
  CHECK(shown(loaded->find_variable("own")->copies().value()) == json{1, 2});
  CHECK(loaded->find_variable("v") == nullptr);
  REQUIRE(loaded->run("count", {}));
  const auto last = loaded->run("count", {}).value();  // the fifth row, of the first replica alone
  CHECK(shown(last[0]) == json{5});
  CHECK(shown(last[1]) == json{16});
  CHECK(loaded->run("count", {}).error().code == Code::kOutOfRange);
  REQUIRE(loaded->run("step", {}));  // the optimizer's update
  CHECK(shown(loaded->find_variable("w")->read()) == 0);
}

TEST_CASE("loaded program: its variables are those of the strategy, in replicas and outside") {
  const auto program = parse();
  const auto strategy = with_engine(2);
  const auto loaded = load(*strategy, program);
  DistributedVariable* const w = loaded->find_variable("w");
  DistributedVariable* const none = loaded->find_variable("none");
  REQUIRE(strategy->run([&](ReplicaContext& replica, const Tensors&) -> Result<Tensors> {
    TFD_TRY(w->assign_add(floats(id_of(replica))));
    CHECK(none->assign(floats(1)).error().code == Code::kInvalidArgument);  // all replicas have one value
    return Tensors{};
  }));
  CHECK(shown(w->read()) == 2);
  REQUIRE(w->assign(floats(3)));
  auto rows = loaded->distribute("rows").value().iterate().value();
  CHECK(shown(loaded->run("scale", {*rows.next().value()}).value()[0]) == json::parse("[[3],[6]]"));
  REQUIRE(loaded->import_state({{"w", floats(7)}, {"none", floats(0)}, {"own", floats(9)}}));
  CHECK(shown(w->read()) == 7);
  CHECK(shown(loaded->find_variable("own")->copies().value()) == json{4.5, 4.5});
}

TEST_CASE("loaded program: rows for rows, in pieces of the module's size") {
  const auto program = parse();
  const auto strategy = with_engine(2);
  const auto loaded = load(*strategy, program);
  const auto plan =
      data::parse_plan(nlohmann::ordered_json::parse(
                           R"([{"tensor_slices": {"fields": {"x": [1.0, 2.0, 3.0, 4.0, 5.0]}}}, {"batch": 5}])"))
          .value();
  auto iterator = strategy->experimental_distribute_dataset(plan, {}).value().iterate().value();
  CHECK(shown(loaded->run_on_rows("scale", *iterator.next().value()).value()[0]) == json{1, 2, 3, 4, 5});
}

/// A process's results of everything that it does, errors' texts included.
json everything(Strategy& strategy, const program::Program& program, const std::string& directory) {
  const auto loaded = strategy.load(program);
  if (!loaded) return loaded.error().message;
  json out = json::array();
  const auto add = [&](const Result<std::vector<DistributedValue>>& values) {
    json row = json::array();
    for (const DistributedValue& value : values.value_or(std::vector<DistributedValue>())) row.push_back(shown(value));
    out.push_back(values ? row : json(values.error().message));
  };
  const auto read = [&](const std::string& name) { out.push_back(shown((*loaded)->find_variable(name)->read())); };
  auto elements = (*loaded)->distribute("rows").and_then([](const auto& rows) { return rows.iterate(); });
  if (!elements) return elements.error().message;
  for (int i = 0; i < 3; ++i) {
    const auto element = elements->next();
    if (!element || !*element) return element ? "no element" : element.error().message;
    add((*loaded)->run("scale", {**element}));
  }
  for (int i = 0; i < 3; ++i) add((*loaded)->run("count", {}));
  add((*loaded)->run("step", {}));
  read("w");
  read("own");
  const auto restored = (*loaded)->restore(directory);
  out.push_back(restored ? json(restored->value_or(-1)) : json(restored.error().message));
  read("w");
  read("own");
  return out;
}

TEST_CASE("loaded program: several processes run it as one with all replicas, and restore what one of them has") {
  const tfd::test::TemporaryDirectory none, saved;
  const auto program = parse();
  const tensor::NamedTensors state{{"w", floats(7)}, {"none", floats(0)}, {"own", floats(4)}};
  REQUIRE(variable::save_checkpoint(saved.path(), {.step = 12, .state = state}, 3));
  std::vector<json> got(2);
  kit::run_workers({.replicas = {1, 1}, .make_engine = engine_of}, [&](Strategy& on, std::size_t rank) {
    got[rank] = everything(on, program, rank == 0 ? none.path() : saved.path());
  });
  const auto alone = with_engine(2);
  const json one = everything(*alone, program, saved.path());
  // The last rows of "scale" and "count" are one row, for the first replica alone.
  CHECK(one == json::parse("[[[[1],[2]]],[[[3],[4]]],[[[5]]],[[1,2],[4,4],[3]],[[3,4],[11,11],[10]],[[5],[16],[15]],"
                           "[],0,15,12,7,4]"));
  CHECK(got[0] ==
        json::parse("[[[[1]]],[[[3]]],[[[5]]],[[1],[4],[3]],[[3],[11],[10]],[[5],[16],[15]],[],0,15,12,7,4]"));
  CHECK(got[1] == json::parse("[[[[2]]],[[[4]]],[[]],[[2],[4],[3]],[[4],[11],[10]],[[],[16],[15]],[],0,15,12,7,4]"));
}

TEST_CASE("run_function: a line for each element, of what local_results, reduce or gather make") {
  const auto program = parse();
  const auto strategy = with_engine(2);
  const auto lines = [&](RunRequest request) {
    std::string out;
    train::TrainOptions options;
    options.write_event = [&](std::string_view line) -> Result<void> {
      out += line;
      return {};
    };
    const auto summary = run_function(program, *strategy, request, options);
    return summary ? out : summary.error().message;
  };
  CHECK(lines({.function = "scale", .dataset = "rows"}) ==
        "{\"0\":[1.0],\"1\":[2.0]}\n{\"0\":[3.0],\"1\":[4.0]}\n{\"0\":[5.0]}\n");
  CHECK(lines({.function = "scale", .dataset = "rows", .combine = {.gather_axis = 0}}) ==
        "[1.0,2.0]\n[3.0,4.0]\n[5.0]\n");
  CHECK(lines({.function = "scale", .dataset = "rows", .combine = {.reduce = program::Reduce::kMean}}) ==
        "[1.5]\n[3.5]\n[5.0]\n");
  CHECK(lines({.function = "count"}) ==
        "{\"0\":[1.0, 4.0, 3.0],\"1\":[2.0, 4.0, 3.0]}\n{\"0\":[3.0, 11.0, 10.0],\"1\":[4.0, 11.0, 10.0]}\n"
        "{\"0\":[5.0, 16.0, 15.0]}\n");
  CHECK(lines({.function = "count", .combine = {.reduce = program::Reduce::kSum}}) ==
        "function 'count': a variable is the same on all 2 replicas: there is no sum of it");
  CHECK(lines({.function = "scale"}) == "'scale' takes arguments: it needs a dataset to take them from");
  CHECK(current_strategy() == nullptr);
}

}  // namespace
}  // namespace tfd::strategy::test
