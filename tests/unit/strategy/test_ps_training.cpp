// SPDX-License-Identifier: Apache-2.0
//
// Training by asynchronous workers beyond its steps: early stops, the best checkpoint, averages, epochs, rows of
// tables.
#include <filesystem>
#include <future>

#include "bed.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/train/epochs.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy::test {
namespace {

/// n counts steps, and an evaluation says n; every step's gradient is 1.
Parts falling(const std::string& train, const std::string& optimizer = R"({"sgd": {"learning_rate": 1.0}})") {
  return {R"({"v": 1,
    "variables": {"w": {"shape": [], "init": {"zeros": {}}}, "n": {"shape": [], "init": {"zeros": {}}, "aggregation": "only_first_replica"}},
    "optimizer": )" +
              optimizer + R"(,
    "datasets": {"once": [{"tensor_slices": {"fields": {"x": [0.5]}}}]},
    "functions": {"step": {"module": "step.mlir", "inputs": [{"variable": "w"}], "outputs": [{"gradient": "w"}, {"assign_add": "n"}]},
                  "eval": {"module": "eval.mlir", "inputs": [{"variable": "n"}, {"dataset": "once", "field": "x"}], "outputs": [{"metric": "n"}]}},
    "train": )" +
              train + "}",
          {{"step.mlir", "(%w: tensor<f32>) -> (tensor<f32>, tensor<f32>)"},
           {"eval.mlir", "(%n: tensor<f32>, %x: tensor<f32>) -> tensor<f32>"}},
          {{"step.mlir",
            [](const Tensors&) -> Result<Tensors> {
              return Tensors{number(1), number(1)};
            }},
           {"eval.mlir", [](const Tensors& in) -> Result<Tensors> { return Tensors{in[0]}; }}}};
}

TEST_CASE("ps training: the chief stops all when there was no better evaluation for too long, and restores the best") {
  const Directory directory;
  Bed bed(falling(fmt::format(R"({{"function": "step", "steps": 1000000, "log_every": 1, "checkpoint": {{"dir": "{}"}},
    "evaluate": {{"function": "eval", "every": 5}},
    "stop": {{"metric": "n", "mode": "min", "patience": 2, "restore_best": true}}}})",
                              directory.path())),
          2, 2);
  auto other = std::async(std::launch::async, [&] { return bed.train(1); });
  const auto chief = well(bed.train(0));
  CHECK(chief.reason == "stopped");
  CHECK(well(other.get()).reason == "stopped");
  const auto evaluations = bed.events_of("eval");
  REQUIRE(evaluations.size() >= 3);
  const double best = evaluations[0]["metrics"]["n"];
  CHECK(number(bed.read("n")) == best);
  CHECK(bed.read("global_step").as<std::int64_t>()[0] == chief.step);  // finished steps aren't undone
  CHECK(chief.step > static_cast<std::int64_t>(best));
  const auto saved = variable::load_checkpoint(chief.checkpoint).value();
  for (const auto& [name, value] : saved.state)
    if (name == "n") CHECK(number(value) == best);
}

TEST_CASE("ps training: a chief that compiles until the others have made all steps saves what they have trained") {
  const Directory directory;
  Bed bed(
      falling(fmt::format(R"({{"function": "step", "steps": 20, "checkpoint": {{"dir": "{}"}}}})", directory.path())),
      2, 1);
  std::future<Result<train::TrainSummary>> other;
  bed.before_engine = [&](const std::string& task) {
    if (task == "worker:0") other.wait();
  };
  other = std::async(std::launch::async, [&] { return bed.train(1); });
  const auto chief = well(bed.train(0));
  CHECK(well(other.get()).step == 20);
  CHECK(chief.reason == "done");
  CHECK(chief.step == 20);
  CHECK(chief.first_step == 0);
  CHECK(variable::load_checkpoint(chief.checkpoint).value().step == 20);
}

