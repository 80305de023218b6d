// SPDX-License-Identifier: Apache-2.0
//
// A worker with several devices: a step runs as one replica on each, and becomes one update.
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>

#include "small_cluster.hpp"
#include "tfd/step/replica_step.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;
using program::Replicas;

namespace {

std::string f32s(std::size_t count) { return fmt::format("tensor<{}xf32>", count); }

/// Batches [0 1 2] [3 4 5] [6 7 8] [9]; the gradient of w is the batch's mean, x is its sum; modules for every batch.
Parts parts(const std::string& more = "") {
  Parts out;
  out.document = R"({"v": 1,
    "variables": {"w": {"shape": [], "init": {"zeros": {}}}, "x": {"shape": [], "init": {"zeros": {}})" +
                 more + R"(}, "ids": {"shape": [8], "init": {"zeros": {}}, "aggregation": "sum"}},
    "optimizer": {"sgd": {"learning_rate": 1}},
    "datasets": {"ten": [{"tensor_slices": {"fields": {"x": {"dtype": "f32", "shape": [10], "data": [0,1,2,3,4,5,6,7,8,9]}}}},
                         {"batch": {"size": 3}}]},
    "functions": {
      "step": {"module": ["step1.mlir", "step2.mlir", "step3.mlir"], "inputs": [{"dataset": "ten", "field": "x"}],
               "outputs": [{"metric": "mean"}, {"gradient": "w"}]},
      "sum": {"module": ["step1.mlir", "step2.mlir", "step3.mlir"], "inputs": [{"dataset": "ten", "field": "x"}],
              "outputs": [{"metric": "mean", "reduce": "sum"}, {"gradient": "w", "reduce": "sum"}]},
      "assign": {"module": "who.mlir", "inputs": ["replica_id", "num_replicas"],
                 "outputs": [{"assign_add": "x"}, {"result": 0}]},
      "eval": {"module": ["step1.mlir", "step2.mlir", "step3.mlir"], "inputs": [{"dataset": "ten", "field": "x"}],
               "outputs": [{"metric": "mean"}, {"metric": "again"}]}}})";
  for (std::size_t batch = 1; batch <= 3; ++batch) {
    const std::string name = fmt::format("step{}.mlir", batch);
    out.modules[name] = fmt::format("(%x: {}) -> (tensor<f32>, tensor<f32>)", f32s(batch));
    out.bodies[name] = [](const Tensors& in) -> Result<Tensors> {
      float sum = 0;
      for (const float value : in[0].as<float>()) sum += value;
      const Tensor mean = Tensor::scalar(DType::kF32, sum / static_cast<float>(in[0].size()));
      return Tensors{mean, mean};
    };
  }
  out.modules["who.mlir"] = "(%r: tensor<i32>, %n: tensor<i32>) -> (tensor<f32>, tensor<f32>)";
  out.bodies["who.mlir"] = [](const Tensors& in) -> Result<Tensors> {
    const auto replica = static_cast<float>(in[0].as<std::int32_t>()[0]);
    const auto count = static_cast<float>(in[1].as<std::int32_t>()[0]);
    return Tensors{Tensor::scalar(DType::kF32, 10 * (replica + 1)), Tensor::scalar(DType::kF32, replica + count / 10)};
  };
  return out;
}

double metric(const Result<ClosureOutcome>& outcome) {
  if (!outcome) FAIL(outcome.error().message);
  step::MetricAccumulator sum;
  sum.add(outcome->metrics);
  return sum.values().at(0).second;
}

}  // namespace

TEST_CASE("replicas: each takes an element of its own, and what is left makes a smaller step") {
  SmallCluster cluster(parts(), 1, 3);
  CHECK(metric(cluster.run_on_replicas("step", Replicas::kEach)) == doctest::Approx(4));  // [0 1 2] [3 4 5] [6 7 8]
  CHECK(floats(*cluster.read(0, "w"))[0] == -4);
  CHECK(metric(cluster.run_on_replicas("step", Replicas::kEach)) == 9);  // [9], the others have nothing
  CHECK(floats(*cluster.read(0, "w"))[0] == -13);
  const auto ended = cluster.run_on_replicas("step", Replicas::kEach);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::kOutOfRange);
}

