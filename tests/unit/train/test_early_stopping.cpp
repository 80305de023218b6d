// SPDX-License-Identifier: Apache-2.0
//
// The state of train.stop outlives the process, and fits the checkpoint that a run goes on from.
#include <doctest/doctest.h>

#include <filesystem>

#include "bed.hpp"
#include "early_stopping.hpp"
#include "tfd/base/file.hpp"

namespace tfd::train {
namespace {

using strategy::test::Directory;

program::TrainDef stopping(const std::string& directory, std::int64_t patience = 3) {
  program::TrainDef train;
  program::StopDef stop;
  stop.by = program::BestDef{"loss", false};
  stop.patience = patience;
  stop.restore_best = true;
  train.stop = stop;
  train.checkpoint = program::CheckpointDef{};
  train.checkpoint->directory = directory;
  return train;
}

variable::Checkpoint state_at(std::int64_t step) {
  return {step, {{"w", tensor::Tensor::scalar(tensor::DType::kS64, step)}}, {}};
}

/// An evaluation at this step; whether its state was asked for.
bool evaluate(EarlyStopping& stopping, std::int64_t step, double loss) {
  bool asked = false;
  REQUIRE(stopping.observe(step, {{"loss", loss}}, [&]() -> Result<variable::Checkpoint> {
    asked = true;
    return state_at(step);
  }));
  return asked;
}

std::int64_t value_of(const variable::Checkpoint& checkpoint) {
  return checkpoint.state[0].second.as<std::int64_t>()[0];
}

std::vector<std::int64_t> states_in(const std::string& directory) {
  std::vector<std::int64_t> out;
  const auto there = variable::list_checkpoints(directory + "/stop");
  for (const auto& [step, path] : there.value()) out.push_back(step);
  return out;
}

TEST_CASE("early stopping: the state is taken only where it is the best") {
  const Directory directory;
  EarlyStopping early(stopping(directory.path()), {});
  CHECK(evaluate(early, 10, 0.5));
  CHECK_FALSE(evaluate(early, 20, 0.6));
  CHECK(evaluate(early, 30, 0.4));
  CHECK(early.best_step() == 30);
  auto plain = stopping(directory.path());
  plain.stop->restore_best = false;
  EarlyStopping never(plain, {});
  CHECK_FALSE(never.needs_state());
  CHECK_FALSE(evaluate(never, 10, 0.5));
}

TEST_CASE("early stopping: a run that goes on stops when the uninterrupted one would have, and has its best") {
  const Directory directory;
  const auto train = stopping(directory.path());
  {
    EarlyStopping early(train, {});
    evaluate(early, 10, 0.5);
    REQUIRE(variable::save_checkpoint(directory.path(), state_at(20), 3));
    evaluate(early, 20, 0.6);
  }
  EarlyStopping again(train, {});
  again.resume(20);
  CHECK(again.seen_step() == 20);
  evaluate(again, 30, 0.7);
  CHECK_FALSE(again.is_over());
  evaluate(again, 40, 0.55);  // no better than that of the earlier run
  CHECK(again.is_over());
  CHECK(again.best_step() == 10);
  CHECK(value_of(again.load_best().value()) == 10);
  CHECK(again.best_metrics() == Metrics{{"loss", 0.5}});
}

TEST_CASE("early stopping: evaluations after the checkpoint that a run goes on from don't count") {
  const Directory directory;
  const auto train = stopping(directory.path());
  {
    EarlyStopping early(train, {});
    evaluate(early, 10, 0.5);
    REQUIRE(variable::save_checkpoint(directory.path(), state_at(10), 3));
    evaluate(early, 20, 0.1);  // better, but killed before the next checkpoint
    evaluate(early, 30, 0.2);
  }
  EarlyStopping again(train, {});
  again.resume(10);
  CHECK(again.seen_step() == 10);
  CHECK(again.best_step() == 10);
  CHECK(value_of(again.load_best().value()) == 10);  // not that of step 20 in its place
  CHECK(evaluate(again, 20, 0.3));
  CHECK(again.best_step() == 20);
}

TEST_CASE("early stopping: for every checkpoint there is how things stood then, and no more states than that") {
  const Directory directory;
  const auto train = stopping(directory.path(), 100);
  EarlyStopping early(train, {});
  for (std::int64_t step = 10; step <= 100; step += 10) {
    REQUIRE(variable::save_checkpoint(directory.path(), state_at(step), 2));
    evaluate(early, step, 1.0 / static_cast<double>(step));
  }
  CHECK(states_in(directory.path()) == std::vector<std::int64_t>{90, 100});
  EarlyStopping older(train, {});
  older.resume(90);  // the newest one couldn't be read
  CHECK(older.best_step() == 90);
  CHECK(value_of(older.load_best().value()) == 90);
}

TEST_CASE("early stopping: another rule, a fresh start or a state that is gone begin anew; more patience doesn't") {
  const Directory directory;
  const auto train = stopping(directory.path(), 1);
  {
    EarlyStopping early(train, {});
    evaluate(early, 10, 0.5);
    evaluate(early, 20, 0.6);
    CHECK(early.is_over());
  }
  const auto knows = [&](const program::TrainDef& with, std::int64_t step) {
    EarlyStopping early(with, {});
    early.resume(step);
    return early.seen_step().has_value();
  };
  CHECK(knows(train, 20));
  CHECK(knows(stopping(directory.path(), 5), 20));
  auto other = train;
  other.stop->min_delta = 0.1;
  CHECK_FALSE(knows(other, 20));
  other = train;
  other.stop->by.higher = true;
  CHECK_FALSE(knows(other, 20));
  CHECK_FALSE(knows(train, 0));
  CHECK_FALSE(EarlyStopping(train, {}).seen_step());
  std::filesystem::remove_all(directory.path() + "/stop");
  CHECK_FALSE(knows(train, 20));
}

TEST_CASE("early stopping: where training begins anew, nothing of an earlier run is left for the next one") {
  const Directory directory;
  const auto train = stopping(directory.path());
  EarlyStopping earlier(train, {});
  evaluate(earlier, 10, 0.5);
  EarlyStopping(train, {}).begin_anew();  // and is killed before its first evaluation
  EarlyStopping next(train, {});
  next.resume(10);
  CHECK_FALSE(next.seen_step());
}

TEST_CASE("early stopping: where training begins anew, no state of an earlier run is taken for one of the next") {
  const Directory directory;
  const auto train = stopping(directory.path());
  EarlyStopping earlier(train, {});
  evaluate(earlier, 10, 0.5);
  REQUIRE(states_in(directory.path()) == std::vector<std::int64_t>{10});
  EarlyStopping(train, {}).begin_anew();
  CHECK(states_in(directory.path()).empty());
}

TEST_CASE(
    "early stopping: a best state that couldn't be written is written with the next evaluation, and named only then") {
  const Directory directory;
  const auto train = stopping(directory.path());
  const std::string states = directory.path() + "/stop";
  EarlyStopping early(train, {});
  REQUIRE(save_file(states, "no directory"));
  evaluate(early, 10, 0.5);
  evaluate(early, 20, 0.6);
  CHECK_FALSE(std::filesystem::exists(directory.path() + "/stop.json"));
  std::filesystem::remove(states);
  evaluate(early, 30, 0.7);
  EarlyStopping again(train, {});
  again.resume(30);
  CHECK(again.best_step() == 10);
  CHECK(value_of(again.load_best().value()) == 10);
}

TEST_CASE("early stopping: a record of NaN only, and one that is no record") {
  const Directory directory;
  const auto train = stopping(directory.path(), 2);
  {
    EarlyStopping early(train, {});
    evaluate(early, 10, std::nan(""));
  }
  EarlyStopping again(train, {});
  again.resume(10);
  CHECK(again.seen_step() == 10);
  CHECK_FALSE(again.best_step());
  evaluate(again, 20, std::nan(""));
  CHECK(again.is_over());
  for (const char* const text : {"", "[]", "{\"v\": 2}", "{\"v\": 1, \"rule\": 3, \"evaluations\": {}}"}) {
    std::filesystem::path path = directory.path() + "/stop.json";
    std::FILE* file = std::fopen(path.c_str(), "w");
    REQUIRE(file != nullptr);
    std::fputs(text, file);
    std::fclose(file);
    EarlyStopping none(train, {});
    none.resume(10);
    CHECK_FALSE(none.seen_step());
  }
}

TEST_CASE("early stopping: what is better is as Keras has it: by min_delta, not NaN, higher where the name says so") {
  Best loss({"loss", false}, 0.1);
  CHECK(loss.observe({{"loss", 1.0}}));
  CHECK_FALSE(loss.observe({{"loss", 0.95}}));
  CHECK_FALSE(loss.observe({{"loss", std::nan("")}}));
  CHECK(loss.since() == 2);
  CHECK_FALSE(loss.observe({{"other", 0.0}}));
  CHECK(loss.since() == 2);
  CHECK(loss.observe({{"loss", 0.8}}));
  CHECK(loss.since() == 0);
  Best accuracy({"accuracy", true});
  CHECK(accuracy.observe({{"accuracy", 0.5}}));
  CHECK_FALSE(accuracy.observe({{"accuracy", 0.5}}));
  CHECK(accuracy.observe({{"accuracy", 0.6}}));
}

}  // namespace
}  // namespace tfd::train
