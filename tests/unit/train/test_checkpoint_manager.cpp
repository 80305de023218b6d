// SPDX-License-Identifier: Apache-2.0
//
// The checkpoint that a training continues from, its run, and the files that starting over leaves.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "bed.hpp"
#include "tfd/base/file.hpp"
#include "tfd/strategy/ps_run.hpp"
#include "tfd/tensor/safetensors.hpp"
#include "tfd/train/checkpoint_manager.hpp"

namespace tfd::train {
namespace {

namespace fs = std::filesystem;
using strategy::test::Directory;

/// A training of one variable, "w", and its messages.
struct Training {
  program::Program program;
  TrainOptions options;
  std::vector<std::string> said, warned;
  std::unique_ptr<CheckpointManager> checkpoints;

  explicit Training(const std::string& directory, bool resume = true) {
    program.path = "p.json";
    program.variables.push_back({.name = "w", .spec = {tensor::DType::kS64, {}}});
    program.train = program::TrainDef{};
    program.train->checkpoint = program::CheckpointDef{};
    program.train->checkpoint->directory = directory;
    program.train->checkpoint->resume = resume;
    options.say = [this](const std::string& line) { said.push_back(line); };
    options.log =
        Log("strategy", [this](LogLevel, std::string_view, std::string_view text) { warned.emplace_back(text); });
  }
  Training(const Training&) = delete;

  Result<std::optional<variable::Checkpoint>> find() {
    checkpoints = std::make_unique<CheckpointManager>(*program.train, true, options);
    return checkpoints->find(program);
  }
  /// Continues from the existing checkpoints, and saves at these steps. The step that it began with.
  std::int64_t train(const std::vector<std::int64_t>& steps) {
    const auto found = find();
    if (!found) FAIL(found.error().message);
    const auto begun = checkpoints->begin();
    if (!begun) FAIL(begun.error().message);
    for (const std::int64_t step : steps) save(step);
    return *found ? (*found)->step : 0;
  }
  void save(std::int64_t step) {
    checkpoints->begin_saving(at(step));
    CHECK(checkpoints->saving_step() == step);
    REQUIRE(checkpoints->finish_saving().value());
    CHECK_FALSE(checkpoints->saving_step());
  }
  variable::Checkpoint at(std::int64_t step) const {
    return {step, {{"w", tensor::Tensor::scalar(tensor::DType::kS64, step)}}, {}, checkpoints->run()};
  }
};

std::int64_t latest_in(const std::string& directory) {
  const auto latest = variable::load_latest_checkpoint(directory, nullptr);
  REQUIRE(latest);
  REQUIRE(*latest);
  return (*latest)->step;
}

TEST_CASE("checkpoints: a training that goes on is the same run") {
  const Directory directory;
  Training first(directory.path()), second(directory.path());
  CHECK(first.train({100, 200}) == 0);
  CHECK(second.train({300}) == 200);
  CHECK(second.checkpoints->run() == first.checkpoints->run());
  CHECK_FALSE(first.checkpoints->run().empty());
}

TEST_CASE("checkpoints: a training beside which another one begins writes nothing any more, whatever run that is") {
  for (const bool starts_over : {false, true}) {
    const Directory directory;
    Training first(directory.path()), second(directory.path());
    first.train({100, 200});
    second.options.start_over = starts_over;
    second.train({});
    first.checkpoints->begin_saving(first.at(300));
    const auto late = first.checkpoints->finish_saving();
    REQUIRE_FALSE(late);
    CHECK(late.error().code == Code::kAborted);
    CHECK(late.error().message.starts_with(directory.path() + ": another training has begun there since, in process "));
    second.save(10);
    CHECK(latest_in(directory.path()) == 10);
  }
}

TEST_CASE("checkpoints: one that is whole is named where none could be recorded, and none where there is none") {
  const Directory directory;
  Training before(directory.path()), full(directory.path());
  full.checkpoints = std::make_unique<CheckpointManager>(*full.program.train, true, full.options);
  CHECK(full.checkpoints->describe() == "there is no checkpoint to continue from");
  before.train({50});
  CHECK(full.checkpoints->describe().find("/step-00000050.safetensors (step 50)") != std::string::npos);
}

TEST_CASE("checkpoints: without resume a directory that has some is refused, and nothing in it changes") {
  const Directory directory;
  Training(directory.path()).train({100});
  const auto before = load_file(directory / "index.json");
  Training anew(directory.path(), false);
  const auto found = anew.find();
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Code::kInvalidArgument);
  CHECK(found.error().message ==
        directory.path() +
            ": has checkpoints of an earlier run, but train.checkpoint.resume is false: --start-over moves them aside");
  CHECK(load_file(directory / "index.json").value() == before.value());
  const Directory empty;
  CHECK(Training(empty.path(), false).train({100}) == 0);
}

TEST_CASE("checkpoints: starting over moves all of the earlier run aside, and its lower steps are the latest") {
  const Directory directory;
  Training first(directory.path());
  first.train({300, 400});
  first.checkpoints->mark_end("done", 400);
  REQUIRE(variable::save_checkpoint(directory / "best", first.at(300), 1));
  REQUIRE(save_file(directory / "best.json", "{}"));
  REQUIRE(save_file(directory / "notes.txt", "the user's"));
  Training second(directory.path());
  second.options.start_over = true;
  CHECK(second.train({10, 20}) == 0);
  CHECK(latest_in(directory.path()) == 20);
  const std::string aside = directory / ("old-" + first.checkpoints->run());
  REQUIRE(second.said.size() == 1);
  CHECK(second.said[0] == "starting over: the earlier run is in " + aside);
  CHECK(latest_in(aside) == 400);
  CHECK(latest_in(aside + "/best") == 300);
  CHECK(find_run_end(aside));
  CHECK(fs::exists(aside + "/best.json"));
  auto names = directory.names();
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"index.json", "notes.txt", "old-" + first.checkpoints->run(),
                                          "step-00000010.safetensors", "step-00000020.safetensors"});
  Training third(directory.path());
  CHECK(third.train({30}) == 20);
  CHECK(third.checkpoints->run() == second.checkpoints->run());
}

