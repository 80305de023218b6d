// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tfd/tensor/safetensors.hpp"
#include "tfd/variable/checkpoint.hpp"

#include "temporary_directory.hpp"

using namespace tfd;
using namespace tfd::variable;
using tensor::DType;
using tensor::Tensor;
namespace fs = std::filesystem;

namespace {

Tensor counter(std::int64_t value) { return Tensor::scalar(DType::kS64, value); }
Checkpoint checkpoint_of(std::int64_t step) {
  return {step, {{"w", counter(step)}, {".iterations", counter(step)}}, ""};
}
std::vector<std::int64_t> steps_in(const fs::path& directory) {
  std::vector<std::int64_t> steps;
  const auto listed = list_checkpoints(directory.string());
  REQUIRE(listed);
  for (const auto& [step, path] : *listed) steps.push_back(step);
  return steps;
}
void cut_in_half(const std::string& path) { fs::resize_file(path, fs::file_size(path) / 2); }

}  // namespace

TEST_CASE("checkpoint: is read back as it was written, in a directory made for it") {
  const test::TemporaryDirectory temporary;
  const std::string directory = temporary / "a/b";
  const auto path = save_checkpoint(directory, checkpoint_of(200), 3);
  REQUIRE_MESSAGE(path.has_value(), (path ? "" : path.error().message));
  CHECK(*path == directory + "/step-00000200.safetensors");
  const auto loaded = load_checkpoint(*path);
  REQUIRE(loaded);
  CHECK(loaded->step == 200);
  CHECK(loaded->path == *path);
  REQUIRE(loaded->state.size() == 2);
  CHECK(loaded->state[0].first == "w");
  CHECK(same_bytes(loaded->state[0].second, counter(200)));
}

TEST_CASE("checkpoint: keeps those that were written last, whatever their steps") {
  const test::TemporaryDirectory temporary;
  for (const std::int64_t step : {100, 200, 300, 400})
    REQUIRE(save_checkpoint(temporary.path(), checkpoint_of(step), 2));
  CHECK(steps_in(temporary.path()) == std::vector<std::int64_t>{300, 400});
  REQUIRE(save_checkpoint(temporary.path(), checkpoint_of(50), 2));
  CHECK(steps_in(temporary.path()) == std::vector<std::int64_t>{400, 50});
  CHECK(load_latest_checkpoint(temporary.path(), nullptr).value()->step == 50);
  REQUIRE(save_checkpoint(temporary.path(), checkpoint_of(123456789012), 0));
  CHECK(steps_in(temporary.path()) == std::vector<std::int64_t>{400, 50, 123456789012});
  CHECK(load_latest_checkpoint(temporary.path(), nullptr).value()->step == 123456789012);
}

TEST_CASE("checkpoint: strangers in the directory are neither listed nor removed") {
  const test::TemporaryDirectory temporary;
  for (const char* name : {"step-.safetensors", "step-12.safetensors.tmp", ".step-13.safetensors", "step-x.safetensors",
                           "notes.txt", "step--5.safetensors"})
    std::ofstream(temporary / name) << "x";
  REQUIRE(save_checkpoint(temporary.path(), checkpoint_of(1), 1));
  REQUIRE(save_checkpoint(temporary.path(), checkpoint_of(2), 1));
  CHECK(steps_in(temporary.path()) == std::vector<std::int64_t>{2});
  CHECK(fs::exists(temporary / "notes.txt"));
}

TEST_CASE("checkpoint: a corrupt newest one is passed over, and said") {
  const test::TemporaryDirectory temporary;
  for (const std::int64_t step : {1, 2, 3}) REQUIRE(save_checkpoint(temporary.path(), checkpoint_of(step), 0));
  cut_in_half(list_checkpoints(temporary.path())->at(2).second);
  std::ofstream(temporary / "step-00000004.safetensors");  // empty, and nobody's
  std::vector<std::string> skipped;
  auto latest = load_latest_checkpoint(temporary.path(), &skipped);
  REQUIRE(latest);
  REQUIRE(latest->has_value());
  CHECK((*latest)->step == 2);
  REQUIRE(skipped.size() == 1);
  CHECK(skipped[0].find("step-00000003.safetensors") != std::string::npos);
}

TEST_CASE("checkpoint: none is nothing, but none that can be read is an error") {
  const test::TemporaryDirectory temporary;
  std::vector<std::string> skipped;
  auto latest = load_latest_checkpoint(temporary / "missing", &skipped);
  REQUIRE(latest);
  CHECK_FALSE(latest->has_value());
  latest = load_latest_checkpoint(temporary.path(), &skipped);
  REQUIRE(latest);
  CHECK_FALSE(latest->has_value());
  const auto path = save_checkpoint(temporary.path(), checkpoint_of(1), 0);
  REQUIRE(path);
  cut_in_half(*path);
  latest = load_latest_checkpoint(temporary.path(), nullptr);
  REQUIRE_FALSE(latest);
  CHECK(latest.error().message.starts_with("no readable checkpoint in "));
}

TEST_CASE("checkpoint: puts the iterations of several parameter servers together") {
  const test::TemporaryDirectory temporary;
  Checkpoint checkpoint{
      7, {{"w", counter(1)}, {".iterations", counter(5)}, {"b", counter(2)}, {".iterations", counter(7)}}, ""};
  const auto path = save_checkpoint(temporary.path(), checkpoint, 1);
  REQUIRE(path);
  const auto loaded = load_checkpoint(*path);
  REQUIRE(loaded);
  REQUIRE(loaded->state.size() == 3);
  for (const auto& [name, value] : loaded->state)
    if (name == ".iterations") CHECK(value.as<std::int64_t>()[0] == 7);
  checkpoint.state.emplace_back("w", counter(3));
  CHECK_FALSE(save_checkpoint(temporary.path(), checkpoint, 1));
}

TEST_CASE("checkpoint: one of a newer version is refused, older ones and strangers' are read") {
  const test::TemporaryDirectory temporary;
  const std::string path = temporary / "step-00000007.safetensors";
  const auto load = [&](std::map<std::string, std::string> metadata) {
    REQUIRE(tensor::save_safetensors(path, {{{"w", counter(1)}}, std::move(metadata)}));
    return load_checkpoint(path);
  };
  CHECK(load({{"format", "tfd"}, {"v", "1"}})->step == 7);
  CHECK(load({{"format", "tfd"}, {"v", "2"}, {"step", "9"}})->step == 9);
  CHECK(load({})->step == 7);
  const auto newer = load({{"format", "tfd"}, {"v", "3"}});
  REQUIRE_FALSE(newer);
  CHECK(newer.error().message == path + ": written by a newer tfd (version 3 of the format, this one reads up to 2)");
}

TEST_CASE("checkpoint: a directory that isn't one, a missing file and a negative step are errors") {
  const test::TemporaryDirectory temporary;
  const std::string file = temporary / "file";
  std::ofstream(file) << "x";
  CHECK_FALSE(save_checkpoint(file, checkpoint_of(1), 1));
  CHECK_FALSE(list_checkpoints(file));
  CHECK_FALSE(save_checkpoint(temporary.path(), checkpoint_of(-1), 1));
  const auto missing = load_checkpoint(temporary / "step-00000001.safetensors");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::kNotFound);
}
