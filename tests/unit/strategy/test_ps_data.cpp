// SPDX-License-Identifier: Apache-2.0
//
// Data of asynchronous workers: parts of one order, other elements when a training goes on, all of an
// epoch.
#include <algorithm>
#include <future>
#include <numeric>
#include <set>

#include "bed.hpp"
#include "tfd/train/epochs.hpp"

namespace tfd::strategy::test {
namespace {

/// Keeps what the steps see.
class Seen {
 public:
  void add(float value) {
    const std::scoped_lock lock(mutex_);
    values_.push_back(value);
  }
  std::vector<float> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(values_, {});
  }
  std::vector<float> take_sorted() {
    auto values = take();
    std::ranges::sort(values);
    return values;
  }

 private:
  std::mutex mutex_;
  std::vector<float> values_;
};

std::vector<float> numbers_to(int count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0.0F);
  return out;
}

Parts seeing(Seen& seen, int count, const std::string& stages, const std::string& train) {
  const std::string data = fmt::format("{}", fmt::join(numbers_to(count), ", "));
  return {
      R"({"v": 1, "variables": {"w": {"shape": [], "init": {"zeros": {}}}}, "optimizer": {"sgd": {"learning_rate": 1.0}},
    "datasets": {"d": [{"tensor_slices": {"fields": {"x": {"dtype": "f32", "shape": [)" +
          std::to_string(count) + R"(], "data": [)" + data + R"(]}}}})" + stages + R"(]},
    "functions": {"step": {"module": "step.mlir", "inputs": [{"dataset": "d", "field": "x"}], "outputs": [{"gradient": "w"}]}},
    "train": )" +
          train + "}",
      {{"step.mlir", "(%x: tensor<f32>) -> tensor<f32>"}},
      {{"step.mlir", [&seen](const Tensors& in) -> Result<Tensors> {
          seen.add(number(in[0]));
          return Tensors{in[0]};
        }}}};
}

TEST_CASE("ps data: the parts of all workers are a partition, however the data are shuffled") {
  for (const char* stages : {R"(, {"shuffle": 100})", R"(, {"shuffle": {"buffer": 100, "seed": 3}})",
                             R"(, {"shuffle": 100}, {"options": {"auto_shard": "data"}})",
                             R"(, {"shuffle": {"buffer": 100, "reshuffle_each_iteration": false}}, {"shuffle": 10})"}) {
    Seen seen;
    Bed bed(seeing(seen, 60, stages, R"({"function": "step"})"), 3, 1);
    auto first = std::async(std::launch::async, [&] { return bed.train(1, 2); });
    auto second = std::async(std::launch::async, [&] { return bed.train(2); });
    (void)well(bed.train(0));
    (void)well(first.get());
    (void)well(second.get());
    INFO(stages);
    CHECK(seen.take_sorted() == numbers_to(60));
  }
}

TEST_CASE("ps data: a training that goes on begins with other elements, a new one with the same") {
  const Directory directory;
  Seen seen;
  const auto steps = [&](int count, const std::string& where, std::size_t seen_first = 5) {
    const std::string train = fmt::format(R"({{"function": "step", "steps": {}, "checkpoint": {{"dir": "{}"}}}})",
                                          count, directory.path() + where);
    Bed bed(seeing(seen, 1000, R"(, {"shuffle": {"buffer": 1000, "seed": 7}}, {"repeat": {}})", train), 1, 1);
    (void)well(where.starts_with("/local") ? bed.train_locally(1) : bed.train(0));
    auto values = seen.take();
    values.resize(seen_first);
    return values;
  };
  const auto first = steps(5, "/a");
  CHECK(steps(5, "/b") == first);
  const auto second = steps(10, "/a");
  CHECK(second != first);
  CHECK(steps(10, "/b") == second);
  CHECK(steps(15, "/a") != second);
  // Data continue from their position within one process.
  auto whole = steps(10, "/local whole", 10);
  CHECK(steps(5, "/local") == first);
  const auto rest = steps(10, "/local");
  whole.erase(whole.begin(), whole.begin() + 5);
  CHECK(rest == whole);
}

TEST_CASE("ps data: a worker that joins again doesn't begin with what it has seen") {
  for (const char* shared : {"", R"(, {"options": {"auto_shard": "data"}})"}) {
    Seen seen;
    Bed bed(seeing(seen, 1000, std::string(R"(, {"shuffle": {"buffer": 1000, "seed": 7}}, {"repeat": {}})") + shared,
                   R"({"function": "step", "steps": 1000000, "log_every": 1})"),
            1, 1);
    std::set<std::vector<float>> all;
    for (int time = 0; time < 3; ++time) {
      const auto interrupts = std::make_shared<train::Interrupts>();
      const std::size_t before = bed.events_of("step").size();
      bed.on_event = [&](const json&) {
        if (bed.events_of("step").size() >= before + 5) interrupts->ask_stop();
      };
      CHECK(well(bed.train(0, 1, interrupts)).reason == "interrupted");
      auto values = seen.take();
      REQUIRE(values.size() >= 5);
      values.resize(5);
      all.insert(values);
    }
    CHECK(all.size() == 3);
  }
}

TEST_CASE("ps data: all of an epoch is used, its last step runs on the replicas for which there are data") {
  for (const int replicas : {1, 2, 3, 4}) {
    for (const bool stated : {true, false}) {
      Seen seen;
      Bed bed(seeing(seen, 7, "", stated ? R"({"function": "step", "epochs": 1})" : R"({"function": "step"})"), 1, 1);
      auto steps = train::epochs_as_steps(bed.program, {.elements_per_step = replicas});
      REQUIRE(steps);
      bed.program = std::move(steps->program);
      bed.epoch_elements = steps->elements;
      const auto summary = well(bed.train(0, replicas));
      INFO(replicas << " replicas");
      CHECK(summary.reason == (stated ? "done" : "end_of_data"));
      CHECK(summary.step == (7 + replicas - 1) / replicas);
      CHECK(seen.take_sorted() == numbers_to(7));
    }
  }
}

}  // namespace
}  // namespace tfd::strategy::test
