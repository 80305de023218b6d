// SPDX-License-Identifier: Apache-2.0
//
// The best checkpoint outlives the process that wrote it.
#include <doctest/doctest.h>

#include <filesystem>

#include "bed.hpp"
#include "tfd/strategy/kept_best.hpp"

namespace tfd::strategy {
namespace {

using test::Directory;

program::CheckpointDef keeping(const std::string& directory, bool higher, const std::string& metric = "loss") {
  program::CheckpointDef out;
  out.directory = directory;
  out.keep_best = program::BestDef{metric, higher};
  return out;
}

variable::Checkpoint at(std::int64_t step) {
  return {step, {{".iterations", tensor::Tensor::scalar(tensor::DType::kS64, step)}}, {}, "a"};
}

TEST_CASE("keep best: a training that goes on knows the best of the earlier one") {
  const Directory directory;
  {
    KeptBest best(keeping(directory.path(), false));
    REQUIRE(best.observe({{"loss", 0.5}}));
    REQUIRE(best.save(at(5)));
  }
  KeptBest again(keeping(directory.path(), false));
  again.go_on("a");
  CHECK_FALSE(again.observe({{"loss", 0.6}}));
  REQUIRE(again.observe({{"loss", 0.4}}));
  REQUIRE(again.save(at(9)));
  CHECK(variable::list_checkpoints(directory.path() + "/best").value().size() == 1);
  KeptBest third(keeping(directory.path(), false));
  third.go_on("a");
  CHECK_FALSE(third.observe({{"loss", 0.45}}));
}

TEST_CASE("keep best: another metric, another direction, another run or a checkpoint that is gone begin anew") {
  const Directory directory;
  KeptBest best(keeping(directory.path(), false));
  REQUIRE(best.observe({{"loss", 0.5}}));
  const std::string path = best.save(at(5)).value();
  const auto knows = [&](const program::CheckpointDef& keeps, const std::string& run, double value) {
    KeptBest again(keeps);
    again.go_on(run);
    return !again.observe({{keeps.keep_best->metric, value}});
  };
  CHECK(knows(keeping(directory.path(), false), "a", 0.6));
  CHECK_FALSE(knows(keeping(directory.path(), false, "error"), "a", 0.6));
  CHECK_FALSE(knows(keeping(directory.path(), true), "a", 0.1));
  CHECK_FALSE(knows(keeping(directory.path(), false), "b", 0.6));
  CHECK(KeptBest(keeping(directory.path(), false)).observe({{"loss", 0.6}}));
  std::filesystem::remove(path);
  CHECK_FALSE(knows(keeping(directory.path(), false), "a", 0.6));
}

}  // namespace
}  // namespace tfd::strategy
