// SPDX-License-Identifier: Apache-2.0
//
// The training loop on a cluster: steps, events, evaluation, checkpoints, interrupts, and the state after a failure.
// Behavior that is the same for all drivers: tests/unit/strategy/test_train_loop.cpp.
#include "training.hpp"

#include <atomic>
#include <future>
#include <thread>
#include <utility>

using namespace tfd;
using namespace tfd::bed;
using namespace tfd::coordinator;
using nlohmann::json;

TEST_CASE("trainer: runs exactly the steps, and reports each interval by exactly its own") {
  Bed bed;
  Training training(bed, {"train.steps=45"});
  const auto summary = training.run_well();
  CHECK(summary.reason == "done");
  CHECK(summary.step == 45);
  CHECK(training.of("start").size() == 1);
  CHECK(training.of("start")[0]["steps"] == 45);
  const auto steps = training.of("step");
  REQUIRE(steps.size() == 5);  // 10, 20, 30, 40 and the rest
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(steps[i]["step"] == 10 * (i + 1));
    CHECK(steps[i]["metrics"]["loss"] == 10.0 * static_cast<double>(i) + 4.5);  // the loss is the step's number
    CHECK(steps[i]["rates"]["steps_per_second"] > 0);
  }
  CHECK(steps[4]["step"] == 45);
  CHECK(steps[4]["metrics"]["loss"] == 42.0);
  const auto end = training.of("end");
  REQUIRE(end.size() == 1);
  CHECK(end[0]["reason"] == "done");
  CHECK(end[0]["step"] == 45);
  CHECK(end[0]["metrics"]["loss"] == 42.0);
  CHECK(training.events.back() == end[0]);
}

TEST_CASE("trainer: evaluates between steps and at the end, and the end has the metrics of each") {
  Bed bed;
  Training training(bed, {"train.steps=45", "train.evaluate={\"function\": \"eval\", \"every\": 20}"});
  training.run_well();
  const auto evaluations = training.of("eval");
  REQUIRE(evaluations.size() == 3);
  CHECK(evaluations[0]["step"] == 20);
  CHECK(evaluations[1]["step"] == 40);
  CHECK(evaluations[2]["step"] == 45);
  CHECK(evaluations[0]["metrics"]["mean_x"] == 4.5);
  CHECK(training.of("end")[0]["metrics"] == json{{"loss", 42.0}});
  CHECK(training.of("end")[0]["eval"] == json{{"mean_x", 4.5}});
}

TEST_CASE("trainer: checkpoints are of their step exactly, and the next run continues from the newest") {
  TemporaryDirectory directory;
  Bed bed;
  auto overrides = checkpointing(directory.path(), 20);
  {
    overrides.push_back("train.steps=45");
    Training training(bed, overrides);
    const auto summary = training.run_well();
    const auto saved = training.of("checkpoint");
    REQUIRE(saved.size() == 3);
    CHECK(saved[0]["step"] == 20);
    CHECK(saved[1]["step"] == 40);
    CHECK(saved[2]["step"] == 45);
    CHECK(saved[2]["path"] == summary.checkpoint);
    const auto first = variable::load_checkpoint(saved[0]["path"]);
    REQUIRE(first);
    for (const auto& [name, value] : first->state)
      if (name == "v" || name == "n") CHECK(number(value) == 20);
  }
  overrides.back() = "train.steps=60";
  {
    Training training(bed, overrides);
    const auto summary = training.run_well();
    CHECK(summary.first_step == 45);
    CHECK(summary.step == 60);
    CHECK(training.of("start")[0]["step"] == 45);
    CHECK(training.of("start")[0]["resumed_from"].get<std::string>().ends_with("step-00000045.safetensors"));
    CHECK(training.of("step")[0]["step"] == 50);
    CHECK(training.of("step")[0]["metrics"]["loss"] == 47.0);  // steps 45 to 49
    CHECK(value_in(directory.path(), "v") == 60);
  }
  Training nothing(bed, overrides);
  std::string said;
  nothing.options.say = [&](const std::string& line) { said = line; };
  CHECK(nothing.run_well().reason == "nothing_left");
  CHECK(said == "already at step 60 of 60");
  CHECK(nothing.of("end").size() == 1);
}