TEST_CASE("ps training: the same command after an early stop has nothing left to do, by another rule it goes on") {
  const Directory directory;
  Bed bed(falling(fmt::format(R"({{"function": "step", "steps": 1000000, "checkpoint": {{"dir": "{}"}},
    "evaluate": {{"function": "eval", "every": 5}}, "stop": {{"metric": "n", "mode": "min", "patience": 1}}}})",
                              directory.path())),
          1, 1);
  const auto first = well(bed.train(0));
  CHECK(first.reason == "stopped");
  const auto second = well(bed.train(0));
  CHECK(second.reason == "nothing_left");
  CHECK(second.step == first.step);
  bed.replace("\"patience\": 1", "\"patience\": 3");
  const auto third = well(bed.train(0));
  CHECK(third.reason == "stopped");
  CHECK(third.first_step == first.step);  // a stopped training isn't joined but continued from its checkpoint
  CHECK(third.step > first.step);
  CHECK(bed.events_of("start")[2]["resumed_from"] == first.checkpoint);
}

TEST_CASE("ps training: the best checkpoint is of what was evaluated, whatever others do meanwhile") {
  const Directory directory;
  Bed bed(falling(fmt::format(R"({{"function": "step", "steps": 60, "checkpoint": {{"dir": "{}",
    "keep_best": {{"metric": "n", "mode": "max"}}}}, "evaluate": {{"function": "eval", "every": 10}}}})",
                              directory.path())),
          2, 1);
  auto other = std::async(std::launch::async, [&] { return bed.train(1); });
  const auto chief = well(bed.train(0));
  (void)well(other.get());
  const auto best = variable::load_latest_checkpoint(directory.path() + "/best", nullptr).value();
  REQUIRE(best);
  CHECK(best->step == chief.step);  // n only grows
  for (const auto& [name, value] : best->state)
    if (name == "n") CHECK(number(value) == static_cast<float>(best->step));
}

TEST_CASE(
    "ps training: an evaluator evaluates what is there, keeps the best, and ends with a training that was stopped") {
  const Directory directory;
  Bed bed(falling(fmt::format(R"({{"function": "step", "steps": 1000000, "checkpoint": {{"dir": "{}",
    "keep_best": {{"metric": "n", "mode": "max"}}}}, "evaluate": {{"function": "eval", "every": 5}},
    "stop": {{"metric": "n", "mode": "min", "patience": 2}}}})",
                              directory.path())),
          1, 1);
  const auto trained = well(bed.train(0));
  CHECK(trained.reason == "stopped");
  std::filesystem::remove_all(directory.path() + "/best");
  const auto evaluated = well(bed.evaluate());
  CHECK(evaluated.reason == "stopped");
  CHECK(evaluated.step == trained.step);
  CHECK(variable::load_latest_checkpoint(directory.path() + "/best", nullptr).value()->step == trained.step);
  CHECK(bed.events_of("end").back()["task"] == "evaluator:0");
}

TEST_CASE("ps training: at the end the variables are their averages, where the optimizer keeps them") {
  const std::string optimizer = R"({"sgd": {"learning_rate": 1.0, "use_ema": true, "ema_momentum": 0.5}})";
  Bed bed(falling(R"({"function": "step", "steps": 8})", optimizer), 1, 2);
  CHECK(well(bed.train(0)).step == 8);
  const float value = number(bed.read("w"));
  CHECK(value > -8);  // which it was
  CHECK(value < -6);
}

TEST_CASE("ps training: whoever is interrupted goes, and the servers stay for those that go on") {
  const auto interrupts = std::make_shared<train::Interrupts>();
  Bed bed(falling(R"({"function": "step", "steps": 2000, "log_every": 10})"), 2, 1);
  bed.on_event = [&](const json& event) {
    if (event["event"] == "step" && event["task"] == "worker:1") interrupts->ask_stop();
  };
  auto other = std::async(std::launch::async, [&] { return bed.train(1, 1, interrupts); });
  const auto chief = well(bed.train(0));
  CHECK(well(other.get()).reason == "interrupted");
  CHECK(chief.reason == "done");
  CHECK(chief.step == 2000);
  CHECK(number(bed.read("n")) == 2000);
}

