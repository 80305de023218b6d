// SPDX-License-Identifier: Apache-2.0
//
// In which order workers see their data: one and the same in an evaluation, their own in a training, and another one
// where a run goes on or a worker comes back.
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "asking.hpp"
#include "tfd/coordinate/trainer.hpp"
#include "tfd/strategy/epochs.hpp"
#include "tfd/variable/checkpoint.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinate;

namespace {

using Numbers = std::vector<std::int32_t>;

std::string range_of(int count, const std::string& stages) {
  std::string numbers;
  for (int i = 0; i < count; ++i) numbers += (i == 0 ? "" : ", ") + std::to_string(i);
  return R"([{"tensor_slices": {"fields": {"x": [)" + numbers + "]}}}" + stages + "]";
}

program::Program program_of(int count, const std::string& stages, std::vector<std::string> more = {}) {
  more.push_back("datasets.ten=" + range_of(count, stages));
  more.push_back(R"(functions.own={"module": "same.mlir", "inputs": [{"dataset": "ten", "field": "x"}],
                                   "outputs": [{"result": 0}]})");
  more.push_back(R"(functions.noise={"module": "eval.mlir", "inputs": [{"dataset": "ten", "field": "x"}, "rng"],
                                     "outputs": [{"metric": "noise", "reduce": "sum"}, {"metric": "n", "reduce": "sum"}]})");
  more.push_back(R"(functions.eval.outputs=[{"metric": "sum", "reduce": "sum"}, {"metric": "n", "reduce": "sum"}])");
  return make_program(std::move(more));
}

const std::string kSeeded = R"(, {"shuffle": {"buffer": 1000, "seed": 7}})";

CoordinatorOptions in_order(Bed& bed, std::int64_t first_step = 0) {
  CoordinatorOptions options = bed.options();
  options.window = 1;
  options.first_step = first_step;
  return options;
}

/// The first elements that this worker alone sees: of the program's own dataset, or of one that is created.
Numbers seen_by(const std::string& worker, const std::string& stages, CoordinatorOptions with, Bed& bed, bool own,
                int count = 10) {
  cluster::ClusterConfig config = bed.config();
  cluster::ClusterConfig one;
  for (const auto& task : config.cluster.tasks())
    if (task.id.job == "ps" || cluster::format_task(task.id) == worker)
      one.cluster.add_task(task.id.job, task.id.index, task.address);
  const auto coordinator = good(ClusterCoordinator::connect(program_of(100, stages), one, std::move(with)));
  Numbers seen;
  std::vector<Argument> args;
  if (!own) args.emplace_back(good(coordinator->create_per_worker_dataset("ten", soon())));
  for (int i = 0; i < count; ++i) seen.push_back(fetch(schedule(*coordinator, own ? "own" : "next", args)));
  return seen;
}

}  // namespace

TEST_CASE("orders: an evaluation is exact, however its dataset is shuffled, and though workers die") {
  for (const char* stages : {R"(, {"shuffle": 100})", R"(, {"shuffle": {"buffer": 100, "seed": 3}})",
                             R"(, {"shuffle": {"buffer": 100, "reshuffle_each_iteration": false}})",
                             R"(, {"shuffle": 20}, {"prefetch": 2}, {"shuffle": 100})"})
    for (const int workers : {1, 2, 3}) {
      Bed bed(workers);
      const auto coordinator = bed.connect(program_of(100, stages), bed.options());
      for (int time = 0; time < 3; ++time) {
        const auto metrics = good(coordinator->evaluate("eval", {}, soon()));
        INFO(stages << " on " << workers);
        CHECK(metrics[0].second == 4950);
        CHECK(metrics[1].second == 100);
      }
      CHECK(good(coordinator->evaluate("eval", 10, soon()))[1].second == 10);
      if (workers == 1) continue;
      bed.gate.close();
      auto evaluating = std::async(std::launch::async, [&] { return coordinator->evaluate("eval", {}, soon()); });
      bed.gate.wait_for(workers);
      bed.gate.let_one_pass();
      bed.kill("worker:1");
      bed.gate.open();
      CHECK(good(evaluating.get())[0].second == 4950);
    }
}

TEST_CASE("orders: random numbers of an evaluation don't depend on the workers") {
  std::set<double> sums;
  for (const int workers : {1, 2, 3}) {
    Bed bed(workers);
    const auto coordinator = bed.connect(program_of(10, "", {"seed=3"}), bed.options());
    sums.insert(good(coordinator->evaluate("noise", {}, soon()))[0].second);
    sums.insert(good(coordinator->evaluate("noise", {}, soon()))[0].second);
  }
  CHECK(sums.size() == 1);
}

