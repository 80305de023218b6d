// SPDX-License-Identifier: Apache-2.0
//
// The loop of all strategies, over a driver that only counts: it makes several steps at once, as one does whose devices
// don't come back to the host in between.
#include "tfd/train/train_loop.hpp"

#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <thread>

#include "bed.hpp"
#include "slow_disk.hpp"
#include "tfd/base/file.hpp"
#include "tfd/base/text.hpp"

namespace tfd::train::test {
namespace {

using namespace strategy::test;

using Strings = std::vector<std::string>;
using Steps = std::vector<std::int64_t>;

/// "w" is the number of steps. Every step's loss is its number, unless the test says another one; an evaluation says
/// what the test says.
struct CountingDriver final : StepDriver {
  TrainRole its_role = {};
  std::int64_t chunk = 4;                 // steps at once, where nothing is in the way
  std::int64_t others = 0;                // steps that others make in the time of one chunk
  std::int64_t data = 1'000'000;          // steps that there are data for
  std::optional<StartResult> found = {};  // what others train already
  std::function<Result<void>(std::int64_t step)> on_step = [](std::int64_t) { return Result<void>(); };
  std::function<double(std::int64_t step)> loss = [](std::int64_t at) { return static_cast<double>(at - 1); };
  std::function<double(std::int64_t step)> metric = [](std::int64_t at) { return static_cast<double>(at); };
  std::vector<WorkerEvent> news = {};
  std::optional<std::int64_t> settled = {};
  bool are_slow = true;  // the others, at their last steps

  Strings calls = {};
  std::vector<json> shown = {};
  std::int64_t step = 0;
  float w = 0;
  bool stopped = false;
  int wakes = 0;
  std::optional<StepTime> time = {};

  TrainRole role() const override { return its_role; }
  Result<StartResult> begin(const TrainStart& from) override {
    calls.push_back(fmt::format("begin {}{}", from.step, from.is_over ? " over" : ""));
    step = from.step;
    if (from.state != nullptr) (void)import_state(*from.state);
    if (found) step = found->step;
    return found.value_or(StartResult{.step = from.step});
  }
  void describe(JsonLine& start) const override { start.add("replicas", 1); }
  void show(const std::string& standing) override { shown.push_back(json::parse(standing)); }

  Result<AdvanceResult> advance(StepControl& control) override {
    calls.push_back(fmt::format("advance {}", control.until()));
    for (;;) {
      if (stopped || step >= control.until() || control.ask() != LoopRequest::kContinue)
        return AdvanceResult{.step = step, .stopped = stopped};
      if (step >= data) return AdvanceResult{.step = step, .end_of_data = Error{Code::kOutOfRange, "no more", {}}};
      const std::int64_t until = std::min({control.until(), control.next_log(), step + chunk, data});
      step::MetricAccumulator sum;
      StepCount done{.count = std::max<std::int64_t>(until - step, 1)};
      for (std::int64_t i = 0; i < done.count; ++i, ++step, ++w) {
        sum.add({{.name = "loss", .value = loss(step + 1)}});
        if (const auto stepped = on_step(step + 1); !stepped) return fail(stepped.error());
      }
      step += others;
      done.step = step;
      done.metrics = sum.parts();
      if (const auto counted = control.count(done); !counted) return fail(counted.error());
    }
  }
  void wake() override { ++wakes; }
  std::optional<StepTime> step_time() const override { return time; }
  Result<void> tell_news(StepControl& control) override {
    for (const WorkerEvent& one : std::exchange(news, {}))
      if (const auto told = control.worker_changed(one); !told) return told;
    return {};
  }
  Result<EvaluationResult> evaluate(const variable::Checkpoint* of) override {
    calls.push_back(fmt::format("evaluate{}", of != nullptr ? fmt::format(" state {}", of->step) : ""));
    return EvaluationResult{step, {{"x", metric(step)}}};
  }
  Result<variable::Checkpoint> export_state() override {
    calls.push_back(fmt::format("export {}", step));
    return variable::Checkpoint{step, {{"w", number(w)}}, {}};
  }
  Result<void> import_state(const variable::Checkpoint& state) override {
    for (const auto& [name, value] : state.state)
      if (name == "w") w = number(value);
    return {};
  }
  Result<void> use_averages() override {
    calls.emplace_back("averages");
    w /= 2;
    return {};
  }
  Result<void> stop_others() override {
    calls.emplace_back("stop_others");
    return {};
  }
  Result<std::optional<std::int64_t>> settle(bool interrupted, const std::function<Result<void>()>& save) override {
    calls.push_back(interrupted ? "settle interrupted" : "settle");
    if (are_slow)
      if (const auto saved = save(); !saved) return fail(saved.error());
    if (settled) step = *settled;
    return settled;
  }
  Result<void> end() override {
    calls.emplace_back("end");
    return {};
  }
};

/// One run of a training whose checkpoints are in a directory of its own, or in that of another one.
struct Run {
  CountingDriver driver;
  program::Program program;
  TrainOptions options;
  std::vector<json> events;
  Strings said, logged;