TEST_CASE("checkpoints: starting over where nothing is, or where an older tfd was, simply starts") {
  const Directory directory;
  Training first(directory / "new");
  first.options.start_over = true;
  fs::create_directory(directory / "new");
  CHECK(first.train({5}) == 0);
  CHECK(first.said.empty());
  const std::string old = directory / "old";
  REQUIRE(tensor::save_safetensors(old + "-step", {}));
  fs::create_directory(old);
  fs::rename(old + "-step", old + "/step-00000100.safetensors");
  Training second(old, false);
  second.options.start_over = true;
  CHECK(second.train({5}) == 0);
  CHECK(fs::exists(old + "/old-run/step-00000100.safetensors"));
  CHECK(latest_in(old) == 5);
}

TEST_CASE("checkpoints: a run that died while it moved another aside never goes on from that") {
  const Directory directory;
  Training first(directory.path());
  first.train({300, 400});
  // The new index's first content; nothing was moved yet.
  REQUIRE(variable::write_checkpoint_index(directory.path(), {.run = "new"}));
  Training again(directory.path());
  CHECK(again.train({10, 20, 30, 40}) == 0);
  REQUIRE(again.warned.size() == 1);
  CHECK(again.warned[0].ends_with(" belongs to another run; not resuming from it (--checkpoint starts from it)"));
  CHECK(again.checkpoints->run() == "new");
  CHECK(latest_in(directory.path()) == 40);
  CHECK(fs::exists(directory / "step-00000300.safetensors"));
}

