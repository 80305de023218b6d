// SPDX-License-Identifier: Apache-2.0
//
// A pass over the data: whoever evaluates it in how many parts on how many devices, it is the same pass; and a step at
// its end takes what is left.
#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "small_cluster.hpp"
#include "tfd/step/replica_runner.hpp"

using namespace tfd;
using namespace tfd::task;
using namespace tfd::task::test;

namespace {

/// "eval" sums the numbers of its dataset, "noise" random numbers that are weighted with them, "once" counts its calls.
/// "step" sums what its replicas take.
Parts pass_parts(const std::string& stages, int count = 7) {
  const auto first = [](const Tensors& in) -> Result<Tensors> {
    return Tensors{Tensor::scalar(DType::kF32, static_cast<float>(in[0].as<std::int64_t>()[0]))};
  };
  const auto product = [](const Tensors& in) -> Result<Tensors> {
    const auto weight = static_cast<float>(in[0].as<std::int64_t>()[0] + 1);
    return Tensors{Tensor::scalar(DType::kF32, weight * in[1].as<float>()[0])};
  };
  const auto one = [](const Tensors&) -> Result<Tensors> { return Tensors{Tensor::scalar(DType::kF32, 1.0F)}; };
  return {fmt::format(R"({{"v": 1, "seed": 3,
    "variables": {{"w": {{"shape": [], "init": {{"zeros": {{}}}}}}}},
    "optimizer": {{"sgd": {{"learning_rate": 1}}}},
    "datasets": {{"d": [{{"range": [1, {}]}}{}]}},
    "functions": {{
      "eval": {{"module": "first.mlir", "inputs": [{{"dataset": "d"}}], "outputs": [{{"metric": "sum", "reduce": "sum"}}]}},
      "noise": {{"module": "product.mlir", "inputs": [{{"dataset": "d"}}, "rng"], "outputs": [{{"metric": "sum", "reduce": "sum"}}]}},
      "once": {{"module": "one.mlir", "inputs": [], "outputs": [{{"metric": "sum", "reduce": "sum"}}]}},
      "step": {{"module": "first.mlir", "inputs": [{{"dataset": "d"}}], "outputs": [{{"metric": "sum", "reduce": "sum"}}]}}}}}})",
                      count + 1, stages),
          {{"first.mlir", "(%x: tensor<i64>) -> tensor<f32>"},
           {"product.mlir", "(%x: tensor<i64>, %noise: tensor<f32>) -> tensor<f32>"},
           {"one.mlir", "() -> tensor<f32>"}},
          {{"first.mlir", first}, {"product.mlir", product}, {"one.mlir", one}}};
}

double sum_of(const std::vector<step::Metric>& metrics) {
  step::MetricAccumulator sum;
  sum.add(metrics);
  return sum.empty() ? 0 : sum.values().at(0).second;
}

/// One part of a pass, by a worker of its own.
double evaluate_part(const Parts& parts, const std::string& function, std::int64_t count, std::int64_t index,
                     std::uint64_t seed, int devices = 1) {
  SmallCluster cluster(parts, 1, devices);
  const auto metrics = cluster.ask<std::vector<step::Metric>>([&](Deadline deadline, auto done) {
    cluster.worker().evaluate(function, count, index, {}, SmallCluster::kEpoch, seed, deadline, done);
  });
  if (!metrics) FAIL(metrics.error().message);
  return sum_of(*metrics);
}

std::unique_ptr<step::ReplicaRunner> make_runner(const Parts& parts, int replicas = 1, step::InputPart input = {},
                                                 const data::Order& order = {}) {
  step::ReplicaOptions options;
  options.replicas = replicas;
  options.input = input;
  options.order = order;
  options.make_engine = [bodies = parts.bodies, replicas]() -> Result<std::shared_ptr<function::Engine>> {
    return std::make_shared<kit::FakeEngine>(bodies, replicas);
  };
  auto runner = step::ReplicaRunner::make(parse(parts), options);
  if (!runner) FAIL(runner.error().message);
  return std::move(*runner);
}

/// Each step's values, until the data end.
std::vector<double> steps_of(step::ReplicaRunner& runner, int most_elements = 0) {
  std::vector<double> sums;
  for (std::int64_t step = 0;; ++step) {
    const auto outcome = runner.step("step", {}, step, most_elements);
    if (!outcome) {
      CHECK(outcome.error().code == Code::kOutOfRange);
      return sums;
    }
    sums.push_back(sum_of(outcome->metrics));
  }
}

}  // namespace

TEST_CASE("passes: the parts of an evaluation are a partition, also of a dataset that is shuffled without a seed") {
  for (const char* stages : {R"(, {"shuffle": 100})", R"(, {"shuffle": 10}, {"shuffle": 100})",
                             R"(, {"shuffle": {"buffer": 100, "reshuffle_each_iteration": false}})"}) {
    const Parts parts = pass_parts(stages, 100);
    for (const std::int64_t count : {1, 2, 3}) {
      double all = 0;
      for (std::int64_t index = 0; index < count; ++index)
        all += evaluate_part(parts, "eval", count, index, 17, static_cast<int>(index) + 1);
      INFO(stages << " " << count);
      CHECK(all == 5050);
    }
    // A part that is run again, elsewhere, has the same elements.
    CHECK(evaluate_part(parts, "eval", 3, 1, 17) == evaluate_part(parts, "eval", 3, 1, 17));
  }
}