  explicit Run(const std::string& train, const std::string& optimizer = R"({"sgd": {"learning_rate": 1.0}})") {
    const std::string document = R"({"v": 1, "variables": {"w": {"shape": [], "init": {"zeros": {}}}}, "optimizer": )" +
                                 optimizer + R"(,
      "datasets": {"once": [{"tensor_slices": {"fields": {"x": [0.5]}}}]},
      "functions": {"step": {"module": "step.mlir", "inputs": [{"dataset": "once", "field": "x"}], "outputs": [{"metric": "loss"}, {"gradient": "w"}]},
                    "eval": {"module": "f.mlir", "inputs": [{"dataset": "once", "field": "x"}], "outputs": [{"metric": "x"}]}},
      "train": {"function": "step", "log_every": 10, )" +
                                 train + "}}";
    const auto read = [](const std::string& path) -> Result<std::string> {
      const std::string_view results = path == "step.mlir" ? "(tensor<f32>, tensor<f32>)" : "tensor<f32>";
      return fmt::format("module {{ func.func public @main(%x: tensor<f32>) -> {} {{ }} }}", results);
    };
    auto parsed = program::parse_program(document, "test.json", "/", read, {});
    if (!parsed) FAIL(parsed.error().message);
    program = std::move(*parsed);
    options.interrupts = std::make_shared<Interrupts>();
    options.write_event = [this](std::string_view line) -> Result<void> {
      events.push_back(json::parse(line));
      return {};
    };
    options.say = [this](const std::string& line) { said.push_back(line); };
    options.log =
        Log("strategy", [this](LogLevel, std::string_view, std::string_view text) { logged.emplace_back(text); });
  }
  Run(const Run&) = delete;

