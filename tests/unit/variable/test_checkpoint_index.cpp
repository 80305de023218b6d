// SPDX-License-Identifier: Apache-2.0
//
// The run of a directory's checkpoints: its index, and the remains of a process that died between two writes.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "temporary_directory.hpp"
#include "tfd/base/file.hpp"
#include "tfd/tensor/safetensors.hpp"
#include "tfd/variable/checkpoint.hpp"

using namespace tfd;
using namespace tfd::variable;
using tensor::DType;
using tensor::Tensor;
namespace fs = std::filesystem;

namespace {

using Steps = std::vector<std::int64_t>;

Checkpoint of_run(const std::string& run, std::int64_t step) {
  return {.step = step, .state = {{"w", Tensor::scalar(DType::kS64, step)}}, .path = {}, .run = run};
}
std::string save(const std::string& directory, const std::string& run, std::int64_t step, int keep = 3) {
  const auto path = save_checkpoint(directory, of_run(run, step), keep);
  if (!path) FAIL(path.error().message);
  return *path;
}
CheckpointIndex index_of(const std::string& directory) {
  auto index = read_checkpoint_index(directory);
  if (!index) FAIL(index.error().message);
  return *index;
}
Steps steps_of(const CheckpointIndex& index) {
  Steps steps;
  for (const auto& [step, path] : index.checkpoints) steps.push_back(step);
  return steps;
}
std::int64_t latest_step(const std::string& directory) {
  const auto latest = load_latest_checkpoint(directory, nullptr);
  REQUIRE(latest);
  REQUIRE(latest->has_value());
  return (*latest)->step;
}
/// Writes a checkpoint as an older tfd did.
void save_without_run(const std::string& directory, std::int64_t step) {
  const std::string path = fmt::format("{}/step-{:08}.safetensors", directory, step);
  REQUIRE(tensor::save_safetensors(path, {{{"w", Tensor::scalar(DType::kS64, step)}},
                                          {{"format", "tfd"}, {"v", "2"}, {"step", std::to_string(step)}}}));
}

}  // namespace

TEST_CASE("checkpoint index: names the run and its checkpoints, the latest last") {
  const test::TemporaryDirectory temporary;
  for (const std::int64_t step : {100, 200}) save(temporary.path(), "a", step);
  const auto text = load_file(temporary / "index.json");
  REQUIRE(text);
  CHECK(*text == R"({"v":1,"run":"a","latest":"step-00000200.safetensors","checkpoints":[)"
                 R"({"step":100,"file":"step-00000100.safetensors"},{"step":200,"file":"step-00000200.safetensors"}]})"
                 "\n");
  CHECK(load_checkpoint(temporary / "step-00000100.safetensors")->run == "a");
}

TEST_CASE("checkpoint index: what another run has written is neither continued from nor removed") {
  const test::TemporaryDirectory temporary;
  for (const std::int64_t step : {300, 400}) save(temporary.path(), "a", step);
  for (const std::int64_t step : {10, 20, 30}) save(temporary.path(), "b", step, 2);
  const CheckpointIndex index = index_of(temporary.path());
  CHECK(index.run == "b");
  CHECK(steps_of(index) == Steps{20, 30});
  CHECK(index.others.size() == 2);
  CHECK(latest_step(temporary.path()) == 30);
  CHECK(fs::exists(temporary / "step-00000300.safetensors"));
  CHECK(fs::exists(temporary / "step-00000400.safetensors"));
}

TEST_CASE("checkpoint index: another run's checkpoint of the same step is moved aside, not lost") {
  const test::TemporaryDirectory temporary;
  save(temporary.path(), "a", 10);
  save(temporary.path(), "b", 10);
  CHECK(load_checkpoint(temporary / "step-00000010.safetensors")->run == "b");
  CHECK(load_checkpoint(temporary / "old-a/step-00000010.safetensors")->run == "a");
  save(temporary.path(), "../x", 10);
  save(temporary.path(), "c", 10);
  CHECK(fs::exists(temporary / "old-.._x/step-00000010.safetensors"));
}

