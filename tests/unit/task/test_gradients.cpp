// SPDX-License-Identifier: Apache-2.0
//
// A worker's treatment of gradients before it sends them, and the learning rate that a function may ask for.
#include "small_cluster.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;

namespace {

/// Takes its gradients as arguments.
Parts clipped(const std::string& optimizer) {
  return {
      R"({"v": 1, "variables": {"a": {"shape": [2], "init": {"zeros": {}}}, "b": {"shape": [], "init": {"zeros": {}}}},
    "optimizer": )" +
          optimizer + R"(, "functions": {"step": {"module": "step.mlir", "inputs": [{"arg": 0}, {"arg": 1}],
    "outputs": [{"gradient": "a"}, {"gradient": "b"}], "returns": ["a", "b"]}}})",
      {{"step.mlir", "(%x: tensor<2xf32>, %y: tensor<f32>) -> (tensor<2xf32>, tensor<f32>)"}},
      {{"step.mlir", [](const Tensors& in) -> Result<Tensors> { return in; }}}};
}

}  // namespace

TEST_CASE("worker: gradients of variables on different parameter servers are clipped by their norm together") {
  SmallCluster cluster(clipped(R"({"sgd": {"learning_rate": 1, "global_clipnorm": 6.5}})"), 2);
  const auto outcome = cluster.run("step", {floats({2}, {3, 4}), Tensor::scalar(DType::kF32, 12.0F)});  // norm 13
  if (!outcome) FAIL(outcome.error().message);
  CHECK(floats(outcome->results[0]) == std::vector<float>{-1.5, -2});
  CHECK(floats(outcome->results[1]) == std::vector<float>{-6});
}

TEST_CASE("worker: gradients are clipped by value, and each by its own norm") {
  SmallCluster by_value(clipped(R"({"sgd": {"learning_rate": 1, "clipvalue": 3.5}})"), 1);
  auto outcome = by_value.run("step", {floats({2}, {3, -4}), Tensor::scalar(DType::kF32, 12.0F)});
  REQUIRE(outcome);
  CHECK(floats(outcome->results[0]) == std::vector<float>{-3, 3.5});
  CHECK(floats(outcome->results[1]) == std::vector<float>{-3.5});
  SmallCluster by_norm(clipped(R"({"sgd": {"learning_rate": 1, "clipnorm": 10}})"), 1);
  outcome = by_norm.run("step", {floats({2}, {3, 4}), Tensor::scalar(DType::kF32, 20.0F)});
  REQUIRE(outcome);
  CHECK(floats(outcome->results[0]) == std::vector<float>{-3, -4});
  CHECK(floats(outcome->results[1]) == std::vector<float>{-10});
}

namespace {

std::vector<step::ArgumentValue> times(float factor) {
  return {floats({2}, {3 * factor, 4 * factor}), Tensor::scalar(DType::kF32, 12 * factor)};
}

const std::string kAccumulated =
    R"({"sgd": {"learning_rate": 1, "global_clipnorm": 6.5, "gradient_accumulation_steps": 2}})";

/// The second gradients of a closure that nobody has gone on with: where they come, both updates are due.
void push_and_die(SmallCluster& cluster, std::uint64_t sequence) {
  const std::pair<const char*, Tensor> gradients[] = {{"a", floats({2}, {6, 8})},
                                                      {"b", Tensor::scalar(DType::kF32, 24.0F)}};
  for (int i = 0; i < 2; ++i) {
    const auto answer = cluster.ask<UpdateAnswer>([&](Deadline deadline, auto done) {
      cluster.server(i).update(sequence, {{variable::UpdateKind::kGradient, gradients[i].first, gradients[i].second}},
                               deadline, done);
    });
    REQUIRE(answer);
    CHECK(answer->is_new);
    CHECK(answer->is_due);
  }
}

/// Checks the values after one update by 1.5, 2 and 6.
void check_updated_once(const Result<ClosureOutcome>& outcome) {
  if (!outcome) FAIL(outcome.error().message);
  CHECK(floats(outcome->results[0]) == std::vector<float>{-1.5, -2});
  CHECK(floats(outcome->results[1]) == std::vector<float>{-6});
}

}  // namespace