  /// Runs the action at that step, once.
  void at(std::int64_t step, const std::function<void()>& action) {
    driver.on_step = [step, action](std::int64_t now) -> Result<void> {
      if (now == step) action();
      return {};
    };
  }
  Result<TrainSummary> run() { return run_train_loop(program, driver, options); }
  TrainSummary run_well() { return well(run()); }
  Steps steps_of(const std::string& event) const {
    Steps out;
    for (const json& one : events)
      if (one["event"] == event) out.push_back(one["step"]);
    return out;
  }
  const json& last() const { return events.back(); }
  std::int64_t calls(const std::string& name) const { return std::ranges::count(driver.calls, name); }
};

std::string saving(const Directory& directory, const std::string& rest = "") {
  return fmt::format(R"("checkpoint": {{"dir": "{}"{}}})", directory.path(), rest);
}

float saved(const Directory& directory, std::int64_t step) {
  const auto checkpoint = variable::load_checkpoint(fmt::format("{}/step-{:08}.safetensors", directory.path(), step));
  if (!checkpoint) FAIL(checkpoint.error().message);
  return number(checkpoint->state.at(0).second);
}

TEST_CASE("train loop: comes back at every boundary, logs between them, saves before it evaluates") {
  const Directory directory;
  Run run(R"("steps": 45, "evaluate": {"function": "eval", "every": 40}, )" + saving(directory, R"(, "every": 20)"));
  run.driver.chunk = 7;
  const auto summary = run.run_well();
  CHECK(summary.reason == "done");
  CHECK(summary.step == 45);
  CHECK(summary.checkpoint == directory.path() + "/step-00000045.safetensors");
  CHECK(run.driver.calls == Strings{"begin 0", "advance 20", "export 20", "advance 40", "export 40", "evaluate",
                                    "advance 45", "export 45", "evaluate", "end"});
  CHECK(run.steps_of("step") == Steps{10, 20, 30, 40, 45});
  CHECK(run.steps_of("eval") == Steps{40, 45});
  for (const json& event : run.events)  // of exactly the steps since the last one
    if (event["event"] == "step")
      CHECK(event["metrics"]["loss"] == (event["step"] == 45 ? 42.0 : event["step"].get<double>() - 5.5));
  CHECK(run.events.front()["replicas"] == 1);
  CHECK(run.last()["reason"] == "done");
  CHECK(run.last()["metrics"] == json{{"loss", 42.0}});
  CHECK(run.last()["eval"] == json{{"x", 45.0}});
}

TEST_CASE(
    "train loop: where it is can be seen from outside: at its beginning, and when it has saved the last checkpoint") {
  const Directory directory;
  Run run(R"("steps": 45, )" + saving(directory, R"(, "every": 20)"));
  run.run_well();
  REQUIRE(run.driver.shown.size() >= 2);
  CHECK(run.driver.shown.front()["steps"] == 45);
  CHECK(run.driver.shown.front()["metrics"] == json::object());  // nothing is printed yet
  const json& last = run.driver.shown.back();
  CHECK(last["step"] == 45);
  CHECK(last["metrics"] == json{{"loss", 42.0}});  // of the steps 41 to 45
  CHECK(last["checkpoint"] == directory.path() + "/step-00000045.safetensors");
  for (const json& one : run.driver.shown) CHECK(one.value("steps_per_second", 1.0) > 0);
}

TEST_CASE("train loop: a loss that is not finite ends it, and the checkpoint before stays the newest") {
  const Directory directory;
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Run run(R"("steps": 45, )" + saving(directory, R"(, "every": 10)"));
    run.options.start_over = true;
    run.driver.chunk = 1;
    run.driver.loss = [bad](std::int64_t step) { return step < 24 ? 1 : bad; };
    const auto summary = run.run();
    REQUIRE_FALSE(summary);
    CHECK(summary.error().code == Code::kInternal);
    CHECK(summary.error().message ==
          fmt::format("metric 'loss' is {} at step 24 (train.on_nonfinite=continue goes on with it); the same command "
                      "without --start-over continues from {}/step-00000020.safetensors (step 20)",
                      std::isnan(bad) ? "NaN" : "infinite", directory.path()));
    CHECK(run.steps_of("checkpoint") == Steps{10, 20});
    CHECK(run.last()["reason"] == "error");
    CHECK(run.last()["nonfinite"] == json{{"metric", "loss"}, {"step", 24}});
    CHECK(run.logged.empty());
  }
}

TEST_CASE("train loop: a loss that is not finite is a warning where the program says so, and other metrics are") {
  const auto is_one_warning = [](const Run& run) {
    return run.logged == Strings{"metric 'loss' is NaN at step 3: the training goes on"};
  };
  const auto diverges = [](std::int64_t step) { return step < 3 ? 1 : std::numeric_limits<double>::quiet_NaN(); };
  for (const auto& [train, optimizer] : {std::pair(R"("steps": 5, "on_nonfinite": "continue")", R"({"sgd": {}})"),
                                         std::pair(R"("steps": 5)", R"({"sgd": {"on_nonfinite": "continue"}})")}) {
    Run run(train, optimizer);
    run.driver.chunk = 1;
    run.driver.loss = diverges;
    CHECK(run.run_well().reason == "done");
    CHECK(is_one_warning(run));
  }
  Run skips(R"("steps": 5)", R"({"sgd": {"on_nonfinite": "skip"}})");
  skips.driver.loss = diverges;
  CHECK(skips.run_well().reason == "done");
  CHECK(skips.logged.empty());
  Run stops(R"("steps": 5, "on_nonfinite": "stop")", R"({"sgd": {"on_nonfinite": "skip"}})");
  stops.driver.loss = diverges;
  CHECK_FALSE(stops.run());
  Run evaluates(R"("steps": 5, "evaluate": {"function": "eval"})");  // its only metric is no loss by name
  evaluates.driver.metric = [](std::int64_t) { return std::numeric_limits<double>::infinity(); };
  const auto evaluated = evaluates.run();
  REQUIRE_FALSE(evaluated);
  CHECK(evaluated.error().message.starts_with("evaluation: metric 'x' is infinite at step 5 ("));
}

TEST_CASE("train loop: a variable that is not finite is not saved, and ends the training") {
  const Directory directory;
  const auto trains = [&](std::int64_t at, const std::string& more) {
    Run run(R"("steps": 45, )" + more + saving(directory, R"(, "every": 10)"));
    run.options.start_over = true;
    run.driver.chunk = 1;
    run.at(at, [&] { run.driver.w = std::numeric_limits<float>::quiet_NaN(); });
    auto summary = run.run();
    return std::pair(summary ? std::string() : summary.error().message, run.steps_of("checkpoint"));
  };
  const auto [during, saved_before] = trains(20, "");
  CHECK(during.starts_with("variable 'w' is not finite after step 20: it was not saved; the same command"));
  CHECK(during.ends_with("step-00000010.safetensors (step 10)"));
  CHECK(saved_before == Steps{10});
  CHECK(std::filesystem::exists(directory.path() + "/step-00000010.safetensors"));
  CHECK_FALSE(std::filesystem::exists(directory.path() + "/step-00000020.safetensors"));
  CHECK(trains(45, "").first.starts_with("variable 'w' is not finite after step 45: it was not saved"));
  const auto [none, all] = trains(20, R"("on_nonfinite": "continue", )");
  CHECK(none.empty());
  CHECK(all == Steps{10, 20, 30, 40, 45});
}

TEST_CASE("train loop: with several replicas a line says what each takes of a batch") {
  const auto said = [](const std::string& train, int replicas, bool of_each = false) {
    Run run(R"("steps": 1)" + train);
    run.program.datasets["once"] = *data::parse_plan(
        nlohmann::ordered_json::parse(R"([{"range": 100}, {"batch": {"size": 50, "drop_remainder": true}}])"));
    run.program.dataset_specs["once"] = {{.name = "x", .dtype = tensor::DType::kS64, .shape = {50}}};
    run.driver.found = StartResult{.step = 0, .replicas = replicas, .of_each_worker = of_each};
    run.run_well();
    REQUIRE(!run.said.empty());
    CHECK(run.said.front().starts_with("nothing will be saved"));
    return Strings(run.said.begin() + 1, run.said.end());
  };
  CHECK(said("", 1).empty());
  CHECK(said("", 2) == Strings{"2 replicas take a batch of 50 each, 100 a step, so an epoch has half the steps; "
                               "train.replicas=split shares it"});
  CHECK(said("", 4) == Strings{"4 replicas take a batch of 50 each, 200 a step, so an epoch has 1/4 of the steps; "
                               "train.replicas=split shares it"});
  CHECK(said(R"(, "replicas": "each")", 2, true) ==
        Strings{"2 replicas of each worker take a batch of 50 each, 100 a step"});
  CHECK(said(R"(, "replicas": "split")", 2) == Strings{"2 replicas share batches of 50: 25 each"});
  CHECK(said(R"(, "replicas": "split")", 4) == Strings{"4 replicas share batches of 50: 12 or 13 each"});
}

TEST_CASE("train loop: every epoch ends with an event, which has its metrics, evaluation and learning rate") {
  Run run(
      R"("steps": 20, "evaluate": {"function": "eval", "every": "epoch"})",
      R"({"sgd": {"learning_rate": {"exponential_decay": {"initial_learning_rate": 1.0, "decay_steps": 10, "decay_rate": 0.5}}}})");
  run.options.epochs = 3;
  run.driver.chunk = 5;
  run.run_well();
  CHECK(run.steps_of("eval") == Steps{7, 14, 20});
  CHECK(run.steps_of("epoch") == Steps{7, 14, 20});
  std::vector<json> epochs;
  std::ranges::copy_if(run.events, std::back_inserter(epochs), [](const json& one) { return one["event"] == "epoch"; });
  CHECK(epochs[0]["epoch"] == 1);
  CHECK(epochs[0]["epochs"] == 3);
  CHECK(epochs[0]["metrics"] == json{{"loss", 3.0}});   // of the losses 0 to 6
  CHECK(epochs[1]["metrics"] == json{{"loss", 10.0}});  // 7 to 13
  CHECK(epochs[1]["eval"] == json{{"x", 14.0}});
  CHECK(epochs[2]["epoch"] == 3);
  CHECK(epochs[2]["metrics"] == json{{"loss", 16.5}});
  CHECK(epochs[1]["learning_rate"] == run.program.rules->learning_rate_at(13));
  CHECK(run.last()["event"] == "end");

  Run without(R"("steps": 20)");
  without.run_well();
  CHECK(without.steps_of("epoch").empty());
}

TEST_CASE("train loop: a training that continues reports the epochs that end from then on") {
  const Directory directory;
  const std::string train = R"("steps": 20, )" + saving(directory, R"(, "every": 5)");
  Run first(train);
  first.options.epochs = 4;
  first.driver.chunk = 1;
  first.at(12, [&] { first.options.interrupts->ask_stop(); });
  CHECK(first.run_well().reason == "interrupted");
  CHECK(first.steps_of("epoch") == Steps{5, 10});
  Run second(train);
  second.options.epochs = 4;
  CHECK(second.run_well().reason == "done");
  CHECK(second.steps_of("epoch") == Steps{15, 20});
}

TEST_CASE("train loop: step events state the learning rate of their last step") {
  Run run(
      R"("steps": 20)",
      R"({"sgd": {"learning_rate": {"exponential_decay": {"initial_learning_rate": 1.0, "decay_steps": 10, "decay_rate": 0.5}}}})");
  CHECK(run.run_well().reason == "done");
  for (const json& event : run.events)
    if (event["event"] == "step")
      CHECK(event["learning_rate"] == run.program.rules->learning_rate_at(event["step"].get<std::int64_t>() - 1));
}

TEST_CASE("train loop: once says that one replica would be faster, if it would by far") {
  using std::chrono::microseconds;
  Run run(R"("steps": 30)");
  run.driver.time = StepTime{2, microseconds(4000), microseconds(200)};
  run.run_well();
  const std::string line = "2 replicas are slower than one would be: a step takes 4 ms, 0.2 ms of it computing";
  CHECK(std::ranges::count(run.said, line) == 1);
  std::vector<json> stated;
  for (const json& event : run.events)
    if (event.contains("slower_than_one")) stated.push_back(event);
  REQUIRE(stated.size() == 1);
  CHECK(stated[0]["event"] == "step");
  CHECK(stated[0]["slower_than_one"] == json{{"replicas", 2}, {"step_ms", 4.0}, {"computing_ms", 0.2}});

  Run other(R"("steps": 30)");
  other.driver.time = StepTime{2, microseconds(300), microseconds(200)};
  other.run_well();
  CHECK(std::ranges::count(other.said, line) == 0);
  for (const json& event : other.events) CHECK_FALSE(event.contains("slower_than_one"));
}

TEST_CASE("train loop: settings and events are kept beside the checkpoints, of every process that trains there") {
  const Directory directory;
  const auto read = [&](const std::string& name) { return load_file(directory.path() + "/" + name).value(); };
  const auto events_in = [&] {
    std::vector<json> out;
    for (const std::string& line : split(read("events.jsonl"), '\n'))
      if (!line.empty()) out.push_back(json::parse(line));
    return out;
  };
  const std::string train = R"("steps": 30, )" + saving(directory);
  Run first(train);
  first.options.settings = R"({"overrides":["train.steps=30"],"seed":7})";
  first.at(16, [&] { first.options.interrupts->ask_stop(); });
  const std::int64_t interrupted_at = first.run_well().step;
  const json settings = json::parse(read("settings-0001.json"));
  CHECK(settings["v"] == 1);
  CHECK(settings["attempt"] == 1);
  CHECK(settings["step"] == 0);
  CHECK(settings["program"] == "test.json");
  CHECK(settings["overrides"] == json{"train.steps=30"});
  CHECK(settings["seed"] == 7);
  CHECK(settings["replicas"] == 1);
  CHECK(settings["run"].get<std::string>().size() > 4);
  CHECK(events_in() == first.events);

  Run second(train);
  second.run_well();
  const json again = json::parse(read("settings-0002.json"));
  CHECK(again["run"] == settings["run"]);
  CHECK(again["attempt"] == 2);
  CHECK(again["step"] == interrupted_at);
  CHECK(events_in().size() == first.events.size() + second.events.size());

  Run over(train);
  over.options.start_over = true;
  over.run_well();
  CHECK(json::parse(read("settings-0001.json"))["run"] != settings["run"]);
  CHECK_FALSE(std::filesystem::exists(directory.path() + "/settings-0002.json"));
  CHECK(events_in() == over.events);
}

TEST_CASE("train loop: rates are of the steps after the first one, which waits for compilers") {
  Run run(R"("steps": 10)");
  run.driver.chunk = 1;
  run.at(1, [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); });  // a compiler
  run.run_well();
  const json& step = run.events.at(1);
  REQUIRE(step["step"] == 10);
  // It would be ten steps in all that time, or fewer, with the first one.
  CHECK(step["rates"]["steps_per_second"].get<double>() * run.last()["seconds"].get<double>() > 10);
}

