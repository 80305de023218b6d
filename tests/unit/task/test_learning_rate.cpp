// SPDX-License-Identifier: Apache-2.0
//
// The inputs "step" and "learning_rate": what the optimizer uses for the update that a step belongs to.
#include "small_cluster.hpp"
#include "tfd/step/replica_runner.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;

namespace {

/// The gradient of w is 1, the metrics are the inputs. The rate is halved by every gradient.
Parts halving(const std::string& accumulation) {
  return {R"({"v": 1, "variables": {"w": {"shape": [], "init": {"zeros": {}}}},
    "optimizer": {"sgd": {"learning_rate": {"exponential_decay": {"initial_learning_rate": 1, "decay_steps": 1,
                                                                  "decay_rate": 0.5}})" +
              accumulation + R"(}},
    "functions": {"step": {"module": "step.mlir", "inputs": ["learning_rate", "step"],
      "outputs": [{"metric": "rate"}, {"metric": "step"}, {"gradient": "w"}], "returns": ["w"]},
                  "narrow": {"module": "narrow.mlir", "inputs": ["step"], "outputs": [{"result": 0}]}}})",
          {{"step.mlir", "(%rate: tensor<f32>, %step: tensor<i64>) -> (tensor<f32>, tensor<f32>, tensor<f32>)"},
           {"narrow.mlir", "(%step: tensor<i32>) -> tensor<i32>"}},
          {{"step.mlir",
            [](const Tensors& in) -> Result<Tensors> {
              return Tensors{in[0], Tensor::scalar(DType::kF32, static_cast<float>(in[1].as<std::int64_t>()[0])),
                             Tensor::scalar(DType::kF32, 1.0F)};
            }},
           {"narrow.mlir", [](const Tensors& in) -> Result<Tensors> { return in; }}}};
}

constexpr const char* kOfFour = R"(, "gradient_accumulation_steps": 4)";

}  // namespace

TEST_CASE("learning rate: with accumulation a step gets that of the update which it belongs to") {
  SmallCluster cluster(halving(kOfFour), 1);
  float before = 0;
  for (std::int64_t step = 0; step < 8; ++step) {
    const auto outcome = cluster.run("step", {}, step);
    if (!outcome) FAIL(outcome.error().message);
    const double rate = outcome->metrics.at(0).value;
    CHECK(rate == (step < 4 ? 0.125 : 0.0078125));  // schedules count gradients: 0.5^3, 0.5^7
    CHECK(outcome->metrics.at(1).value == static_cast<double>(step));
    const float after = outcome->results.at(0).as<float>()[0];
    CHECK(before - after == (step % 4 == 3 ? rate : 0));  // what the optimizer has used
    before = after;
  }
}

TEST_CASE("learning rate: without accumulation it is the schedule's at the step") {
  SmallCluster cluster(halving(""), 1);
  for (const std::int64_t step : {0, 1, 2, 10})
    CHECK(cluster.run("step", {}, step).value().metrics.at(0).value == std::pow(0.5, step));
}

TEST_CASE("learning rate: a worker that trains by itself has the same") {
  step::ReplicaOptions options;
  const Parts parts = halving(kOfFour);
  options.make_engine = [&]() -> Result<std::shared_ptr<function::Engine>> {
    return std::make_shared<kit::FakeEngine>(parts.bodies);
  };
  const auto runner = step::ReplicaRunner::make(parse(parts), options);
  REQUIRE(runner);
  for (const std::int64_t step : {0, 3, 4, 7}) {
    const auto outcome = (*runner)->step("step", {}, step);
    REQUIRE(outcome);
    CHECK(outcome->metrics.at(0).value == (step < 4 ? 0.125 : 0.0078125));
  }
}

TEST_CASE("step: is exact, and one that an argument can't hold is an error") {
  SmallCluster cluster(halving(""), 1);
  CHECK(cluster.run("narrow", {}, 2147483647).value().results.at(0).as<std::int32_t>()[0] == 2147483647);
  const auto outcome = cluster.run("narrow", {}, 2147483648);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == Code::kInvalidArgument);
  CHECK(outcome.error().message == "narrow: step 2147483648 doesn't fit into an argument of s32");
}