/// c becomes c + 1 on each replica, synchronized on read or as `c` says.
Parts growing(std::int64_t steps, const std::string& checkpoint, const std::string& c, const std::string& apply = "") {
  return {fmt::format(R"({{"v": 1,
    "variables": {{"c": {{"shape": [], "init": {{"zeros": {{}}}}, "trainable": false, {}}}}},
    "datasets": {{"once": [{{"tensor_slices": {{"fields": {{"x": [0.5]}}}}}}]}},
    "functions": {{"step": {{"module": "step.mlir", "inputs": [{{"variable": "c"}}], "outputs": [{{"assign": "c"{}}}]}},
                   "eval": {{"module": "eval.mlir", "inputs": [{{"variable": "c"}}, {{"dataset": "once", "field": "x"}}], "outputs": [{{"metric": "c"}}]}}}},
    "train": {{"function": "step", "steps": {}, {} "evaluate": {{"function": "eval"}}}}}})",
                      c, apply, steps, checkpoint),
          {{"step.mlir", "(%c: tensor<f32>) -> tensor<f32>"},
           {"eval.mlir", "(%c: tensor<f32>, %x: tensor<f32>) -> tensor<f32>"}},
          {{"step.mlir", [](const Tensors& in) -> Result<Tensors> { return Tensors{number(number(in[0]) + 1)}; }},
           {"eval.mlir", [](const Tensors& in) -> Result<Tensors> { return Tensors{in[0]}; }}}};
}

std::string every_step(const Directory& directory) {
  return fmt::format(R"("checkpoint": {{"dir": "{}", "every": 1, "keep": 0}},)", directory.path());
}

float saved_value(const std::string& directory, int step) {
  const auto saved = variable::load_checkpoint(fmt::format("{}/step-{:08}.safetensors", directory, step));
  if (!saved) FAIL(saved.error().message);
  for (const auto& [name, value] : saved->state)
    if (name == "c") return number(value);
  FAIL("no c");
  return 0;
}

TEST_CASE("ps training: a variable that is synchronized on read grows on each replica, and checkpoints have its sum") {
  const Directory directory;
  const std::string on_read = R"("synchronization": "on_read", "aggregation": "sum")";
  const auto saved = [&](int replicas, int from, int to) {
    Bed bed(growing(to, every_step(directory), on_read), 1, 1);
    const auto summary = well(bed.train_locally(replicas));
    CHECK(summary.evaluation.at(0).second == saved_value(directory.path(), to));
    std::vector<float> values;
    for (int step = from + 1; step <= to; ++step) values.push_back(saved_value(directory.path(), step));
    return values;
  };
  using Floats = std::vector<float>;
  CHECK(saved(2, 0, 4) == Floats{2, 4, 6, 8});  // synchronized on write: 2, 6, 14, 30
  CHECK(saved(4, 4, 6) == Floats{12, 16});      // each of four goes on from 2
  CHECK(saved(1, 6, 8) == Floats{17, 18});
}

TEST_CASE("ps training: on parameter servers the replicas of all workers share their values") {
  const Directory directory;
  Bed bed(growing(40, every_step(directory), R"("synchronization": "on_read", "aggregation": "sum")",
                  R"(, "apply": "difference")"),
          2, 2);
  auto other = std::async(std::launch::async, [&] { return bed.train(1, 2); });
  const auto chief = well(bed.train(0, 2));
  CHECK(well(other.get()).reason == "done");
  CHECK(saved_value(directory.path(), static_cast<int>(chief.step)) == static_cast<float>(2 * chief.step));
  CHECK(chief.evaluation.at(0).second == static_cast<double>(2 * chief.step));
}

