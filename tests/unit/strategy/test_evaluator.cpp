// SPDX-License-Identifier: Apache-2.0
//
// An evaluator's order: every checkpoint that is still there when its turn comes.
#include <doctest/doctest.h>

#include <filesystem>

#include "bed.hpp"
#include "tfd/strategy/evaluator.hpp"

namespace tfd::strategy {
namespace {

using test::Directory;

void save(const std::string& directory, std::int64_t step) {
  const auto value = tensor::Tensor::scalar(tensor::DType::kS64, step);
  REQUIRE(variable::save_checkpoint(directory, {step, {{"w", value}}, {}}, 0));
}

/// The evaluated checkpoints, by step; `during` is called meanwhile.
struct Following {
  program::Program program;
  std::vector<std::int64_t> evaluated;
  std::vector<std::string> said;
  std::function<void(std::int64_t step)> during = [](std::int64_t) {};
  train::TrainOptions options;

  Following(const std::string& directory, std::int64_t steps) {
    program::TrainDef train;
    train.steps = steps;
    train.evaluate = program::EvaluateDef{};
    train.checkpoint = program::CheckpointDef{};
    train.checkpoint->directory = directory;
    program.train = train;
    options.interrupts = std::make_shared<train::Interrupts>();
    options.say = [this](const std::string& line) { said.push_back(line); };
  }
  /// The messages about others than the evaluated ones.
  std::vector<std::string> passed_over() const {
    std::vector<std::string> out;
    for (const std::string& line : said)
      if (!line.starts_with("evaluating ")) out.push_back(line);
    return out;
  }
  train::TrainSummary run() {
    FollowJob job;
    job.evaluate = [this](const variable::Checkpoint& checkpoint) -> Result<train::Metrics> {
      evaluated.push_back(checkpoint.step);
      during(checkpoint.step);
      return train::Metrics{{"w", static_cast<double>(checkpoint.step)}};
    };
    auto summary = follow_checkpoints(program, job, options);
    if (!summary) FAIL(summary.error().message);
    return *summary;
  }
};

TEST_CASE("evaluator: every checkpoint is evaluated in its order, also those that come while it is busy") {
  const Directory directory;
  for (const std::int64_t step : {30, 10, 20}) save(directory.path(), step);
  Following following(directory.path(), 50);
  following.during = [&](std::int64_t step) {
    if (step == 20) save(directory.path(), 40);
    if (step == 30) save(directory.path(), 50);
  };
  const auto summary = following.run();
  CHECK(summary.reason == "done");
  CHECK(summary.step == 50);
  CHECK(following.evaluated == std::vector<std::int64_t>{10, 20, 30, 40, 50});
  CHECK(following.passed_over().empty());
}

TEST_CASE("evaluator: one that was removed before its turn is passed over, and said") {
  const Directory directory;
  for (const std::int64_t step : {10, 20, 30}) save(directory.path(), step);
  Following following(directory.path(), 30);
  following.during = [&](std::int64_t step) {
    if (step == 10) std::filesystem::remove(directory.path() + "/step-00000020.safetensors");
  };
  CHECK(following.run().step == 30);
  CHECK(following.evaluated == std::vector<std::int64_t>{10, 30});
  REQUIRE(following.passed_over().size() == 1);
  CHECK(following.passed_over()[0].ends_with(
      "step-00000020.safetensors was removed before its turn (train.checkpoint.keep): not evaluated"));
}

TEST_CASE("evaluator: one that is listed but isn't there is passed over once") {
  const Directory directory;
  for (const std::int64_t step : {10, 20, 30}) save(directory.path(), step);
  std::filesystem::remove(directory.path() + "/step-00000020.safetensors");
  std::filesystem::create_symlink("nowhere", directory.path() + "/step-00000020.safetensors");
  Following following(directory.path(), 30);
  CHECK(following.run().step == 30);
  CHECK(following.evaluated == std::vector<std::int64_t>{10, 30});
  CHECK(following.passed_over().size() == 1);
}

TEST_CASE("evaluator: each that is evaluated is named") {
  const Directory directory;
  for (const std::int64_t step : {10, 20}) save(directory.path(), step);
  Following following(directory.path(), 20);
  following.run();
  REQUIRE(following.said.size() == 2);
  CHECK(following.said[1] == "evaluating " + directory.path() + "/step-00000020.safetensors");
}

TEST_CASE("evaluator: where another run begins in the directory, its checkpoints are evaluated from its first one on") {
  const Directory directory;
  const auto save_of = [&](const std::string& run, std::int64_t step) {
    const auto value = tensor::Tensor::scalar(tensor::DType::kS64, step);
    REQUIRE(variable::save_checkpoint(directory.path(), {step, {{"w", value}}, {}, run}, 0));
  };
  for (const std::int64_t step : {30, 40}) save_of("a", step);
  Following following(directory.path(), 50);
  following.during = [&](std::int64_t step) {
    if (step == 40) save_of("b", 10);
    if (step == 10) save_of("b", 50);
  };
  CHECK(following.run().step == 50);
  CHECK(following.evaluated == std::vector<std::int64_t>{30, 40, 10, 50});
}

TEST_CASE("evaluator: a checkpoint of another program is an error, not an evaluation of something else") {
  const Directory directory;
  save(directory.path(), 10);
  Following following(directory.path(), 10);
  following.program.variables.push_back({.name = "v", .spec = {}});
  FollowJob job;
  job.evaluate = [](const variable::Checkpoint&) -> Result<train::Metrics> { return train::Metrics{}; };
  const auto summary = follow_checkpoints(following.program, job, following.options);
  REQUIRE_FALSE(summary);
  CHECK(summary.error().code == Code::kInvalidArgument);
  CHECK(summary.error().message.ends_with(
      "/step-00000010.safetensors has no variable 'v': it belongs to another program"));
}

TEST_CASE("evaluator: interrupted between two checkpoints it evaluates no more of them") {
  const Directory directory;
  for (const std::int64_t step : {10, 20, 30}) save(directory.path(), step);
  Following following(directory.path(), 30);
  following.during = [&](std::int64_t) { following.options.interrupts->ask_stop(); };
  const auto summary = following.run();
  CHECK(summary.reason == "interrupted");
  CHECK(summary.step == 10);
  CHECK(following.evaluated == std::vector<std::int64_t>{10});
}

}  // namespace
}  // namespace tfd::strategy