TEST_CASE("orders: workers have orders of their own of a seeded shuffle, the same in every run") {
  for (const bool own : {true, false}) {
    Bed bed(2);
    const auto of = [&](const std::string& worker, std::int64_t first_step = 0) {
      return seen_by(worker, kSeeded, in_order(bed, first_step), bed, own);
    };
    const Numbers zero = of("worker:0"), one = of("worker:1");
    CHECK(zero != one);
    CHECK(zero == of("worker:0"));
    CHECK(one == of("worker:1"));
    // One that goes on begins with other elements, the same each time that it goes on from there.
    CHECK(zero != of("worker:0", 50));
    CHECK(of("worker:0", 50) == of("worker:0", 50));
    CHECK(of("worker:0", 50) != of("worker:0", 100));
    CHECK(of("worker:0", 50) != of("worker:1", 50));
    CoordinatorOptions same = in_order(bed, 50);
    same.same_shuffles = true;
    CHECK(seen_by("worker:1", kSeeded, std::move(same), bed, own) == zero);
    // What isn't to be shuffled anew is the same everywhere.
    const std::string fixed = R"(, {"shuffle": {"buffer": 1000, "seed": 7, "reshuffle_each_iteration": false}})";
    CHECK(seen_by("worker:1", fixed, in_order(bed, 50), bed, own) ==
          seen_by("worker:0", fixed, in_order(bed), bed, own));
  }
}

TEST_CASE("orders: a worker that comes back doesn't begin with what it has seen") {
  for (const bool own : {true, false}) {
    Bed bed(1);
    const auto coordinator = bed.connect(program_of(1000, kSeeded), in_order(bed));
    std::vector<Argument> args;
    if (!own) args.emplace_back(good(coordinator->create_per_worker_dataset("ten", soon())));
    const auto next = [&] {
      Numbers seen;
      for (int i = 0; i < 10; ++i) seen.push_back(fetch(schedule(*coordinator, own ? "own" : "next", args)));
      return seen;
    };
    std::set<Numbers> all;
    all.insert(next());
    for (int time = 0; time < 3; ++time) {
      bed.kill("worker:0");
      until([&] { return coordinator->workers_up() == 0; });
      bed.start("worker:0");
      all.insert(next());
    }
    CHECK(all.size() == 4);
  }
}

TEST_CASE("orders: a training that goes on begins with other elements") {
  const TemporaryDirectory directory;
  Bed bed(1);
  std::vector<std::string> train{
      R"(train={"function": "data_step", "steps": 5, "log_every": 1, "checkpoint": {"dir": ")" + directory.path() +
      R"("}})"};
  train.push_back(R"(functions.data_step.outputs=[{"metric": "loss"}, {"assign": "v"}, {"assign_add": "n"}])");
  train.push_back(R"(functions.data_step.module=seen.mlir)");
  Numbers seen;
  const auto run = [&](int steps) {
    auto with = train;
    with.push_back("train.steps=" + std::to_string(steps));
    const auto program = program_of(1000, kSeeded + R"(, {"repeat": {}})", std::move(with));
    TrainOptions options;
    options.write_event = [&](std::string_view line) -> Result<void> {
      const auto event = nlohmann::json::parse(line);
      if (event["event"] == "step") seen.push_back(event["metrics"]["loss"].get<std::int32_t>());
      return {};
    };
    const auto summary = coordinate::train(
        program,
        [&](CoordinatorOptions with_options) {
          return ClusterCoordinator::connect(program, bed.config(), std::move(with_options));
        },
        in_order(bed), options);
    if (!summary) FAIL(summary.error().message);
  };
  for (const int steps : {5, 10, 15}) run(steps);
  REQUIRE(seen.size() == 15);
  CHECK(std::set<std::int32_t>(seen.begin(), seen.end()).size() > 12);  // three times the same would be 5
}

TEST_CASE("orders: all of an epoch is used, its last step runs on the replicas for which there are data") {
  for (const int devices : {1, 2, 3, 4}) {
    Bed bed(0, 1);
    bed.devices["worker:0"] = devices;
    bed.start("worker:0");
    auto config = bed.config();
    config.cluster.add_task("worker", 0, Bed::address("worker:0"));
    auto program = program_of(
        7, "",
        {R"(train={"function": "data_step", "epochs": 1, "log_every": 1})", R"(functions.data_step.module=seen.mlir)",
         R"(functions.data_step.outputs=[{"metric": "sum", "reduce": "sum"}, {"assign_add": "v"},
                                                               {"assign_add": "n"}])",
         "variables.v.aggregation=sum", "variables.n.aggregation=sum"});
    const auto epochs = good(strategy::epochs_as_steps(std::move(program)));
    double sum = 0;
    TrainOptions options;
    options.epoch_elements = epochs.elements;
    options.write_event = [&](std::string_view line) -> Result<void> {
      const auto event = nlohmann::json::parse(line);
      if (event["event"] == "step") sum += event["metrics"]["sum"].get<double>();
      return {};
    };
    const auto summary = good(coordinate::train(
        epochs.program,
        [&](CoordinatorOptions with) { return ClusterCoordinator::connect(epochs.program, config, std::move(with)); },
        bed.options(), options));
    INFO(devices << " devices");
    CHECK(summary.step == (7 + devices - 1) / devices);
    CHECK(summary.reason == "done");
    CHECK(sum == 21);  // 0 to 6, each once
  }
}