TEST_CASE("train loop: what is counted at once, after a wait, isn't the rate of the training") {
  Run run(R"("steps": 30)");
  run.driver.chunk = 1;
  run.at(11, [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); });  // others end meanwhile
  run.run_well();
  CHECK(run.steps_of("step") == Steps{10, 20, 30});
  for (const json& event : run.events)
    if (event["event"] == "step" && event["step"] > 10) CHECK(event["rates"]["steps_per_second"].get<double>() <= 100);
}

TEST_CASE("train loop: asked for a checkpoint it writes one at the step that it has come to, and goes on") {
  const Directory directory;
  Run run(R"("steps": 30, )" + saving(directory));
  run.at(6, [&] { run.options.interrupts->ask_checkpoint(); });
  CHECK(run.run_well().reason == "done");
  CHECK(run.steps_of("checkpoint") == Steps{8, 30});
  CHECK(saved(directory, 8) == 8);
  CHECK(run.driver.wakes == 1);
  Run none(R"("steps": 30)");
  none.at(6, [&] { none.options.interrupts->ask_checkpoint(); });
  CHECK(none.run_well().reason == "done");
  CHECK(none.logged == Strings{"asked for a checkpoint, but the program has no train.checkpoint"});
}

TEST_CASE("train loop: checkpoints by time are taken between steps") {
  const Directory directory;
  Run run(R"("steps": 12, )" + saving(directory, R"(, "every": "1ns", "keep": 0)"));
  CHECK(run.run_well().reason == "done");
  CHECK(run.steps_of("checkpoint") == Steps{4, 8, 10, 12});  // however short, steps are made between two of them
}