TEST_CASE("checkpoint index: one that was written just before the process died is the run's latest") {
  const test::TemporaryDirectory temporary;
  save(temporary.path(), "a", 10);
  const auto before = load_file(temporary / "index.json");
  save(temporary.path(), "a", 20);
  REQUIRE(save_file(temporary / "index.json", *before));  // as if it had died before the index was written
  CHECK(latest_step(temporary.path()) == 20);
  save(temporary.path(), "a", 30, 2);
  CHECK(steps_of(index_of(temporary.path())) == Steps{20, 30});
}

TEST_CASE("checkpoint index: one that was to be removed when the process died isn't the latest, and is removed later") {
  const test::TemporaryDirectory temporary;
  const std::string oldest = save(temporary.path(), "a", 10);
  fs::copy_file(oldest, temporary / "kept");
  for (const std::int64_t step : {20, 30}) save(temporary.path(), "a", step, 2);
  fs::rename(temporary / "kept", oldest);
  CHECK(steps_of(index_of(temporary.path())) == Steps{10, 20, 30});
  CHECK(latest_step(temporary.path()) == 30);
  save(temporary.path(), "a", 40, 2);
  CHECK_FALSE(fs::exists(oldest));
}

TEST_CASE(
    "checkpoint index: a directory of an older tfd is read by steps, and gets an index with the next checkpoint") {
  const test::TemporaryDirectory temporary;
  for (const std::int64_t step : {100, 200}) save_without_run(temporary.path(), step);
  CHECK(index_of(temporary.path()).run.empty());
  CHECK(latest_step(temporary.path()) == 200);
  save(temporary.path(), "a", 300);
  const CheckpointIndex index = index_of(temporary.path());
  CHECK(index.run == "a");
  CHECK(steps_of(index) == Steps{100, 200, 300});
}

TEST_CASE("checkpoint index: what somebody has removed isn't there any more") {
  const test::TemporaryDirectory temporary;
  for (const std::int64_t step : {10, 20}) save(temporary.path(), "a", step);
  fs::remove(temporary / "step-00000020.safetensors");
  CHECK(latest_step(temporary.path()) == 10);
  fs::remove(temporary / "step-00000010.safetensors");
  CHECK_FALSE(load_latest_checkpoint(temporary.path(), nullptr)->has_value());
}

TEST_CASE("checkpoint index: one that is broken is made anew from the checkpoints of one run, and said") {
  const test::TemporaryDirectory temporary;
  for (const std::int64_t step : {10, 20}) save(temporary.path(), "a", step);
  for (const char* const text :
       {"", "{", "[]", R"({"run": "a"})", R"({"v": 1})", R"({"v": 1, "run": "a", "checkpoints": [1]})", "\xff\xfe",
        R"({"v": 1, "run": "", "checkpoints": []})"}) {
    CAPTURE(text);
    REQUIRE(save_file(temporary / "index.json", text));
    const CheckpointIndex index = index_of(temporary.path());
    CHECK(index.run == "a");
    CHECK(steps_of(index) == Steps{10, 20});
    CHECK(index.broken.starts_with(temporary / "index.json: "));
  }
  save(temporary.path(), "a", 30);
  CHECK(index_of(temporary.path()).broken.empty());
}

TEST_CASE("checkpoint index: where it is gone and there are several runs, nobody can tell which goes on") {
  const test::TemporaryDirectory temporary;
  save(temporary.path(), "a", 10);
  save(temporary.path(), "b", 20);
  fs::remove(temporary / "index.json");
  const auto index = read_checkpoint_index(temporary.path());
  REQUIRE_FALSE(index);
  CHECK(index.error().code == Code::kInvalidArgument);
  CHECK(index.error().message ==
        temporary.path() +
            " has no index.json, and its checkpoints belong to 2 runs: move all but one run's elsewhere");
}

TEST_CASE("checkpoint index: one of a newer tfd is left alone") {
  const test::TemporaryDirectory temporary;
  save(temporary.path(), "a", 10);
  REQUIRE(save_file(temporary / "index.json", R"({"v": 2, "runs": []})"));
  const auto index = read_checkpoint_index(temporary.path());
  REQUIRE_FALSE(index);
  CHECK(index.error().message == temporary / "index.json: written by a newer tfd (version 2, this one reads up to 1)");
  CHECK_FALSE(save_checkpoint(temporary.path(), of_run("a", 20), 1));
}