TEST_CASE("checkpoints: what was passed over isn't gone back to once the training has gone on from an older one") {
  const Directory directory;
  Training(directory.path()).train({100, 200});
  const std::string newest = directory / "step-00000200.safetensors";
  fs::resize_file(newest, 20);
  Training second(directory.path());
  CHECK(second.train({}) == 100);
  REQUIRE(second.warned.size() == 1);
  CHECK(second.warned[0].starts_with("skipped a checkpoint: "));
  second.save(150);
  CHECK(latest_in(directory.path()) == 150);
}

TEST_CASE("checkpoints: one of another program is an error that says what it lacks") {
  const Directory directory;
  Training(directory.path()).train({300});
  const std::string path = directory / "step-00000300.safetensors";
  Training lacking(directory.path());
  lacking.program.variables = {{.name = "v", .spec = {tensor::DType::kS64, {}}}};
  lacking.program.train->steps = 200;  // nothing is left to do
  auto found = lacking.find();
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Code::kInvalidArgument);
  CHECK(found.error().message ==
        path + " has no variable 'v': it belongs to another program; --start-over moves it aside");
  Training differing(directory.path());
  differing.program.variables[0].spec = {tensor::DType::kF32, {3}};
  found = differing.find();
  REQUIRE_FALSE(found);
  CHECK(
      found.error().message ==
      path +
          ": variable 'w' is s64[], but f32[3] in p.json: it belongs to another program; --start-over moves it aside");
}

TEST_CASE("checkpoints: where all that the index names are gone, that is an error, unless the training starts over") {
  const Directory directory;
  Training(directory.path()).train({100, 200});
  fs::remove(directory / "step-00000100.safetensors");
  fs::remove(directory / "step-00000200.safetensors");
  Training next(directory.path());
  const auto found = next.find();
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Code::kDataLoss);
  CHECK(found.error().message ==
        directory.path() +
            ": all checkpoints that its index.json names are gone (step-00000100.safetensors, "
            "step-00000200.safetensors): put them back, or train from the beginning with --start-over");
  next.options.start_over = true;
  CHECK(next.train({10}) == 0);
  CHECK(latest_in(directory.path()) == 10);
}

TEST_CASE("checkpoints: where the newest is gone, a line says which one is used") {
  const Directory directory;
  Training(directory.path()).train({100, 200, 300});
  fs::remove(directory / "step-00000100.safetensors");
  Training newest(directory.path());
  CHECK(newest.train({}) == 300);
  CHECK(newest.warned.empty());
  fs::remove(directory / "step-00000300.safetensors");
  Training next(directory.path());
  CHECK(next.train({}) == 200);
  CHECK(next.warned == std::vector<std::string>{directory / "step-00000300.safetensors is gone: using " +
                                                directory.path() + "/step-00000200.safetensors instead"});
}

TEST_CASE("checkpoints: one training holds its directory, until it ends or another one takes it") {
  const Directory directory;
  auto first = std::make_unique<Training>(directory.path());
  first->train({100});
  REQUIRE(first->checkpoints->hold(Claim::kWatchHosts));
  Training second(directory.path()), third(directory.path());
  REQUIRE(second.find());
  const auto refused = second.checkpoints->hold(Claim::kWatchHosts);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kPermissionDenied);
  first->save(200);
  second.options.take_directory = true;
  CHECK(second.checkpoints->hold(Claim::kWatchHosts));
  CHECK(second.checkpoints->begin());
  first->checkpoints->begin_saving(first->at(300));
  CHECK(first->checkpoints->finish_saving().error().code == Code::kAborted);
  second.checkpoints->release();
  REQUIRE(third.find());
  CHECK(third.checkpoints->hold(Claim::kWatchHosts));
}

