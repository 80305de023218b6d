// SPDX-License-Identifier: Apache-2.0
//
// Training with the variables on devices gives what it gives with them on the host: the same modules, the same data,
// two implementations of everything behind them.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "temporary_directory.hpp"
#include "tfd/strategy/device_training.hpp"
#include "tfd/strategy/ps_training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {
namespace {

using runtime::NamedState;
using tensor::Tensor;

/// y = x w + b + h, loss = mean of y * y; beside that it counts its steps, and keeps a statistic of y.
constexpr const char* kStep =
    R"(module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%w: tensor<3x2xf32>, %b: tensor<2xf32>, %h: tensor<2xbf16>, %x: tensor<4x3xf32>)
      -> (tensor<f32>, tensor<3x2xf32>, tensor<2xf32>, tensor<2xbf16>, tensor<i32>, tensor<2xf32>) {
    %wide = stablehlo.convert %h : (tensor<2xbf16>) -> tensor<2xf32>
    %sum = stablehlo.add %b, %wide : tensor<2xf32>
    %rows = call @_rows(%sum) : (tensor<2xf32>) -> tensor<4x2xf32>
    %xw = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    %y = stablehlo.add %xw, %rows : tensor<4x2xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %squares = stablehlo.multiply %y, %y : tensor<4x2xf32>
    %all = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<f32>
    %eight = stablehlo.constant dense<8.0> : tensor<f32>
    %loss = stablehlo.divide %all, %eight : tensor<f32>
    %quarter = stablehlo.constant dense<0.25> : tensor<4x2xf32>
    %dy = stablehlo.multiply %y, %quarter : tensor<4x2xf32>
    %gw = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
    %gb = stablehlo.reduce(%dy init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32>
    %gh = stablehlo.convert %gb : (tensor<2xf32>) -> tensor<2xbf16>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %mean = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32>
    return %loss, %gw, %gb, %gh, %one, %mean : tensor<f32>, tensor<3x2xf32>, tensor<2xf32>, tensor<2xbf16>, tensor<i32>, tensor<2xf32>
  }
  func.func private @_rows(%row: tensor<2xf32>) -> tensor<4x2xf32> {
    %0 = stablehlo.broadcast_in_dim %row, dims = [1] : (tensor<2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
})";

constexpr const char* kProgram = R"({"v": 1,
  "variables": {"w": {"shape": [3, 2], "init": {"uniform": {"seed": 3}}}, "b": {"shape": [2], "init": {"zeros": {}}},
                "h": {"shape": [2], "dtype": "bf16", "init": {"ones": {}}}, "still": {"shape": [2, 2], "init": {"ones": {}}},
                "n": {"shape": [], "dtype": "s32", "init": {"zeros": {}}, "aggregation": "sum"},
                "mean": {"shape": [2], "init": {"zeros": {}}}},
  "optimizer": {"sgd": {}},
  "datasets": {"d": [{"tensor_slices": {"fields": {"x": {"dtype": "f32", "shape": [8, 3], "data":
      [[1,2,0.5],[0,1,1],[-1,0.25,2],[1,1,1],[0.5,0.5,-2],[2,0,0],[0,-1,0],[0.125,3,1]]}}}}, {"repeat": {}}, {"batch": {"size": 4}}]},
  "functions": {"step": {"module": "step.mlir",
    "inputs": [{"variable": "w"}, {"variable": "b"}, {"variable": "h"}, {"dataset": "d", "field": "x"}],
    "outputs": [{"metric": "loss"}, {"gradient": "w"}, {"gradient": "b"}, {"gradient": "h"}, {"assign_add": "n"}, {"assign": "mean"}]}},
  "train": {"function": "step", "steps": 9, "checkpoint": {"dir": "ck"}}})";

program::Program program_of(const std::string& directory, std::vector<std::string> overrides) {
  program::ProgramOptions options;
  overrides.push_back("train.checkpoint.dir=\"" + directory + "\"");
  options.overrides = std::move(overrides);
  auto program = program::parse_program(
      kProgram, "p.json", directory, [](const std::string&) -> Result<std::string> { return kStep; }, options);
  REQUIRE_MESSAGE(program, (program ? "" : program.error().message));
  return *program;
}

auto engine_maker(int devices) {
  return [devices] {
    ::setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
    return function::make_engine({.plugin = function::find_plugin(Environment::of_process()).value(),
                                  .cache_directory = "",
                                  .device_count = devices});
  };
}

/// The last checkpoint, without what is the strategy's own.
NamedState saved(const Result<TrainSummary>& summary) {
  REQUIRE_MESSAGE(summary, (summary ? "" : summary.error().message));
  auto state = variable::load_checkpoint(summary->checkpoint).value().state;
  std::erase_if(state, [](const auto& one) { return one.first == "global_step" || one.first == ".iterations"; });
  return state;
}

NamedState on_devices(const std::string& directory, int replicas, std::vector<std::string> overrides = {}) {
  const auto program = program_of(directory, std::move(overrides));
  CHECK(why_not_on_devices(program, replicas).value_or("") == "");
  return saved(train_on_devices(program, {.make_engine = engine_maker(replicas), .replicas = replicas}));
}

NamedState on_host(const std::string& directory, int replicas, std::vector<std::string> overrides = {}) {
  const auto program = program_of(directory, std::move(overrides));
  auto strategy = ParameterServerStrategy::make({}, {.kind = "CPU", .count = replicas}).value();
  PsTrainingOptions options;
  options.make_engine = engine_maker(replicas);
  return saved(train_on_parameter_servers(program, std::move(strategy), std::move(options)));
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> out;
  if (tensor.dtype() == tensor::DType::kF32)
    for (const float x : tensor.as<float>()) out.push_back(x);
  else if (tensor.dtype() == tensor::DType::kBF16)
    for (const std::uint16_t x : tensor.as<std::uint16_t>()) out.push_back(tensor::bfloat16_to_float(x));
  else if (tensor.dtype() == tensor::DType::kS32)
    for (const std::int32_t x : tensor.as<std::int32_t>()) out.push_back(x);
  else
    for (const std::int64_t x : tensor.as<std::int64_t>()) out.push_back(static_cast<double>(x));
  return out;
}