TEST_CASE("ps training: a worker with another number of replicas doesn't join values that each replica has") {
  Bed bed(growing(1000000, "", R"("synchronization": "on_read", "aggregation": "sum")"), 2, 1);
  bed.connect_timeout = std::chrono::milliseconds(500);
  const auto interrupts = std::make_shared<train::Interrupts>();
  auto chief = std::async(std::launch::async, [&] { return bed.train(0, 2, interrupts); });
  const auto other = bed.train(1, 3);
  REQUIRE_FALSE(other);
  CHECK(other.error().message.find("not for the 3 replicas of worker:1") != std::string::npos);
  interrupts->ask_stop();
  CHECK(well(chief.get()).reason == "interrupted");
}

TEST_CASE("ps training: epochs are steps: all elements, so many times, over the replicas") {
  const auto parse = [](const std::string& train) {
    const std::string document = R"({"v": 1, "variables": {},
      "datasets": {"d": [{"tensor_slices": {"fields": {"x": [1.5, 2, 3, 4, 5, 6]}}}]},
      "functions": {"f": {"module": "f.mlir", "inputs": [{"dataset": "d", "field": "x"}], "outputs": [{"metric": "loss"}]}},
      "train": )" + train + "}";
    return program::parse_program(
               document, "test.json", "/",
               [](const std::string&) -> Result<std::string> {
                 return std::string("module { func.func public @main(%x: tensor<f32>) -> tensor<f32> { } }");
               },
               {})
        .value();
  };
  const auto steps_of = [&](const std::string& train, int elements_per_step) {
    return train::epochs_as_steps(parse(train), {.elements_per_step = elements_per_step}).value();
  };
  const std::string five = R"({"function": "f", "epochs": 5})";
  CHECK(steps_of(five, 1).program.train->steps == 30);
  CHECK(steps_of(five, 1).elements == 30);
  CHECK(steps_of(five, 3).program.train->steps == 10);
  CHECK(steps_of(five, 4).program.train->steps == 8);  // the rest makes a step, too
  CHECK(steps_of(five, 4).elements == 30);
  CHECK(steps_of(five, 64).program.train->steps == 1);
  CHECK(steps_of(R"({"function": "f", "steps": 5})", 1).program.train->steps == 5);
  CHECK(steps_of(R"({"function": "f", "steps": 5})", 1).elements == 0);
  CHECK(train::elements_of_step(6, 30, 4) == 4);
  CHECK(train::elements_of_step(7, 30, 4) == 2);
  CHECK(train::elements_of_step(8, 30, 4) == 1);  // by workers that go beyond
}

/// Gradients of rows of a table, those of the element's numbers.
Parts rows(const std::string& train) {
  return {R"({"v": 1,
    "variables": {"table": {"shape": [6, 2], "init": {"zeros": {}}, "partitioner": {"fixed_shards": {"num_shards": 2}}}},
    "optimizer": {"sgd": {"learning_rate": 1.0}},
    "datasets": {"ids": [{"tensor_slices": {"fields": {"i": [0, 5]}}}, {"repeat": {}}, {"batch": {"size": 1}}]},
    "functions": {"step": {"module": "step.mlir", "inputs": [{"lookup": "table", "ids": {"dataset": "ids", "field": "i"}}],
                           "outputs": [{"gradient": "table", "ids": {"dataset": "ids", "field": "i"}}]},
                  "eval": {"module": "eval.mlir", "inputs": [{"lookup": "table", "ids": {"dataset": "ids", "field": "i"}}],
                           "outputs": [{"metric": "sum"}]}},
    "train": )" +
              train + "}",
          {{"step.mlir", "(%x: tensor<1x2xf32>) -> tensor<1x2xf32>"},
           {"eval.mlir", "(%x: tensor<1x2xf32>) -> tensor<f32>"}},
          {{"step.mlir",
            [](const Tensors& in) -> Result<Tensors> {
              Tensor out = Tensor::uninitialized(DType::kF32, in[0].shape());
              std::fill_n(out.mutable_as<float>(), 2, -1.0F);
              return Tensors{out};
            }},
           {"eval.mlir", [](const Tensors& in) -> Result<Tensors> {
              return Tensors{number(in[0].as<float>()[0] + in[0].as<float>()[1])};
            }}}};
}

