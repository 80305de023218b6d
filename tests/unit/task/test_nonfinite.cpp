// SPDX-License-Identifier: Apache-2.0
//
// Steps whose gradients are not finite, and the loss scale.
#include <cmath>

#include "small_cluster.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The gradient of w is its argument times the loss scale; n is assigned; the loss is the scale.
Parts scaled(const std::string& settings) {
  return {
      R"({"v": 1, "variables": {"w": {"shape": [2], "init": {"zeros": {}}}, "n": {"shape": [2], "init": {"zeros": {}}}},
    "optimizer": {"sgd": {"learning_rate": 1, )" +
          settings + R"(}}, "functions": {"step": {"module": "step.mlir", "inputs": [{"arg": 0}, "loss_scale"],
    "outputs": [{"gradient": "w"}, {"assign": "n"}, {"metric": "loss"}], "returns": ["w", "n"]}}})",
      {{"step.mlir", "(%x: tensor<2xf32>, %s: tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<f32>)"}},
      {{"step.mlir", [](const Tensors& in) -> Result<Tensors> {
          const float scale = in[1].as<float>()[0];
          const auto x = floats(in[0]);
          return Tensors{floats({2}, {x[0] * scale, x[1] * scale}), in[0], in[1]};
        }}}};
}

float number(const Result<Tensor>& scalar) {
  REQUIRE(scalar);
  return scalar->as<float>()[0];
}

const step::Metric& metric_of(const ClosureOutcome& outcome) {
  REQUIRE(outcome.metrics.size() == 1);
  return outcome.metrics[0];
}

}  // namespace

TEST_CASE("loss scale: gradients are divided by it before they are clipped, and finite steps double it") {
  SmallCluster cluster(scaled(R"("loss_scale": {"initial": 4, "growth_steps": 2}, "clipvalue": 2)"), 2);
  const auto step = [&](std::vector<float> x) {
    auto outcome = cluster.run("step", {floats({2}, x)});
    if (!outcome) FAIL(outcome.error().message);
    return *outcome;
  };
  auto outcome = step({1, 3});
  CHECK(floats(outcome.results[0]) == std::vector<float>{-1, -2});
  CHECK(metric_of(outcome).value == 4);
  CHECK(number(cluster.read(0, "optimizer/.loss_scale")) == 4);  // w, n, and then this one
  step({1, 1});
  CHECK(number(cluster.read(0, "optimizer/.loss_scale")) == 8);
  outcome = step({1, 1});
  CHECK(metric_of(outcome).value == 8);
  CHECK(floats(outcome.results[0]) == std::vector<float>{-3, -4});
}

TEST_CASE("nonfinite: a step that is skipped updates nothing, halves the scale and says that it was skipped") {
  SmallCluster cluster(scaled(R"("on_nonfinite": "skip", "loss_scale": {"initial": 4, "growth_steps": 2})"), 2);
  for (const float bad : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    const auto outcome = cluster.run("step", {floats({2}, {1, bad})});
    if (!outcome) FAIL(outcome.error().message);
    CHECK(floats(outcome->results[0]) == std::vector<float>{0, 0});
    CHECK(floats(outcome->results[1]) == std::vector<float>{0, 0});
    CHECK(metric_of(*outcome).name == "skipped_steps");
    CHECK(metric_of(*outcome).reduce == program::Reduce::kSum);
    CHECK(metric_of(*outcome).value == 1);
  }
  CHECK(number(cluster.read(0, "optimizer/.loss_scale")) == 0.5F);
  const auto after = cluster.run("step", {floats({2}, {1, 2})});
  REQUIRE(after);
  CHECK(floats(after->results[0]) == std::vector<float>{-1, -2});
  CHECK(floats(after->results[1]) == std::vector<float>{1, 2});
  const auto iterations = cluster.ask<tensor::NamedTensors>(
      [&](Deadline deadline, auto done) { cluster.server().export_state(deadline, done); });
  REQUIRE(iterations);
  for (const auto& [name, value] : *iterations)
    if (name == ".iterations") CHECK(value.as<std::int64_t>()[0] == 1);
}

TEST_CASE("nonfinite: \"stop\" is an error of the step that names the variable, and nothing is updated") {
  SmallCluster cluster(scaled(R"("on_nonfinite": "stop", "loss_scale": 2)"), 1);
  const auto outcome = cluster.run("step", {floats({2}, {1, kInfinity})}, 12);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == Code::kInternal);
  CHECK(outcome.error().message == "step: the gradient of 'w' is not finite at step 13");
  CHECK(floats(*cluster.read(0, "n")) == std::vector<float>{0, 0});
  const auto after = cluster.run("step", {floats({2}, {1, 2})});
  REQUIRE(after);
  CHECK(floats(after->results[0]) == std::vector<float>{-1, -2});
  CHECK(metric_of(*after).value == 2);
  CHECK_FALSE(cluster.read(0, "optimizer/.loss_scale"));  // a fixed one is no variable
}
