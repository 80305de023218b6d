// SPDX-License-Identifier: Apache-2.0
//
// Moves between the host and the devices, by the engine's count: no variable and nothing of an optimizer from one
// batch, call or step to the next.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tfd/strategy/device_training.hpp"
#include "tfd/strategy/loaded_program.hpp"

namespace tfd::strategy {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr std::uint64_t kBatch = 4, kLoss = 4;     // bytes
constexpr std::uint64_t kWeights = 200 * 100 * 4;  // more than lies together with others
constexpr std::uint64_t kScalars = 1000;           // what an update takes beside, at most

/// loss = sum(w) * x, of a batch of one row.
std::string module_of(const std::string& path) {
  const bool is_step = path == "step.mlir", is_scale = path == "scale.mlir";
  const std::string w = "tensor<200x100xf32>";
  std::string result = is_scale ? w : "tensor<f32>";
  if (path == "predict.mlir") result = "tensor<1xf32>";
  if (is_step) result = "(tensor<f32>, " + w + ")";
  const std::string returned = is_step                  ? "%loss, %b : tensor<f32>, " + w
                               : is_scale               ? "%scaled : " + w
                               : path == "predict.mlir" ? "%row : tensor<1xf32>"
                                                        : "%loss : tensor<f32>";
  return "module @m {\n  func.func public @main(%w: " + w + ", %x: tensor<1xf32>) -> " + result +
         " {\n"
         "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
         "    %sum = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0, 1] : (" +
         w +
         ", tensor<f32>) -> tensor<f32>\n"
         "    %s = stablehlo.reshape %x : (tensor<1xf32>) -> tensor<f32>\n"
         "    %loss = stablehlo.multiply %sum, %s : tensor<f32>\n"
         "    %row = stablehlo.reshape %loss : (tensor<f32>) -> tensor<1xf32>\n"
         "    %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> " +
         w + "\n    %scaled = stablehlo.multiply %w, %b : " + w + "\n    return " + returned + "\n  }\n}\n";
}

program::Program program_of(const std::string& train = "") {
  const std::string document = R"({"v": 1, "variables": {"w": {"shape": [200, 100], "init": {"ones": {}}}},
    "optimizer": {"adam": {"learning_rate": 0.125}},
    "datasets": {"d": [{"tensor_slices": {"fields": {"x": [1.0, 2.0, 3.0, 4.0]}}}, {"repeat": {}}, {"batch": 1}]},
    "functions": {
      "step": {"module": "step.mlir", "inputs": [{"variable": "w"}, {"dataset": "d", "field": "x"}],
               "outputs": [{"metric": "loss"}, {"gradient": "w"}]},
      "scale": {"module": "scale.mlir", "inputs": [{"variable": "w"}, {"arg": 0}], "outputs": [{"assign": "w"}]},
      "eval": {"module": "eval.mlir", "inputs": [{"variable": "w"}, {"dataset": "d", "field": "x"}], "outputs": [{"metric": "loss"}]},
      "predict": {"module": "predict.mlir", "inputs": [{"variable": "w"}, {"arg": 0}], "outputs": [{"result": 0}]}})" +
                               (train.empty() ? "}" : R"(, "train": {"function": "step", )" + train + "}}");
  auto program = program::parse_program(
      document, "p.json", "/", [](const std::string& path) -> Result<std::string> { return module_of(path); }, {});
  REQUIRE_MESSAGE(program, (program ? "" : program.error().message));
  return *program;
}

std::shared_ptr<function::Engine> new_engine(int devices) {
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
  return function::make_engine({.plugin = function::find_plugin(Environment::of_process()).value(),
                                .cache_directory = "",
                                .device_count = devices})
      .value();
}

/// Transfers of a training that ends with an evaluation of `batches`.
function::Transfers trained(int replicas, StepMode way, int batches) {
  const auto engine = new_engine(replicas);
  const auto program =
      program_of(fmt::format(R"("steps": 3, "evaluate": {{"function": "eval", "steps": {}}})", batches));
  const auto make = [&]() -> Result<std::shared_ptr<function::Engine>> { return engine; };
  const auto summary = train_on_devices(program, {.make_engine = make, .replicas = replicas, .step = way});
  REQUIRE_MESSAGE(summary, (summary ? "" : summary.error().message));
  return engine->transfers();
}

TEST_CASE("residence: an evaluation moves its batches and their metrics") {
  for (const StepMode way : {StepMode::kThreads, StepMode::kFused})
    for (const int replicas : {1, 2}) {
      CAPTURE(replicas);
      const auto few = trained(replicas, way, 2), more = trained(replicas, way, 6);
      CHECK(more.put - few.put == 4 * kBatch);
      CHECK(more.taken - few.taken == 4 * kLoss);
      if (replicas > 1) continue;
      CHECK(few.put < 3 * kWeights + kWeights);  // the state, once
      CHECK(few.taken < kWeights);
    }
}