std::vector<float> all(const Tensor& value) { return {value.as<float>().begin(), value.as<float>().end()}; }

TEST_CASE("ps training: rows that replicas look up and update are one update, their mean") {
  Bed bed(rows(R"({"function": "step", "steps": 3})"), 1, 2);
  CHECK(well(bed.train(0, 2)).step == 3);
  // Replica 0 has row 0, replica 1 row 5; each is half of the mean.
  CHECK(all(bed.read("table")) == std::vector<float>{1.5, 1.5, 0, 0, 0, 0, 0, 0, 0, 0, 1.5, 1.5});
}

TEST_CASE("ps training: lookups work in this process, and in evaluations of what was saved") {
  const Directory directory;
  const std::string train = fmt::format(
      R"({{"function": "step", "steps": 4, "evaluate": {{"function": "eval", "steps": 2, "every": 100}}, "checkpoint": {{"dir": "{}",
        "keep_best": {{"metric": "sum", "mode": "max"}}}}}})",
      directory.path());
  Bed bed(rows(train), 1, 2);
  const auto summary = well(bed.train_locally(1));
  CHECK(summary.step == 4);
  CHECK(summary.evaluation.back() ==
        std::pair<std::string, double>("sum", 4.0));  // rows 0 and 5: two steps each, of two
  CHECK(variable::load_latest_checkpoint(directory.path() + "/best", nullptr).value()->step == 4);
}

TEST_CASE("ps training: a number that is no row is an error, not the end of the data") {
  Parts parts = rows(R"({"function": "step", "steps": 5})");
  const auto at = parts.document.find("[0, 5]");
  parts.document.replace(at, 6, "[0, 6]");
  Bed bed(std::move(parts), 1, 2);
  for (const auto& result : {bed.train_locally(2), bed.train(0, 2)}) {
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Code::kInvalidArgument);
    CHECK(result.error().message.find("6") != std::string::npos);
  }
}

TEST_CASE("ps training: a number of the module's own that is no row is an error too, whatever the training's end") {
  for (const std::int32_t bad : {-1, 6}) {
    Parts parts{R"({"v": 1,
      "variables": {"table": {"shape": [6, 2], "init": {"zeros": {}}}},
      "optimizer": {"sgd": {"learning_rate": 1.0}},
      "datasets": {"ids": [{"tensor_slices": {"fields": {"i": [0, 5]}}}, {"batch": {"size": 1}}]},
      "functions": {"step": {"module": "step.mlir", "inputs": [{"dataset": "ids", "field": "i"}],
                             "outputs": [{"gradient": "table", "part": "indices"}, {"gradient": "table", "part": "values"}]}},
      "train": {"function": "step", "epochs": 1}})",
                {{"step.mlir", "(%i: tensor<1xi32>) -> (tensor<1xi32>, tensor<1x2xf32>)"}},
                {{"step.mlir", [bad](const Tensors&) -> Result<Tensors> {
                    Tensor index = Tensor::uninitialized(DType::kS32, {1});
                    index.mutable_as<std::int32_t>()[0] = bad;
                    Tensor rows = Tensor::uninitialized(DType::kF32, {1, 2});
                    std::fill_n(rows.mutable_as<float>(), 2, -1.0F);
                    return Tensors{index, rows};
                  }}}};
    Bed bed(std::move(parts), 1, 1);
    for (const auto& result : {bed.train_locally(1), bed.train(0, 1)}) {
      REQUIRE_FALSE(result);
      CHECK(result.error().code == Code::kInvalidArgument);
      CHECK(result.error().message.find(fmt::format("no row {}", bad)) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tfd::strategy::test