TEST_CASE("trainer: asked for a checkpoint it writes one and goes on; asked to stop it writes one and ends") {
  TemporaryDirectory directory;
  Bed bed;
  Training training(bed, [&] {
    auto overrides = checkpointing(directory.path(), 1000000);
    overrides.push_back("train.steps=900000");
    return overrides;
  }());
  training.on_event = [&](const json& event) {
    if (event["event"] == "step" && event["step"] == 50) training.options.interrupts->ask_checkpoint();
    if (event["event"] == "checkpoint" && training.of("checkpoint").size() == 1)
      training.options.interrupts->ask_stop();
  };
  const auto summary = training.run_well();
  CHECK(summary.reason == "interrupted");
  CHECK(training.of("end")[0]["reason"] == "interrupted");
  const auto saved = training.of("checkpoint");
  REQUIRE(saved.size() >= 1);
  CHECK(saved[0]["step"] >= 50);
  CHECK(saved.back()["step"] == summary.step);
  CHECK(value_in(directory.path(), "v") == summary.step);
  CHECK(value_in(directory.path(), "n") == summary.step);
}

TEST_CASE("trainer: max_time ends it") {
  Bed bed;
  Training training(bed, {"train.steps=900000000", "train.max_time=100ms"});
  const auto summary = training.run_well();
  CHECK(summary.reason == "max_time");
  CHECK(summary.step > 0);
}

TEST_CASE("trainer: the end of data is an end, and an error where steps were promised") {
  Bed bed(1);
  const auto program = make_program({"train={\"function\": \"data_step\"}"});
  Training training(bed, {"train={\"function\": \"data_step\"}"});
  const auto summary = training.run_well();
  CHECK(summary.reason == "end_of_data");
  CHECK(summary.step == 10);
  Training promised(bed, {"train={\"function\": \"data_step\", \"steps\": 12}"});
  const auto result = promised.run();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kOutOfRange);
  CHECK(result.error().message.starts_with("the data ended at step 10 of 12"));
  CHECK(promised.of("end")[0]["reason"] == "error");
  CHECK(promised.of("end")[0]["error"]["code"] == "OUT_OF_RANGE");
}

TEST_CASE("trainer: an epoch is one pass in all, however many workers make it") {
  Bed bed(2);
  Training training(bed, {"train={\"function\": \"data_step\", \"epochs\": 3}"});
  auto steps = epochs_as_steps(std::move(training.program));
  if (!steps) FAIL(steps.error().message);
  training.program = std::move(steps->program);
  CHECK(steps->elements == 30);
  CHECK(training.program.train->steps == 30);
  CHECK(training.run_well().step == 30);
}

TEST_CASE("trainer: workers killed in the middle cost no step and double none") {
  TemporaryDirectory directory;
  Bed bed(3);
  auto overrides = checkpointing(directory.path(), 100);
  overrides.push_back("train.steps=400");
  Training training(bed, overrides);
  training.on_event = [&](const json& event) {
    if (event["event"] != "step") return;
    const int step = event["step"];
    if (step == 50 || step == 250) bed.kill("worker:1");
    if (step == 150) bed.kill("worker:2");
    if (step == 200) bed.start("worker:1");
  };
  const auto summary = training.run_well();
  CHECK(summary.step == 400);
  CHECK(value_in(directory.path(), "v") == 400);
  CHECK(value_in(directory.path(), "n") == 400);
  std::vector<std::string> changes;
  for (const json& event : training.of("worker"))
    changes.push_back(event["task"].get<std::string>() + " " + event["state"].get<std::string>());
  CHECK(std::ranges::count(changes, "worker:2 lost") == 1);
  CHECK(std::ranges::count(changes, "worker:1 lost") >= 1);
  const auto steps = training.of("step");
  REQUIRE(steps.size() == 40);
  for (std::size_t i = 0; i < steps.size(); ++i)
    CHECK(steps[i]["metrics"]["loss"] == 10.0 * static_cast<double>(i) + 4.5);
}

TEST_CASE("trainer: a lost parameter server ends it with the checkpoint to continue from, and the next run continues") {
  TemporaryDirectory directory;
  Bed bed;
  auto overrides = checkpointing(directory.path(), 20);
  overrides.push_back("train.steps=100000");
  {
    Training training(bed, overrides);
    training.kill_at_checkpoint({"ps:1"});
    const auto result = training.run();
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Code::kUnavailable);
    CHECK(result.error().task == "ps:1");
    CHECK(result.error().message.find("step-00000") != std::string::npos);
    CHECK(training.of("end")[0]["error"]["task"] == "ps:1");
  }
  bed.start("ps:1");
  const auto latest = variable::load_latest_checkpoint(directory.path(), nullptr);
  const auto step = (*latest)->step;
  overrides.back() = "train.steps=" + std::to_string(step + 20);
  Training again(bed, overrides);
  CHECK(again.run_well().first_step == step);
  CHECK(value_in(directory.path(), "n") == step + 20);
}