TEST_CASE("checkpoint index: a file of another run in the place of a named one is passed over") {
  const test::TemporaryDirectory temporary, other;
  for (const std::int64_t step : {10, 20}) save(temporary.path(), "a", step);
  fs::copy_file(save(other.path(), "b", 20), temporary / "step-00000020.safetensors",
                fs::copy_options::overwrite_existing);
  std::vector<std::string> skipped;
  const auto latest = load_latest_checkpoint(temporary.path(), &skipped);
  REQUIRE(latest);
  CHECK((*latest)->step == 10);
  REQUIRE(skipped.size() == 1);
  CHECK(skipped[0].ends_with(": belongs to another run (b) than its directory (a)"));
}

TEST_CASE("checkpoint: what is named is a file, a stranger's too, or a directory's latest") {
  const test::TemporaryDirectory temporary;
  save(temporary.path(), "a", 20);
  save(temporary.path(), "a", 10);
  CHECK(load_named_checkpoint(temporary.path(), nullptr)->step == 10);
  CHECK(load_named_checkpoint(temporary / "step-00000020.safetensors", nullptr)->step == 20);
  REQUIRE(tensor::save_safetensors(temporary / "model.safetensors",
                                   {{{"w", Tensor::scalar(DType::kS64, std::int64_t{7})}}, {}}));
  CHECK(load_named_checkpoint(temporary / "model.safetensors", nullptr)->state.size() == 1);
  for (const std::string& name : {std::string("nothing"), std::string("empty")}) {
    if (name == "empty") fs::create_directory(temporary / name);
    const auto none = load_named_checkpoint(temporary / name, nullptr);
    REQUIRE_FALSE(none);
    CHECK(none.error().code == Code::kNotFound);
  }
}

TEST_CASE("checkpoint: without an index a directory has one run's alone, the others are aside") {
  const test::TemporaryDirectory temporary;
  for (const auto& [run, step] : {std::pair("a", 30), std::pair("a", 40), std::pair("b", 10)})
    REQUIRE(save_checkpoint(temporary.path(), of_run(run, step), 1, false));
  CHECK_FALSE(fs::exists(temporary / "index.json"));
  CHECK(latest_step(temporary.path()) == 10);
  CHECK(latest_step(temporary / "old-a") == 40);
}

TEST_CASE("checkpoint index: a group that others have gone on without writes nothing any more") {
  const test::TemporaryDirectory directory;
  const auto save = [&](std::int64_t step, const std::string& group, std::uint64_t generation) {
    Checkpoint one = of_run("run", step);
    one.writer = {group, generation};
    return save_checkpoint(directory.path(), one, 0);
  };
  REQUIRE(save(1, "a", 3));
  REQUIRE(save(2, "a", 3));
  REQUIRE(save(3, "a", 5));
  CHECK(save(4, "a", 4).error().code == Code::kAborted);
  CHECK(save(4, "b", 5).error().code == Code::kAborted);  // started beside it, from a checkpoint of generation 4
  REQUIRE(save(4, "b", 6));
  const auto late = save(5, "a", 6);
  REQUIRE_FALSE(late);
  CHECK(late.error().message ==
        directory.path() +
            ": generation 6 of another group has gone on without this process, which is of generation "
            "6, and writes there now");
  const auto latest = load_latest_checkpoint(directory.path(), nullptr).value();
  CHECK(latest->step == 4);
  CHECK(latest->writer.group == "b");
  CHECK(latest->writer.generation == 6);
  REQUIRE(save(6, "", 0));  // a training in one process goes on with it
  REQUIRE(save(7, "a", 1));
}

TEST_CASE("checkpoint index: run ids differ") {
  const std::string one = make_run_id();
  CHECK(one.size() == 23);
  CHECK(one[8] == 'T');
  CHECK(one != make_run_id());
}