TEST_CASE("train loop: max_time ends it, and it may go on later") {
  const Directory directory;
  Run run(R"("max_time": "20ms", )" + saving(directory), R"({"sgd": {"learning_rate": 1.0, "use_ema": true}})");
  const auto summary = run.run_well();
  CHECK(summary.reason == "max_time");
  CHECK(run.calls("averages") == 0);
  CHECK(saved(directory, summary.step) == static_cast<float>(summary.step));
  Run again(fmt::format(R"("steps": {}, )", summary.step + 5) + saving(directory));
  CHECK(again.run_well().first_step == summary.step);
}

TEST_CASE("train loop: interrupted it saves where it is and evaluates no more; the next run goes on from there") {
  const Directory directory;
  const std::string train =
      R"("steps": 40, "evaluate": {"function": "eval", "every": 10}, "stop": {"metric": "x", "patience": 9}, )" +
      saving(directory);
  {
    Run run(train);
    run.at(10, [&] { run.options.interrupts->ask_stop(); });
    const auto summary = run.run_well();
    CHECK(summary.reason == "interrupted");
    CHECK(run.driver.calls == Strings{"begin 0", "advance 10", "export 10", "end"});
  }
  Run again(train);
  const auto summary = again.run_well();
  CHECK(summary.reason == "done");
  CHECK(summary.first_step == 10);
  CHECK(again.said == Strings{"saving to " + directory.path() + " every 5m, and at the end",
                              "resuming from " + directory.path() + "/step-00000010.safetensors"});
  CHECK(again.driver.w == 40);
  CHECK(again.steps_of("eval") == Steps{10, 20, 30, 40});  // that which was due is made up for
  CHECK(again.events.front()["resumed_from"] == directory.path() + "/step-00000010.safetensors");
}

TEST_CASE("train loop: stops early, and ends with the variables of the best evaluation") {
  const Directory directory;
  const std::string train =
      R"("evaluate": {"function": "eval", "every": 5}, "stop": {"metric": "x", "patience": 3, "restore_best": true}, )" +
      saving(directory, R"(, "keep_best": {"metric": "x"})");
  Run run(train, R"({"sgd": {"learning_rate": 1.0, "use_ema": true}})");
  run.driver.metric = [](std::int64_t step) { return step == 10 ? 0.0 : 1.0; };
  const auto summary = run.run_well();
  CHECK(summary.reason == "stopped");
  CHECK(summary.step == 25);
  CHECK(run.last()["restored_step"] == 10);
  CHECK(run.last()["eval"]["x"] == 0.0);
  CHECK(run.driver.w == 10);
  CHECK(saved(directory, 25) == 10);
  CHECK(variable::list_checkpoints(directory.path() + "/best").value().at(0).first == 10);
  CHECK(run.calls("stop_others") == 1);
  CHECK(run.calls("averages") == 0);  // the best was one of the values themselves
  Run again(train);
  CHECK(again.run_well().reason == "nothing_left");
  CHECK(again.said[0] == "already stopped at step 25, after 3 evaluations without a better x");
}