void check_same(const NamedState& devices, const NamedState& host) {
  REQUIRE(devices.size() == host.size());
  for (const auto& [name, value] : host) {
    CAPTURE(name);
    const auto found = std::ranges::find(devices, name, &std::pair<std::string, Tensor>::first);
    REQUIRE(found != devices.end());
    REQUIRE(found->second.spec() == value.spec());
    const auto a = numbers(found->second), b = numbers(value);
    // The host rounds a bf16 gradient again where it clips it.
    const double epsilon = name.starts_with("h") ? 0.01 : 2e-5;
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(epsilon));
  }
}

constexpr const char* kOptimizers[] = {
    R"({"sgd": {"learning_rate": 0.1}})",
    R"({"sgd": {"learning_rate": 0.1, "momentum": 0.9, "nesterov": true, "weight_decay": 0.01, "clipnorm": 0.5}})",
    R"({"sgd": {"v1": true, "learning_rate": 0.1, "momentum": 0.9}})",
    R"({"adam": {"learning_rate": 0.01, "amsgrad": true, "global_clipnorm": 0.3}})",
    R"({"adam": {"v1": true, "learning_rate": 0.01}})",
    R"({"adamw": {"learning_rate": {"cosine_decay": {"initial_learning_rate": 0.1, "decay_steps": 8}}, "exclude_from_weight_decay": ["b*"]}})",
    R"({"adagrad": {"learning_rate": 0.1, "clipvalue": 0.05}})",
    R"({"adadelta": {"learning_rate": 1.0}})",
    R"({"adamax": {"learning_rate": 0.01}})",
    R"({"nadam": {"learning_rate": 0.01}})",
    R"({"rmsprop": {"learning_rate": 0.01, "momentum": 0.5, "centered": true}})",
    R"({"rmsprop": {"v1": true, "learning_rate": 0.01, "centered": true}})",
    R"({"ftrl": {"learning_rate": 0.1, "l1_regularization_strength": 0.001, "learning_rate_power": -0.4}})",
    R"({"lion": {"learning_rate": 0.01}})",
    R"({"adam": {"learning_rate": 0.01, "gradient_accumulation_steps": 4}})",
    R"({"sgd": {"learning_rate": 0.1, "momentum": 0.5, "gradient_accumulation_steps": 2, "use_ema": true, "ema_momentum": 0.5}})",
    R"({"adam": {"learning_rate": 0.01, "on_nonfinite": "stop"}})",
    R"({"adam": {"learning_rate": 0.01, "use_ema": true, "ema_momentum": 0.8, "ema_overwrite_frequency": 4}})"};

TEST_CASE("device training: every optimizer gives what it gives on the host, with one replica and with three") {
  for (const char* optimizer : kOptimizers)
    for (const int replicas : {1, 3}) {
      CAPTURE(optimizer);
      CAPTURE(replicas);
      const tfd::test::TemporaryDirectory devices, host;
      const std::vector<std::string> overrides{std::string("optimizer=") + optimizer};
      check_same(on_devices(devices.path(), replicas, overrides), on_host(host.path(), replicas, overrides));
    }
}

TEST_CASE("device training: it goes on from a checkpoint as if it had not ended, and from the host's") {
  const std::vector<std::string> adam{R"(optimizer={"adam": {"learning_rate": 0.01}})"};
  const std::vector<std::string> whole{adam[0], "train.steps=8"}, half{adam[0], "train.steps=4"};
  const tfd::test::TemporaryDirectory once, devices, host;
  const auto expected = on_devices(once.path(), 1, whole);
  (void)on_devices(devices.path(), 1, half);
  check_same(on_devices(devices.path(), 1, whole),
             expected);  // the data begin anew, which after 4 steps they would too
  (void)on_host(host.path(), 1, half);
  check_same(on_devices(host.path(), 1, whole), expected);
}

TEST_CASE("device training: a gradient that isn't finite ends it, where the optimizer looks") {
  for (const int replicas : {1, 2}) {
    const tfd::test::TemporaryDirectory directory;
    const auto program = program_of(directory.path(), {R"(optimizer={"sgd": {"on_nonfinite": "stop"}})",
                                                       R"(datasets.d[0].tensor_slices.fields.x.data[5][1]="NaN")"});
    const auto summary = train_on_devices(program, {.make_engine = engine_maker(replicas), .replicas = replicas});
    REQUIRE_FALSE(summary);
    CHECK(summary.error().message ==
          fmt::format("step: the gradient of 'w' is not finite in step {}", replicas == 1 ? 1 : 0));
  }
}

TEST_CASE("device training: what it can't do it says") {
  const tfd::test::TemporaryDirectory directory;
  const auto why = [&](std::vector<std::string> overrides, int replicas = 1) {
    return why_not_on_devices(program_of(directory.path(), std::move(overrides)), replicas).value_or("");
  };
  CHECK(why({}).empty());
  CHECK(why({R"(optimizer={"sgd": {"gradient_accumulation_steps": 2, "clipnorm": 1}})"}) ==
        "it clips gradients that are accumulated");
  CHECK(why({"variables.mean.synchronization=on_read"}).empty());
  CHECK(why({"variables.mean.synchronization=on_read"}, 2) ==
        "it has variables that each replica has its own value of");
}

}  // namespace
}  // namespace tfd::strategy