TEST_CASE("trainer: stops within its grace also when the workers don't answer") {
  TemporaryDirectory directory;
  Bed bed(1);
  auto overrides = checkpointing(directory.path(), 10);
  overrides.push_back("train.steps=100");
  Training training(bed, overrides);
  training.options.grace = 200ms;
  training.on_event = [&](const json& event) {
    if (event["event"] != "checkpoint") return;
    bed.gate.close();
    training.options.interrupts->ask_stop();
  };
  const auto result = training.run();
  // Steps go on while a checkpoint is written: those that were scheduled by then may be answered, or not.
  if (!result) {
    CHECK(result.error().code == Code::kDeadlineExceeded);
    CHECK(result.error().message.find("step-000000") != std::string::npos);
  } else {
    CHECK(result->reason == "interrupted");
    CHECK(result->step >= 10);
    CHECK(value_in(directory.path(), "v") == result->step);
  }
}

// The bed's program has the same "mean_x" in every evaluation, and "v" counts the steps.
TEST_CASE("trainer: an interrupted run stops at the same step with the same best as one that wasn't") {
  Bed bed;
  const auto overrides = [](const TemporaryDirectory& directory) {
    return std::vector<std::string>{R"(train.evaluate={"function": "eval", "every": 5})",
                                    R"(train.stop={"metric": "mean_x", "patience": 4, "restore_best": true})",
                                    R"(train.checkpoint={"dir": ")" + directory.path() + R"(", "every": 7})"};
  };
  TemporaryDirectory directory;
  for (const int at : {10, 15}) {  // the best was at 5
    Training training(bed, overrides(directory));
    training.on_event = [&](const json& event) {
      if (event["event"] == "eval" && event["step"] == at) training.options.interrupts->ask_stop();
    };
    CHECK(training.run_well().reason == "interrupted");
  }
  Training last(bed, overrides(directory));
  const auto summary = last.run_well();
  CHECK(summary.reason == "stopped");
  CHECK(summary.step == 25);
  CHECK(last.of("end")[0]["restored_step"] == 5);
  CHECK(value_in(directory.path(), "v") == 5);
  for (const json& event : last.of("eval")) CHECK(event["step"] > 15);  // none is judged twice
}

TEST_CASE("trainer: asked to stop while all workers are away it writes a checkpoint and ends") {
  TemporaryDirectory directory;
  Bed bed;
  auto overrides = checkpointing(directory.path(), 1000000);
  overrides.push_back("train.steps=900000");
  Training training(bed, overrides);
  // Nobody is told of the loss of a worker that was never ready.
  constexpr std::uint16_t kRun = 4;
  std::atomic<bool> has_run = false;
  bed.takes = [&](const std::string& task, std::uint16_t kind, const transport::Responder&) {
    if (task == "worker:1" && kind == kRun) has_run = true;
    return false;
  };
  int lost = 0;
  bool is_killed = false;
  training.on_event = [&](const json& event) {
    if (event["event"] == "step" && event["step"] >= 50 && has_run && !std::exchange(is_killed, true)) {
      bed.kill("worker:0");
      bed.kill("worker:1");
    }
    if (event["event"] == "worker" && event["state"] == "lost" && ++lost == 2) training.options.interrupts->ask_stop();
  };
  const auto summary = training.run_well();
  CHECK(summary.reason == "interrupted");
  CHECK(summary.step >= 50);
  REQUIRE(training.of("checkpoint").size() == 1);
  CHECK(training.of("checkpoint")[0]["step"] == summary.step);
  // Four steps of each worker may have reached a parameter server without an answer.
  CHECK(value_in(directory.path(), "v") >= summary.step);
  CHECK(value_in(directory.path(), "v") <= summary.step + 8);
}

TEST_CASE("trainer: asked to stop while an evaluation has no workers it ends too, with a checkpoint") {
  TemporaryDirectory directory;
  Bed bed;
  auto overrides = checkpointing(directory.path(), 10);
  overrides.push_back("train.steps=900000");
  overrides.push_back(R"(train.evaluate={"function": "eval", "every": 10})");
  overrides.push_back("train.log_every=10");
  Training training(bed, overrides);
  std::atomic<bool> stopped = false;
  training.on_event = [&](const json& event) {
    if (event["event"] != "step" || event["step"] != 20 || stopped.exchange(true)) return;
    bed.kill("worker:0");
    bed.kill("worker:1");
  };
  std::jthread asks([&] {
    while (!stopped) std::this_thread::yield();
    training.options.interrupts->ask_stop();
  });
  const auto summary = training.run_well();
  CHECK(summary.reason == "interrupted");
  CHECK(summary.step == 20);
  CHECK(training.of("checkpoint").back()["step"] == 20);
}
