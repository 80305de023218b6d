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
  return {step, {{".iterations", tensor::Tensor::scalar(tensor::DType::kS64, step)}}, {}};
}

TEST_CASE("keep best: a training that goes on knows the best of the earlier one") {
  const Directory directory;
  {
    KeptBest best(keeping(directory.path(), false));
    REQUIRE(best.observe({{"loss", 0.5}}));
    REQUIRE(best.save(at(5)));
  }
  KeptBest again(keeping(directory.path(), false));
  CHECK_FALSE(again.observe({{"loss", 0.6}}));
  REQUIRE(again.observe({{"loss", 0.4}}));
  REQUIRE(again.save(at(9)));
  CHECK(variable::list_checkpoints(directory.path() + "/best").value().size() == 1);
  KeptBest third(keeping(directory.path(), false));
  CHECK_FALSE(third.observe({{"loss", 0.45}}));
}

TEST_CASE("keep best: another metric, another direction, a fresh start or a checkpoint that is gone begin anew") {
  const Directory directory;
  KeptBest best(keeping(directory.path(), false));
  REQUIRE(best.observe({{"loss", 0.5}}));
  const std::string path = best.save(at(5)).value();
  CHECK(KeptBest(keeping(directory.path(), false, "error")).observe({{"error", 0.6}}));
  CHECK(KeptBest(keeping(directory.path(), true)).observe({{"loss", 0.1}}));
  auto fresh = keeping(directory.path(), false);
  fresh.resume = false;
  CHECK(KeptBest(fresh).observe({{"loss", 0.6}}));
  std::filesystem::remove(path);
  CHECK(KeptBest(keeping(directory.path(), false)).observe({{"loss", 0.6}}));
}

}  // namespace
}  // namespace tfd::strategy