TEST_CASE("passes: random numbers of an evaluation are those of its batches, whoever evaluates them") {
  const Parts parts = pass_parts("");
  const auto alone = make_runner(parts)->evaluate("noise", {}, {}, {});
  REQUIRE(alone);
  const double expected = sum_of(*alone);
  CHECK(expected != 0);
  CHECK(sum_of(*make_runner(parts, 3)->evaluate("noise", {}, {}, {})) == expected);
  for (const int devices : {1, 2, 3})
    for (const std::int64_t count : {1, 2, 3}) {
      double all = 0;
      for (std::int64_t index = 0; index < count; ++index)
        all += evaluate_part(parts, "noise", count, index, 1, devices);
      CHECK(all == doctest::Approx(expected).epsilon(1e-12));
    }
}

TEST_CASE("passes: a function without a dataset is evaluated once, in however many parts") {
  const Parts parts = pass_parts("");
  CHECK(evaluate_part(parts, "once", 1, 0, 1, 3) == 1);
  CHECK(evaluate_part(parts, "once", 2, 0, 1) == 1);
  CHECK(evaluate_part(parts, "once", 2, 1, 1) == 0);
  CHECK(sum_of(*make_runner(parts)->evaluate("once", {}, {}, {})) == 1);
}

TEST_CASE("passes: the last step takes what is left, on fewer replicas") {
  const Parts parts = pass_parts("");
  CHECK(steps_of(*make_runner(parts, 2)) == std::vector<double>{3, 7, 11, 7});
  CHECK(steps_of(*make_runner(parts, 3)) == std::vector<double>{6, 15, 7});
  CHECK(steps_of(*make_runner(parts, 9)) == std::vector<double>{28});
  CHECK(steps_of(*make_runner(parts, 3), 2) == std::vector<double>{3, 7, 11, 7});  // it was to take two at most
  SmallCluster cluster(parts, 1, 3);
  const auto on_worker = [&](int most) {
    step::FunctionCall call{.epoch = SmallCluster::kEpoch, .function = "step"};
    call.replicas = program::Replicas::kEach;
    call.most_elements = most;
    const auto outcome =
        cluster.ask<ClosureOutcome>([&](Deadline deadline, auto done) { cluster.worker().run(call, deadline, done); });
    if (!outcome) FAIL(outcome.error().message);
    return sum_of(outcome->metrics);
  };
  CHECK(on_worker(0) == 6);
  CHECK(on_worker(1) == 4);
  CHECK(on_worker(2) == 11);
  CHECK(on_worker(0) == 7);
}

TEST_CASE("passes: workers that train by themselves share one order, and may begin again in another") {
  const Parts parts = pass_parts(R"(, {"shuffle": 100})", 30);
  const data::Order order{.seeds = data::ShuffleSeeds{5, 5}};
  std::vector<double> all;
  std::vector<std::unique_ptr<step::ReplicaRunner>> workers;
  for (const std::int64_t id : {0, 1, 2}) workers.push_back(make_runner(parts, 1, {3, id}, order));
  for (const auto& worker : workers)
    for (const double one : steps_of(*worker)) all.push_back(one);
  std::vector<double> sorted = all;
  std::ranges::sort(sorted);
  for (int i = 0; i < 30; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i + 1);
  std::vector<double> again;
  for (const auto& worker : workers) {
    worker->begin_data({.stream = 1, .seeds = data::ShuffleSeeds{5, 5}});
    for (const double one : steps_of(*worker)) again.push_back(one);
  }
  CHECK(again != all);
  std::ranges::sort(again);
  CHECK(again == sorted);
}

TEST_CASE("passes: the next element is made during a step, by a worker as by tfd-run") {
  struct Made {
    std::mutex mutex;
    std::condition_variable changed;
    std::int64_t last = 0;
  } made;
  Parts parts{
      R"({"v": 1, "datasets": {"d": [{"range": [1, 4]}, {"map": {"function": "make", "fields": ["x"]}}]}, "functions": {
      "make": {"module": "make.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]},
      "step": {"module": "step.mlir", "inputs": [{"dataset": "d"}], "outputs": [{"metric": "x"}]}}})",
      {{"make.mlir", "(%x: tensor<i64>) -> tensor<i64>"}, {"step.mlir", "(%x: tensor<i64>) -> tensor<f32>"}},
      {}};
  parts.bodies["make.mlir"] = [&](const Tensors& in) -> Result<Tensors> {
    const std::scoped_lock lock(made.mutex);
    made.last = in[0].as<std::int64_t>()[0];
    made.changed.notify_all();
    return in;
  };
  parts.bodies["step.mlir"] = [&](const Tensors& in) -> Result<Tensors> {
    const std::int64_t next = std::min<std::int64_t>(in[0].as<std::int64_t>()[0] + 1, 3);
    std::unique_lock lock(made.mutex);
    if (!made.changed.wait_for(lock, std::chrono::seconds(9), [&] { return made.last >= next; }))
      return fail(Code::kDeadlineExceeded, "element {} was not made during the step before", next);
    return Tensors{Tensor::scalar(DType::kF32, 1.0F)};
  };
  const auto runner = make_runner(parts);
  for (std::int64_t step = 0; step < 3; ++step)
    if (const auto done = runner->step("step", {}, step); !done) FAIL(done.error().message);
  made.last = 0;
  SmallCluster cluster(parts, 1);
  for (int step = 0; step < 3; ++step)
    if (const auto done = cluster.run("step"); !done) FAIL(done.error().message);
}
