// SPDX-License-Identifier: Apache-2.0
//
// Random inputs: the same for the same step, whoever runs it and however often.
#include <set>

#include "small_cluster.hpp"
#include "tfd/step/replica_runner.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;

namespace {

Parts random_parts(const std::string& seed) {
  return {R"({"v": 1, )" + seed + R"("functions": {
      "draw": {"module": "draw.mlir", "inputs": [{"rng": {"dtype": "ui32", "shape": [2]}}, "rng"], "outputs": [{"result": 0}, {"result": 1}]},
      "other": {"module": "draw.mlir", "inputs": ["rng", {"rng": {"seed": 5}}], "outputs": [{"result": 0}, {"result": 1}]}}})",
          {{"draw.mlir", "(%key: tensor<2xui32>, %noise: tensor<3xf32>) -> (tensor<2xui32>, tensor<3xf32>)"}},
          {{"draw.mlir", [](const Tensors& in) -> Result<Tensors> { return in; }}}};
}

using Words = std::vector<std::uint32_t>;

Words key_of(const Result<ClosureOutcome>& outcome) {
  if (!outcome) FAIL(outcome.error().message);
  const auto words = outcome->results[0].as<std::uint32_t>();
  return {words.begin(), words.end()};
}

Result<ClosureOutcome> run_closure(SmallCluster& cluster, const std::string& function, std::uint64_t closure,
                                   std::uint32_t attempt) {
  step::FunctionCall call{.epoch = SmallCluster::kEpoch, .attempt = attempt, .function = function};
  call.closure = closure;
  return cluster.ask<ClosureOutcome>([&](Deadline deadline, auto done) { cluster.worker().run(call, deadline, done); });
}

}  // namespace

TEST_CASE("random inputs: a step that runs again, also on another cluster, draws the same") {
  SmallCluster cluster(random_parts(""), 1), other(random_parts(""), 2);
  const auto first = cluster.run("draw", {}, 3);
  CHECK(key_of(first) == key_of(cluster.run("draw", {}, 3)));
  CHECK(key_of(first) == key_of(other.run("draw", {}, 3)));
  CHECK(floats(first->results[1]) == floats(other.run("draw", {}, 3)->results[1]));
  for (const float x : floats(first->results[1])) CHECK((x >= 0 && x < 1));
}

TEST_CASE("random inputs: another step, function, seed or closure draws other numbers") {
  SmallCluster cluster(random_parts(""), 1), seeded(random_parts(R"("seed": 1, )"), 1);
  std::set<Words> all;
  for (std::int64_t step = 0; step < 20; ++step) CHECK(all.insert(key_of(cluster.run("draw", {}, step))).second);
  CHECK(all.insert(key_of(cluster.run("other", {}, 3))).second);
  CHECK(all.insert(key_of(seeded.run("draw", {}, 3))).second);
  CHECK(floats(seeded.run("other", {}, 3)->results[1]) == floats(cluster.run("other", {}, 3)->results[1]));
  for (std::uint64_t closure = 1; closure < 5; ++closure) {
    const Words key = key_of(run_closure(cluster, "draw", closure, 0));
    CHECK(all.insert(key).second);
    CHECK(key_of(run_closure(cluster, "draw", closure, 1)) == key);  // the attempt after a worker was lost
  }
}

TEST_CASE("random inputs: every replica of a step draws for itself") {
  SmallCluster cluster(random_parts(""), 1, 3);
  const auto outcome = cluster.run_on_replicas("draw", program::Replicas::kEach);
  const Words stacked = key_of(outcome);
  REQUIRE(outcome->results[0].shape() == tensor::Shape{3, 2});
  std::set<Words> all;
  for (std::size_t replica = 0; replica < 3; ++replica)
    CHECK(all.insert({stacked[2 * replica], stacked[2 * replica + 1]}).second);
  CHECK(all.contains(key_of(cluster.run("draw", {}, 0))));  // the first draws what the only one would
  CHECK(key_of(cluster.run_on_replicas("draw", program::Replicas::kEach)) == stacked);
}

TEST_CASE("random inputs: workers that train by themselves draw differently in the same step") {
  Parts parts{
      R"({"v": 1, "functions": {"draw": {"module": "draw.mlir", "inputs": ["rng"], "outputs": [{"metric": "noise"}]}}})",
      {{"draw.mlir", "(%noise: tensor<f64>) -> tensor<f64>"}},
      {}};
  std::set<double> all;
  for (const std::int64_t worker : {0, 1, 2}) {
    step::ReplicaOptions options;
    options.replicas = 1;
    options.input = {3, worker};
    options.make_engine = []() -> Result<std::shared_ptr<function::Engine>> {
      return std::make_shared<kit::FakeEngine>(
          std::map<std::string, kit::Body>{{"draw.mlir", [](const Tensors& in) -> Result<Tensors> { return in; }}});
    };
    const auto runner = step::ReplicaRunner::make(parse(parts), options);
    REQUIRE(runner);
    for (const std::int64_t step : {0, 1}) {
      const auto outcome = (*runner)->step("draw", {}, step);
      REQUIRE(outcome);
      CHECK(all.insert(outcome->metrics.at(0).value).second);
      CHECK((*runner)->step("draw", {}, step)->metrics.at(0).value == outcome->metrics.at(0).value);
    }
  }
}

TEST_CASE("random inputs: one that isn't stated has the shape that goes with the batch") {
  Parts parts{R"({"v": 1,
    "datasets": {"x": [{"tensor_slices": {"fields": {"x": [1.0, 2.0, 3.0]}}}, {"batch": 2}]},
    "functions": {"mask": {"module": ["two.mlir", "one.mlir"], "inputs": ["rng", {"dataset": "x"}], "outputs": [{"result": 0}]}}})",
              {{"two.mlir", "(%noise: tensor<2x2xf32>, %x: tensor<2xf32>) -> tensor<2x2xf32>"},
               {"one.mlir", "(%noise: tensor<1x2xf32>, %x: tensor<1xf32>) -> tensor<1x2xf32>"}},
              {}};
  for (const char* module : {"two.mlir", "one.mlir"})
    parts.bodies[module] = [](const Tensors& in) -> Result<Tensors> { return Tensors{in[0]}; };
  SmallCluster cluster(parts, 1);
  for (const std::int64_t batch : {2, 1}) {
    const auto outcome = cluster.run("mask", {}, 5);
    if (!outcome) FAIL(outcome.error().message);
    CHECK(outcome->results[0].shape() == tensor::Shape{batch, 2});
  }
}