TEST_CASE("worker: the mean of accumulated gradients is clipped, wherever their variables are") {
  for (const int servers : {1, 2}) {
    CAPTURE(servers);
    SmallCluster cluster(clipped(kAccumulated), servers);
    auto outcome = cluster.run("step", times(0));
    REQUIRE(outcome);
    CHECK(floats(outcome->results[0]) == std::vector<float>{0, 0});
    check_updated_once(cluster.run("step", times(2)));
    check_updated_once(cluster.run("step", times(1)));
    outcome = cluster.run("step", times(1));
    REQUIRE(outcome);
    CHECK(floats(outcome->results[0]) == std::vector<float>{-3, -4});
    CHECK(floats(outcome->results[1]) == std::vector<float>{-12});
  }
}

TEST_CASE("worker: an update that its worker died before is made by who runs the closure again") {
  SmallCluster cluster(clipped(kAccumulated), 2);
  REQUIRE(cluster.run("step", times(0)));
  push_and_die(cluster, 1);
  CHECK(floats(*cluster.read(0, "a")) == std::vector<float>{0, 0});
  check_updated_once(cluster.run("step", times(2)));  // under the same number
}

TEST_CASE("worker: an update that its worker died in is made by the same norm where it wasn't") {
  for (const int first : {0, 1}) {
    CAPTURE(first);
    SmallCluster cluster(clipped(kAccumulated), 2);
    REQUIRE(cluster.run("step", times(0)));
    push_and_die(cluster, 1);
    variable::DueUpdate made{first == 0 ? "a" : "b", "", true, 1, 169};
    REQUIRE(cluster.ask<void>(
        [&](Deadline deadline, auto done) { cluster.server(first).make_due({made}, deadline, done); }));
    check_updated_once(cluster.run("step", times(2)));
    CHECK(cluster.ask<void>(
        [&](Deadline deadline, auto done) { cluster.server(first).make_due({made}, deadline, done); }));
    check_updated_once(cluster.run("step", times(0)));
  }
}

TEST_CASE("worker: an update that nobody made is made by the next closure, before its own gradients count") {
  SmallCluster cluster(clipped(kAccumulated), 2);
  REQUIRE(cluster.run("step", times(0)));
  push_and_die(cluster, 100);
  check_updated_once(cluster.run("step", times(1)));
  const auto outcome = cluster.run("step", times(1));
  REQUIRE(outcome);
  CHECK(floats(outcome->results[0]) == std::vector<float>{-3, -4});
  CHECK(floats(outcome->results[1]) == std::vector<float>{-12});
}

TEST_CASE("worker: what is due is asked for and made by name") {
  SmallCluster cluster(clipped(kAccumulated), 1);
  const auto ask = [&](const std::vector<std::string>& names) {
    return cluster.ask<std::vector<variable::DueUpdate>>(
        [&](Deadline deadline, auto done) { cluster.server().find_due(names, deadline, done); });
  };
  CHECK(ask({})->size() == 2);
  CHECK(ask({"b"})->size() == 1);
  CHECK(ask({"c"}).error().code == Code::kNotFound);
  const auto made = cluster.ask<void>([&](Deadline deadline, auto done) {
    cluster.server().make_due({{"c", "", true, 1, 1}}, deadline, done);
  });
  CHECK(made.error().code == Code::kNotFound);
}

TEST_CASE("worker: a function that asks for the learning rate gets the schedule's at its step") {
  const Parts parts{
      R"({"v": 1, "variables": {}, "optimizer": {"sgd": {"learning_rate":
        {"piecewise_constant_decay": {"boundaries": [2], "values": [0.5, 0.25]}}}},
        "functions": {"rate": {"module": "rate.mlir", "inputs": ["learning_rate"], "outputs": [{"result": 0}]}}})",
      {{"rate.mlir", "(%x: tensor<f32>) -> tensor<f32>"}},
      {{"rate.mlir", [](const Tensors& in) -> Result<Tensors> { return in; }}}};
  SmallCluster cluster(parts, 1);
  CHECK(floats(cluster.run("rate", {}, 0)->results[0]) == std::vector<float>{0.5});
  CHECK(floats(cluster.run("rate", {}, 2)->results[0]) == std::vector<float>{0.5});
  CHECK(floats(cluster.run("rate", {}, 3)->results[0]) == std::vector<float>{0.25});
}