struct Loaded {
  program::Program program = program_of();
  std::shared_ptr<function::Engine> engine;
  std::unique_ptr<Strategy> strategy;
  std::unique_ptr<LoadedProgram> loaded;
  function::Transfers before = {};

  explicit Loaded(const Kind& kind, int replicas = 1) : engine(new_engine(replicas)) {
    const auto make = [this]() -> Result<std::shared_ptr<function::Engine>> { return engine; };
    strategy =
        Strategy::make({.kind = &kind, .devices = function::first_devices(replicas), .make_engine = make}).value();
    loaded = strategy->load(program).value();
  }
  void run(const std::string& function, const std::vector<Argument>& args = {}) {
    const auto done = loaded->run(function, args);
    REQUIRE_MESSAGE(done, (done ? "" : done.error().message));
  }
  /// Transfers since the last call.
  function::Transfers moved() {
    const auto now = engine->transfers();
    const function::Transfers out{now.put - before.put, now.taken - before.taken};
    before = now;
    return out;
  }
  Tensor weights() { return loaded->find_variable("w")->read().value(); }
};

Tensor row(float x) { return Tensor::scalar(DType::kF32, x).reshaped({1}); }

TEST_CASE("residence: a function of a program finds its variables where they are") {
  Loaded on(kOneDeviceKind);
  const DistributedElement element{{{"x", DType::kF32, {1}}}, {DistributedValue(row(2))}};
  for (int batch = 0; batch < 3; ++batch) {
    const auto rows = on.loaded->run_on_rows("predict", element);
    REQUIRE_MESSAGE(rows, (rows ? "" : rows.error().message));
    CHECK(rows->front().as<float>()[0] == 200 * 100 * 2);
    const auto moved = on.moved();
    CHECK(moved.put == (batch == 0 ? kWeights : 0) + kBatch);
    CHECK(moved.taken == kLoss);
  }
}

TEST_CASE("residence: what a function makes of its variables stays where they are, and is what the host would make") {
  Loaded on(kOneDeviceKind), host(kCentralStorageKind);
  for (int step = 0; step < 4; ++step) {
    on.run("step");
    on.run("scale", {DistributedValue(row(2))});
    const auto moved = on.moved();
    if (step > 0) CHECK(moved.put < kScalars);
    CHECK(moved.taken < kScalars);
    host.run("step");
    host.run("scale", {DistributedValue(row(2))});
  }
  const Tensor a = on.weights(), b = host.weights();
  CHECK(a.as<float>()[0] != 1);
  for (const std::size_t i : {0, 777, 19'999})
    CHECK(a.as<float>()[i] == doctest::Approx(b.as<float>()[i]).epsilon(1e-6));
  CHECK(on.moved().taken == kWeights);
}

TEST_CASE("residence: several replicas move what they reduce on the host, and nothing else") {
  Loaded on(kMirroredKind, 2);
  for (int step = 0; step < 3; ++step) {
    on.run("step");
    const auto moved = on.moved();
    CHECK(moved.taken < 2 * kWeights + kScalars);  // gradients
    if (step > 0) CHECK(moved.put < 2 * kWeights + 2 * kScalars);
  }
  const auto copies = on.loaded->find_variable("w")->copies().value();
  CHECK(tensor::same_bytes(copies.on(0), copies.on(1)));
}

TEST_CASE("residence: a loop of one's own reads and assigns variables where they are") {
  Loaded on(kOneDeviceKind);
  auto* const w = on.strategy->create_variable("v", on.weights()).value();
  on.moved();
  const auto scale =
      on.strategy->compile(hlo::make_module("scale.mlir", module_of("scale.mlir"), std::nullopt).value()).value();
  const auto step = [&](ReplicaContext& replica, const std::vector<Tensor>& args) -> Result<std::vector<Tensor>> {
    const auto scaled = TFD_TRY(scale(replica, {TFD_TRY(w->read()), args[0]}));
    TFD_TRY(w->assign(scaled[0]));
    return std::vector<Tensor>{};
  };
  for (int i = 0; i < 4; ++i) {
    REQUIRE(on.strategy->run(step, {DistributedValue(row(2))}));
    const auto moved = on.moved();
    CHECK(moved.put == (i == 0 ? kWeights : 0) + kBatch);
    CHECK(moved.taken == 0);
  }
  CHECK(w->read().value().as<float>()[5] == 16);
  CHECK(on.moved().taken == kWeights);
}

}  // namespace
}  // namespace tfd::strategy