TEST_CASE("train loop: one that ends by its steps has the best variables too, where they are asked for") {
  const Directory directory;
  Run run(
      R"("steps": 12, "evaluate": {"function": "eval", "every": 5}, "stop": {"metric": "x", "patience": 9, "restore_best": true}, )" +
      saving(directory));
  CHECK(run.run_well().reason == "done");
  CHECK(run.last()["restored_step"] == 5);
  CHECK(saved(directory, 12) == 5);
}

TEST_CASE("train loop: at the end the variables are their averages, and these are saved and evaluated") {
  const Directory directory;
  Run run(R"("steps": 20, "evaluate": {"function": "eval", "every": 20}, )" + saving(directory, R"(, "every": 20)"),
          R"({"sgd": {"learning_rate": 1.0, "use_ema": true}})");
  CHECK(run.run_well().reason == "done");
  CHECK(run.driver.calls == Strings{"begin 0", "advance 20", "averages", "export 20", "evaluate", "end"});
  CHECK(saved(directory, 20) == 10);
}

TEST_CASE("train loop: where nothing is left nobody is asked, but for the metrics of the end") {
  const Directory directory;
  Run(R"("steps": 20, )" + saving(directory)).run_well();
  Run nothing(R"("steps": 20, )" + saving(directory));
  const auto summary = nothing.run_well();
  CHECK(summary.reason == "nothing_left");
  CHECK(summary.step == 20);
  CHECK(nothing.driver.calls.empty());
  CHECK(nothing.said == Strings{"already at step 20 of 20"});
  CHECK(nothing.events.size() == 1);
  CHECK(nothing.last()["reason"] == "nothing_left");
  Run evaluates(R"("steps": 20, "evaluate": {"function": "eval"}, )" + saving(directory));
  CHECK(evaluates.run_well().reason == "nothing_left");
  CHECK(evaluates.driver.calls == Strings{"begin 20 over", "evaluate", "end"});
  CHECK(evaluates.last()["eval"]["x"] == 20.0);
  Run fewer(R"("steps": 10, )" + saving(directory));
  CHECK(fewer.run_well().step == 20);
}

TEST_CASE("train loop: what can't begin is found before anybody is asked") {
  const auto refused = [](Run& run) {
    const auto result = run.run();
    REQUIRE_FALSE(result);
    CHECK(run.driver.calls.empty());
    CHECK(run.events.empty());
    return result.error();
  };
  const Directory directory;
  Run(R"("steps": 10, )" + saving(directory)).run_well();
  Run again(R"("steps": 20, )" + saving(directory, R"(, "resume": false)"));
  CHECK(refused(again).code == Code::kInvalidArgument);
  Run over(R"("steps": 5, )" + saving(directory));  // where nothing is left, too
  over.program.variables.push_back({.name = "v", .spec = {}});
  CHECK(refused(over).message.ends_with(
      "/step-00000010.safetensors has no variable 'v': it belongs to another program; --start-over moves it aside"));
  const std::string file = directory.path() + "/file";
  REQUIRE(save_file(file, "in the way"));
  Run in_the_way(R"("steps": 5, "checkpoint": {"dir": ")" + file + "\"}");
  CHECK(refused(in_the_way).message.starts_with("train.checkpoint.dir: checkpoints can't be written to " + file));
}

TEST_CASE("train loop: a checkpoint that is named gives the values that a new training begins with") {
  const Directory named, directory;
  Run(R"("steps": 10, )" + saving(named)).run_well();
  Run run(R"("steps": 5, )" + saving(directory));
  run.options.checkpoint = named.path();
  CHECK(run.run_well().first_step == 0);
  CHECK(run.events.front()["started_from"] == named.path() + "/step-00000010.safetensors");
  CHECK(saved(directory, 5) == 15);
  Run ignores(R"("steps": 8, )" + saving(directory));
  ignores.options.checkpoint = named.path();
  CHECK(ignores.run_well().first_step == 5);
  CHECK(ignores.said[0] == fmt::format("--checkpoint {} is ignored: the training continues", named.path()));
}

TEST_CASE("train loop: an error in the middle says what to continue from, after all that happened before it") {
  const Directory directory;
  Run run(R"("steps": 100, )" + saving(directory, R"(, "every": 10)"));
  run.driver.on_step = [&](std::int64_t step) -> Result<void> {
    if (step != 24) return {};
    run.driver.news.push_back({"worker:1", true, "no answer"});
    return fail(Error{Code::kUnavailable, "ps:0 is gone", "ps:0"});
  };
  const auto result = run.run();
  REQUIRE_FALSE(result);
  CHECK(result.error().message ==
        fmt::format("ps:0 is gone; once it serves again, the same command continues from {}/step-00000020.safetensors "
                    "(step 20)",
                    directory.path()));
  CHECK(run.events[run.events.size() - 2]["event"] == "worker");
  CHECK(run.last()["reason"] == "error");
  CHECK(run.last()["error"]["task"] == "ps:0");
  CHECK(run.last()["step"] == 20);
  CHECK(run.calls("end") == 0);
  Run none(R"("steps": 100)");
  none.driver.on_step = [](std::int64_t) -> Result<void> { return fail(Error{Code::kUnavailable, "gone", "ps:0"}); };
  CHECK(none.run().error().message == "gone; there is no checkpoint to continue from");
}