TEST_CASE("checkpoints: the plan says where and how often they are saved, or that nothing is") {
  const auto plan = [](const auto& change) {
    Training one("ck");
    change(one);
    one.checkpoints = std::make_unique<CheckpointManager>(*one.program.train, true, one.options);
    one.checkpoints->say_plan();
    return one.said.empty() ? std::string() : one.said.front();
  };
  using Def = program::CheckpointDef;
  const auto of = [&](const auto& set) { return plan([&](Training& one) { set(*one.program.train->checkpoint); }); };
  CHECK(of([](Def&) {}) == "saving to ck at the end");
  CHECK(of([](Def& to) { to.every_time = std::chrono::minutes(5); }) == "saving to ck every 5m, and at the end");
  CHECK(of([](Def& to) { to.every_steps = 1; }) == "saving to ck every step, and at the end");
  CHECK(of([](Def& to) { to.every_steps = 1000; }) == "saving to ck every 1000 steps, and at the end");
  CHECK(plan([](Training& one) { one.program.train->checkpoint.reset(); }) ==
        "nothing will be saved: --set train.checkpoint.dir=DIR keeps the trained weights");
  CHECK(plan([](Training& one) { one.options.takes_over = true; }).empty());
}

TEST_CASE("checkpoints: what is named begins a training that has nothing to go on from, and no other") {
  const Directory directory, named;
  Training(named.path()).train({300});
  Training first(directory.path());
  first.options.checkpoint = named.path();
  CHECK(first.train({}) == 0);
  const auto initial = first.checkpoints->find_initial(first.program);
  REQUIRE(initial);
  REQUIRE(*initial);
  CHECK((*initial)->step == 0);
  CHECK((*initial)->state.size() == 1);
  first.checkpoints->say_beginning(std::nullopt, *initial);
  CHECK(first.said == std::vector<std::string>{"weights from " + named / "step-00000300.safetensors"});
  first.save(10);
  Training second(directory.path());
  second.options.checkpoint = named.path();
  CHECK(second.train({}) == 10);
  REQUIRE(second.said.size() == 1);
  CHECK(second.said[0] == "--checkpoint " + named.path() + " is ignored: the training continues");
  Training missing(directory / "other");
  missing.options.checkpoint = directory / "nothing";
  const auto none = missing.find() ? missing.checkpoints->find_initial(missing.program) : missing.find();
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kNotFound);
  CHECK(none.error().message.starts_with("--checkpoint: "));
}

TEST_CASE("weights: are needed where a function reads what is trained, or is begun at random") {
  program::Program program;
  program.variables = {{.name = "trained", .spec = {}, .init = variable::ConstantInit{}},
                       {.name = "stated", .spec = {}, .init = variable::ConstantInit{}},
                       {.name = "random", .spec = {}, .init = variable::RandomInit{}},
                       {.name = "file", .spec = {}, .init = variable::FileInit{"/f", "w"}}};
  program.functions.push_back({.name = "step", .outputs = {{.kind = program::OutputKind::kMetric, .name = "trained"}}});
  for (const char* const name : {"trained", "file"})
    program.functions[0].outputs.push_back({.kind = program::OutputKind::kGradient, .name = name});
  const auto needs = [&](const char* variable) {
    program::FunctionDef function{.name = "predict"};
    if (*variable != '\0') function.inputs.push_back({.kind = program::InputKind::kVariable, .name = variable});
    return strategy::needs_weights(program, function);
  };
  CHECK_FALSE(needs("trained"));  // by nobody yet
  CHECK(needs("random"));
  program.train = program::TrainDef{.function = "step"};
  CHECK(needs("trained"));
  CHECK_FALSE(needs("stated"));
  CHECK_FALSE(needs("file"));
  CHECK_FALSE(needs(""));
  program.train->checkpoint = program::CheckpointDef{};
  CHECK(needs("stated"));
  CHECK(needs("file"));
  CHECK_FALSE(needs(""));
  program::FunctionDef looks_up{.name = "predict"};
  looks_up.inputs.push_back({.kind = program::InputKind::kDataset, .lookup = "trained"});
  CHECK(strategy::needs_weights(program, looks_up));
}

}  // namespace
}  // namespace tfd::train
