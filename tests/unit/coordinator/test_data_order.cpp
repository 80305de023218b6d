// SPDX-License-Identifier: Apache-2.0
//
// In which order workers see their data: one and the same in an evaluation, their own in a training, which goes on with
// what comes next, and another one where a worker comes back.
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "asking.hpp"
#include "tfd/coordinator/trainer.hpp"
#include "tfd/train/epochs.hpp"
#include "tfd/variable/checkpoint.hpp"

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;

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

CoordinatorOptions in_order(Bed& bed) {
  CoordinatorOptions options = bed.options();
  options.window = 1;
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
    const auto of = [&](const std::string& worker) { return seen_by(worker, kSeeded, in_order(bed), bed, own); };
    const Numbers zero = of("worker:0"), one = of("worker:1");
    CHECK(zero != one);
    CHECK(zero == of("worker:0"));
    CHECK(one == of("worker:1"));
    CoordinatorOptions same = in_order(bed);
    same.same_shuffles = true;
    const Numbers first = seen_by("worker:1", kSeeded, std::move(same), bed, own);
    CHECK(first != one);
    same = in_order(bed);
    same.same_shuffles = true;
    CHECK(seen_by("worker:0", kSeeded, std::move(same), bed, own) == first);
    // Data that aren't to be shuffled anew are the same everywhere.
    const std::string fixed = R"(, {"shuffle": {"buffer": 1000, "seed": 7, "reshuffle_each_iteration": false}})";
    CHECK(seen_by("worker:1", fixed, in_order(bed), bed, own) == seen_by("worker:0", fixed, in_order(bed), bed, own));
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

namespace {

/// A training by a number of workers over 1000 numbers, in this directory.
class Numbered {
 public:
  Numbered(Bed& bed, std::string directory, std::string stages)
      : bed_(bed), directory_(std::move(directory)), stages_(std::move(stages)) {}

  /// Up to this step; the numbers that its steps have seen, in their order.
  Numbers run(int steps, const cluster::ClusterConfig& config) {
    Numbers seen;
    const auto program =
        program_of(1000, stages_,
                   {R"(train={"function": "data_step", "log_every": 1, "steps": )" + std::to_string(steps) +
                        R"(, "checkpoint": {"dir": ")" + directory_ + R"("}})",
                    R"(functions.data_step.outputs=[{"metric": "loss"}, {"assign": "v"}, {"assign_add": "n"}])",
                    R"(functions.data_step.module=seen.mlir)"});
    TrainOptions options;
    options.write_event = [&](std::string_view line) -> Result<void> {
      const auto event = nlohmann::json::parse(line);
      if (event["event"] == "step") seen.push_back(event["metrics"]["loss"].get<std::int32_t>());
      return {};
    };
    const auto connect = [&](CoordinatorOptions with) {
      return ClusterCoordinator::connect(program, config, std::move(with));
    };
    good(coordinator::train(program, connect, in_order(bed_), options));
    return seen;
  }
  Numbers run(int steps) { return run(steps, bed_.config()); }

 private:
  Bed& bed_;
  std::string directory_, stages_;
};

Numbers joined(std::initializer_list<Numbers> parts) {
  Numbers all;
  for (const Numbers& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

TEST_CASE("orders: a training that goes on takes the elements that come next, as one that wasn't interrupted") {
  for (const std::string& stages :
       {std::string(), kSeeded + R"(, {"repeat": {}})",
        std::string(R"(, {"shuffle": {"buffer": 20, "seed": 3}}, {"take": 7}, {"repeat": {}})")}) {
    CAPTURE(stages);
    const TemporaryDirectory parts, whole;
    Bed bed(1);
    Numbered training(bed, parts.path(), stages);
    const Numbers seen = joined({training.run(5), training.run(11), training.run(15)});
    CHECK(seen == Numbered(bed, whole.path(), stages).run(15));
  }
}

TEST_CASE("orders: of a shuffle without a seed a training that goes on sees each element once in a pass") {
  for (const char* stages :
       {R"(, {"shuffle": 1000})", R"(, {"shuffle": {"buffer": 1000, "reshuffle_each_iteration": false}})"}) {
    CAPTURE(std::string(stages));
    const TemporaryDirectory directory;
    Bed bed(1);
    Numbered training(bed, directory.path(), stages);
    const Numbers seen = joined({training.run(20), training.run(41), training.run(60)});
    CHECK(std::set<std::int32_t>(seen.begin(), seen.end()).size() == 60);
  }
}

TEST_CASE("orders: each worker of a training that goes on has its own next elements, also where their number differs") {
  const TemporaryDirectory directory;
  Bed bed(2);
  Numbered training(bed, directory.path(), "");
  std::map<std::int32_t, int> times;
  const auto count = [&](const Numbers& seen) {
    for (const std::int32_t one : seen) ++times[one];
  };
  count(training.run(21));
  count(training.run(40));
  // Both have begun at 0, and neither has seen an element twice or left one out.
  int sum = 0, before = 2;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(times.size()); ++i) {
    CHECK(times[i] <= before);
    sum += before = times[i];
  }
  CHECK(sum == 40);
  const auto by_worker = variable::load_latest_checkpoint(directory.path(), nullptr);
  CHECK((*by_worker)->data_position.find("worker:1") != std::string::npos);
  cluster::ClusterConfig one = bed.config();
  one.cluster = {};
  for (const auto& task : bed.config().cluster.tasks())
    if (cluster::format_task(task.id) != "worker:1") one.cluster.add_task(task.id.job, task.id.index, task.address);
  const Numbers rest = training.run(45, one);
  for (std::size_t i = 1; i < rest.size(); ++i) CHECK(rest[i] == rest[i - 1] + 1);
  CHECK(times[rest[0]] <= 1);  // worker:0 had not seen it
}

TEST_CASE("orders: a training whose dataset has changed begins with it") {
  const TemporaryDirectory directory;
  Bed bed(1);
  CHECK(Numbered(bed, directory.path(), "").run(3) == Numbers{0, 1, 2});
  CHECK(Numbered(bed, directory.path(), R"(, {"take": 500})").run(6) == Numbers{0, 1, 2});
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
    const auto epochs = good(train::epochs_as_steps(std::move(program)));
    double sum = 0;
    TrainOptions options;
    options.epoch_elements = epochs.elements;
    options.write_event = [&](std::string_view line) -> Result<void> {
      const auto event = nlohmann::json::parse(line);
      if (event["event"] == "step") sum += event["metrics"]["sum"].get<double>();
      return {};
    };
    const auto summary = good(coordinator::train(
        epochs.program,
        [&](CoordinatorOptions with) { return ClusterCoordinator::connect(epochs.program, config, std::move(with)); },
        bed.options(), options));
    INFO(devices << " devices");
    CHECK(summary.step == (7 + devices - 1) / devices);
    CHECK(summary.reason == "done");
    CHECK(sum == 21);  // 0 to 6, each once
  }
}