TEST_CASE("train loop: the end of the data is an end, and an error where steps were promised") {
  const Directory directory;
  Run run(saving(directory));
  run.driver.data = 13;
  CHECK(run.run_well().reason == "end_of_data");
  Run again(saving(directory));
  CHECK(again.run_well().reason == "nothing_left");
  CHECK(again.said == Strings{"already at step 13, where the data ended"});
  Run promised(R"("steps": 20, )" + saving(directory));
  promised.driver.data = 15;
  const auto result = promised.run();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kOutOfRange);
  CHECK(result.error().message ==
        fmt::format("the data ended at step 15 of 20 (no more): repeat the dataset, or lower train.steps; the trained "
                    "weights are in {}/step-00000015.safetensors",
                    directory.path()));
}

TEST_CASE(
    "train loop: a checkpoint that can't be written is tried again at the next boundary, and an error at the end") {
  const Directory directory;
  Run run(R"("steps": 25, )" + saving(directory, R"(, "every": 10)"));
  run.driver.chunk = 1;
  run.at(5, [&] {
    std::filesystem::remove_all(directory.path());
    REQUIRE(save_file(directory.path(), "in the way"));
  });
  const auto result = run.run();
  REQUIRE_FALSE(result);
  CHECK(result.error().message.starts_with("the last checkpoint could not be written; "));
  CHECK(run.logged.size() == 3);
}

TEST_CASE("train loop: steps go on while a checkpoint is written, and it is told once it is on disk") {
  const Directory directory;
  SlowDisk disk;
  Run run(R"("steps": 30, )" + saving(directory, R"(, "every": 10)"));
  run.driver.chunk = 1;
  run.driver.on_step = [&](std::int64_t step) -> Result<void> {
    if (step == 1) disk.hold();
    if (step != 15) return {};
    disk.await_somebody();
    CHECK(run.calls("export 10") == 1);
    CHECK(run.steps_of("checkpoint").empty());
    CHECK(variable::list_checkpoints(directory.path()).value().empty());
    disk.let_go();
    return {};
  };
  CHECK(run.run_well().reason == "done");
  CHECK(run.steps_of("checkpoint") == Steps{10, 20, 30});
  CHECK(saved(directory, 10) == 10);
  CHECK(run.last()["event"] == "end");
}

TEST_CASE("train loop: a second checkpoint waits for the first, which is said, and so does the end") {
  const Directory directory;
  SlowDisk disk;
  Run run(R"("steps": 20, )" + saving(directory, R"(, "every": 10)"));
  run.at(1, [&] { disk.hold(); });
  run.options.say = [&](const std::string& line) {
    if (line.starts_with("saving to ")) return;
    run.said.push_back(line);
    CHECK(run.driver.calls.back() == "advance 20");  // the next state isn't taken yet
    disk.let_go();
  };
  CHECK(run.run_well().reason == "done");
  CHECK(run.said == Strings{"waiting until the checkpoint of step 10 is on disk"});
  CHECK(run.steps_of("checkpoint") == Steps{10, 20});
  CHECK(run.last()["event"] == "end");
}

TEST_CASE("train loop: a second training in the directory is refused before it begins, unless it takes the directory") {
  const Directory directory;
  const std::string train = R"("steps": 20, )" + saving(directory, R"(, "every": 10)");
  Run first(train);
  first.at(5, [&] {
    Run second(train);
    const auto refused = run_train_loop(second.program, second.driver, second.options);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kPermissionDenied);
    CHECK(second.driver.calls.empty());
    CHECK(second.events.empty());
  });
  CHECK(first.run_well().reason == "done");
  Run evicted(R"("steps": 40, )" + saving(directory, R"(, "every": 10)"));
  evicted.at(25, [&] {
    Run third(R"("steps": 30, )" + saving(directory));
    third.options.take_directory = true;
    CHECK(third.run_well().reason == "done");
  });
  const auto ended = run_train_loop(evicted.program, evicted.driver, evicted.options);
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::kAborted);
}

TEST_CASE("train loop: one that begins again, or takes the place of a lost chief, isn't refused") {
  const Directory directory;
  const std::string train = R"("steps": 20, )" + saving(directory, R"(, "every": 10)");
  Run first(train);
  first.at(5, [&] {
    Run next(train);
    next.options.takes_over = true;
    CHECK(next.run_well().reason == "done");
  });
  CHECK(run_train_loop(first.program, first.driver, first.options).error().code == Code::kAborted);
}

TEST_CASE("train loop: a checkpoint that fails while steps go on is said, and the next one is written") {
  const Directory directory;
  Run run(R"("steps": 30, )" + saving(directory, R"(, "every": 10)"));
  const std::string aside = directory.path() + ".aside";
  const std::filesystem::path path = directory.path();
  run.driver.chunk = 1;
  run.at(5, [&] {
    std::filesystem::rename(path, aside);
    REQUIRE(save_file(path, "in the way"));
  });
  run.options.log = Log("strategy", [&](LogLevel, std::string_view, std::string_view text) {
    run.logged.emplace_back(text);
    std::filesystem::remove(path);
    std::filesystem::rename(aside, path);
  });
  CHECK(run.run_well().reason == "done");
  CHECK(run.logged.size() == 1);
  CHECK(run.logged[0].starts_with("cannot write a checkpoint of step 10: "));
  CHECK(run.steps_of("checkpoint") == Steps{20, 30});
}