TEST_CASE("replicas: they split a batch as equally as can be, and a mean is that of all examples") {
  SmallCluster cluster(parts(), 1, 2);
  // [0 1] and [2]: means 0.5 and 2, of 2 and 1 examples.
  CHECK(metric(cluster.run_on_replicas("step", Replicas::kSplit)) == doctest::Approx(1));
  CHECK(floats(*cluster.read(0, "w"))[0] == doctest::Approx(-1));
  CHECK(metric(cluster.run_on_replicas("sum", Replicas::kSplit)) == doctest::Approx(3.5 + 5));  // [3 4] and [5]
  CHECK(floats(*cluster.read(0, "w"))[0] == doctest::Approx(-1 - 8.5));
  CHECK(metric(cluster.run_on_replicas("step", Replicas::kSplit)) == doctest::Approx(7));
  CHECK(metric(cluster.run_on_replicas("step", Replicas::kSplit)) == 9);  // one row: one replica
  CHECK_FALSE(cluster.run_on_replicas("step", Replicas::kSplit));
}

TEST_CASE("replicas: assigned values go by the variable's aggregation, and results are put together") {
  struct Case {
    std::string aggregation;
    float value;
  };
  for (const Case& one : {Case{"mean", 20}, Case{"sum", 60}, Case{"only_first_replica", 10}}) {
    INFO(one.aggregation);
    SmallCluster cluster(parts(R"(, "aggregation": ")" + one.aggregation + "\""), 1, 3);
    const auto outcome = cluster.run_on_replicas("assign", Replicas::kEach);
    if (!outcome) FAIL(outcome.error().message);
    CHECK(floats(*cluster.read(0, "x"))[0] == one.value);
    CHECK(outcome->results[0].shape() == tensor::Shape{3});
    CHECK(floats(outcome->results[0])[2] == doctest::Approx(2.3));  // replica 2 of 3
  }
  SmallCluster none(parts(R"(, "aggregation": "none")"), 1, 3);
  const auto outcome = none.run_on_replicas("assign", Replicas::kEach);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == Code::kInvalidArgument);
  CHECK(outcome.error().message ==
        "assign: variable 'x' is updated by 3 replicas, so it needs an aggregation: sum, mean or only_first_replica");
  CHECK(floats(*none.read(0, "x"))[0] == 0);
}

TEST_CASE("replicas: a function that is called once runs on one device as the only replica") {
  SmallCluster cluster(parts(), 1, 3);
  const auto outcome = cluster.run("assign");
  REQUIRE(outcome);
  CHECK(outcome->results[0].shape().empty());
  CHECK(floats(outcome->results[0])[0] == doctest::Approx(0.1));
  CHECK(floats(*cluster.read(0, "x"))[0] == 10);
}

TEST_CASE("replicas: an evaluation uses all devices, and each example counts once") {
  for (const int devices : {1, 2, 3, 4, 7}) {
    SmallCluster cluster(parts(), 1, devices);
    const auto of = [&](std::int64_t count, std::int64_t index, std::optional<std::int64_t> steps) {
      auto metrics = cluster.ask<std::vector<step::Metric>>([&](Deadline deadline, auto done) {
        cluster.worker().evaluate("eval", count, index, steps, SmallCluster::kEpoch, 1, deadline, done);
      });
      if (!metrics) FAIL(metrics.error().message);
      step::MetricAccumulator sum;
      sum.add(*metrics);
      return sum.empty() ? -1 : sum.values().at(0).second;
    };
    CHECK(of(1, 0, std::nullopt) == doctest::Approx(4.5));
    CHECK(of(2, 1, std::nullopt) == doctest::Approx((3 + 4 + 5 + 9) / 4.0));
    CHECK(of(1, 0, 2) == doctest::Approx(2.5));
    CHECK(of(2, 0, 1) == doctest::Approx(1));
  }
}