TEST_CASE("train loop: an adopted run goes on at its own step, and saves what nobody has saved yet") {
  const Directory directory;
  const std::string train = R"("steps": 30, )" + saving(directory, R"(, "every": 10)");
  Run run(train);
  run.driver.found = StartResult{.step = 17, .adopted = true};
  const auto summary = run.run_well();
  CHECK(summary.reason == "done");
  CHECK(summary.first_step == 17);
  CHECK(run.driver.calls == Strings{"begin 0", "advance 20", "export 20", "advance 30", "export 30", "end"});
  CHECK(run.events.front()["adopted"] == true);
  CHECK_FALSE(run.events.front().contains("resumed_from"));
  // Its coordinator died between the last step and the last checkpoint.
  const Directory other;
  Run over(R"("steps": 30, )" + saving(other, ""));
  over.driver.found = StartResult{.step = 30, .adopted = true};
  CHECK(over.run_well().reason == "done");
  CHECK(over.driver.calls == Strings{"begin 0", "export 30", "end"});
}

TEST_CASE("train loop: who neither saves nor evaluates trains until the steps are made, or the chief ends it") {
  const Directory directory;
  const std::string train =
      R"("steps": 30, "evaluate": {"function": "eval", "every": 10}, )" + saving(directory, R"(, "every": 10)");
  const auto as_worker = [](Run& run) {
    run.driver.its_role = {.task = "worker:1", .chief = "worker:0", .evaluates = false, .has_others = true};
    run.driver.found = StartResult{.step = 4, .joined = true};
  };
  Run run(train);
  as_worker(run);
  run.at(6, [&] { run.options.interrupts->ask_checkpoint(); });
  const auto summary = run.run_well();
  CHECK(summary.reason == "done");
  CHECK(summary.first_step == 4);
  CHECK(run.driver.calls == Strings{"begin 0", "advance 30", "end"});
  CHECK(run.logged == Strings{"asked for a checkpoint: only worker:0 saves them"});
  CHECK(run.events.front()["joined"] == true);
  CHECK(run.last()["updates"] == 26);
  Run stopped(train);
  as_worker(stopped);
  stopped.at(12, [&] { stopped.driver.stopped = true; });
  CHECK(stopped.run_well().reason == "stopped");
  Run late(train);
  as_worker(late);
  late.driver.found->step = 30;
  CHECK(late.run_well().reason == "nothing_left");
  CHECK(late.driver.calls == Strings{"begin 0", "end"});
  Run lost(train);
  as_worker(lost);
  lost.driver.on_step = [](std::int64_t) -> Result<void> { return fail(Error{Code::kUnavailable, "gone", "ps:0"}); };
  CHECK(lost.run().error().message ==
        "gone; once it serves again, the same command joins worker:0, which continues from its newest checkpoint");
}

TEST_CASE("train loop: with others it saves and evaluates where it passes a boundary, and waits for them at its end") {
  const Directory directory;
  Run run(R"("steps": 30, "evaluate": {"function": "eval", "every": 10}, )" +
          saving(directory, R"(, "every": 10, "keep_best": {"metric": "x", "mode": "max"})"));
  run.driver.its_role = {.task = "worker:0", .has_others = true};
  run.driver.others = 3;
  run.driver.settled = 40;
  const auto summary = run.run_well();
  CHECK(summary.step == 40);
  CHECK(run.steps_of("eval") == Steps{13, 20, 40});
  CHECK(run.steps_of("checkpoint") == Steps{13, 13, 20, 20, 33, 40, 40});  // that of the best after each evaluation
  CHECK(run.calls("evaluate state 13") == 1);                              // the kept state is the evaluated one
  const auto last = std::ranges::find(run.driver.calls, "settle");
  REQUIRE(last != run.driver.calls.end());
  CHECK(*std::next(last) == "export 33");  // whatever becomes of the waiting
  CHECK(run.last()["updates"] == 18);
}

TEST_CASE("train loop: what was saved while others ended is saved again when they have, be it of the same step") {
  const Directory directory;
  for (const bool are_slow : {false, true}) {
    Run run(R"("steps": 30, )" + saving(directory));
    run.driver.its_role = {.task = "worker:0", .has_others = true};
    run.options.start_over = true;
    run.driver.are_slow = are_slow;
    run.driver.settled = 30;
    CHECK(run.run_well().step == 30);
    CHECK(run.steps_of("checkpoint") == (are_slow ? Steps{30, 30} : Steps{30}));
  }
}

TEST_CASE("train loop: interrupted beside others it leaves them the variables, unless they left too") {
  const Directory directory;
  for (const bool alone : {false, true}) {
    Run run(R"("steps": 1000, )" + saving(directory));
    run.driver.its_role = {.task = "worker:0", .has_others = true};
    run.options.start_over = true;
    if (alone) run.driver.settled = 20;
    run.at(10, [&] { run.options.interrupts->ask_stop(); });
    const auto summary = run.run_well();
    CHECK(summary.reason == "interrupted");
    CHECK(run.steps_of("checkpoint") == (alone ? Steps{10, 20} : Steps{10}));
    CHECK(run.calls("settle interrupted") == 1);
  }
}

TEST_CASE("train loop: where an epoch takes fewer steps than were stated, these are the end") {
  Run run(R"("steps": 30)");
  run.driver.found = StartResult{.step = 0, .steps = 10};
  const auto summary = run.run_well();
  CHECK(summary.step == 10);
  CHECK(summary.steps == 10);
}

}  // namespace
}  // namespace tfd::train::test