TEST_CASE("replicas: a worker says how many it runs when it gets the program") {
  SmallCluster cluster(parts(), 1, 5);
  std::atomic<int> replicas{0};
  const auto loaded = cluster.ask<void>([&](Deadline deadline, auto done) {
    const auto on_replicas = [&](int count) { replicas = count; };
    cluster.worker().load_worker(PackedProgram::pack(cluster.program, cluster.placement), SmallCluster::kEpoch,
                                 deadline, on_replicas, done);
  });
  REQUIRE(loaded);
  CHECK(replicas == 5);
  const auto status =
      cluster.ask<TaskStatus>([&](Deadline deadline, auto done) { cluster.worker().status(deadline, done); });
  CHECK(status->devices == std::vector<std::string>{"fake:0", "fake:1", "fake:2", "fake:3", "fake:4"});
}

TEST_CASE("replicas: rows of a table that several replicas want are added up, or their mean is taken") {
  const auto table = [](const std::string& reduce, const std::string& aggregation) {
    return Parts{R"({"v": 1, "variables": {"t": {"shape": [4, 1], "init": {"zeros": {}}, "aggregation": ")" +
                     aggregation +
                     R"("}}, "optimizer": {"sgd": {"learning_rate": 1}}, "functions": {
      "step": {"module": "step.mlir", "inputs": ["replica_id"],
        "outputs": [{"gradient": "t", "part": "indices"}, {"gradient": "t", "part": "values", "reduce": ")" +
                     reduce + R"("}]},
      "add": {"module": "step.mlir", "inputs": ["replica_id"],
        "outputs": [{"assign_add": "t", "part": "indices"}, {"assign_add": "t", "part": "values"}]},
      "assign": {"module": "step.mlir", "inputs": ["replica_id"],
        "outputs": [{"assign": "t", "part": "indices"}, {"assign": "t", "part": "values"}]}}})",
                 {{"step.mlir", "(%r: tensor<i32>) -> (tensor<2xi32>, tensor<2x1xf32>)"}},
                 {{"step.mlir", [](const Tensors& in) -> Result<Tensors> {
                     const std::int32_t replica = in[0].as<std::int32_t>()[0];  // rows 0 1, and 1 2
                     return Tensors{ids({replica, replica + 1}), floats({2, 1}, {6, 6})};
                   }}}};
  };
  const auto after = [&](const std::string& function, const std::string& reduce, const std::string& aggregation) {
    SmallCluster cluster(table(reduce, aggregation), 1, 2);
    const auto outcome = cluster.run_on_replicas(function, Replicas::kEach);
    if (!outcome) FAIL(outcome.error().message);
    return floats(*cluster.read(0, "t"));
  };
  using Floats = std::vector<float>;
  CHECK(after("step", "sum", "mean") == Floats{-6, -12, -6, 0});
  CHECK(after("step", "mean", "none") == Floats{-3, -6, -3, 0});
  CHECK(after("add", "mean", "sum") == Floats{6, 12, 6, 0});
  CHECK(after("add", "mean", "mean") == Floats{3, 6, 3, 0});
  CHECK(after("add", "mean", "only_first_replica") == Floats{6, 6, 0, 0});
  CHECK(after("assign", "mean", "only_first_replica") == Floats{6, 6, 0, 0});
  SmallCluster cluster(table("mean", "mean"), 1, 2);
  const auto outcome = cluster.run_on_replicas("assign", Replicas::kEach);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().message.find("which needs the aggregation only_first_replica") != std::string::npos);
}

TEST_CASE("replicas: their threads run what each of many steps has, once, and at the same time") {
  for (const bool is_alone : {false, true})
    for (const std::size_t count : {2, 3}) {  // as many as there are CPUs, at least on some machines, and more
      step::ReplicaThreads threads(static_cast<int>(count), is_alone);
      std::array<std::atomic<int>, 3> runs{};
      for (std::size_t step = 0; step < 999; ++step) threads.run(1 + step % count, [&](std::size_t i) { ++runs[i]; });
      CHECK(runs[0] == 999);
      CHECK(runs[1] == (count == 2 ? 499 : 666));
      CHECK(runs[2] == (count == 2 ? 0 : 333));
      std::barrier meeting(static_cast<std::ptrdiff_t>(count));
      threads.run(count, [&](std::size_t) { meeting.arrive_and_wait(); });
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // asleep, or about to be: both are woken
      threads.run(count, [&](std::size_t) { meeting.arrive_and_wait(); });
    }
}
