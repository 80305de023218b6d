// SPDX-License-Identifier: Apache-2.0
//
// The best checkpoint outlives the process that wrote it.
#include <doctest/doctest.h>

#include <filesystem>

#include "bed.hpp"
#include "tfd/train/checkpoint_notes.hpp"

namespace tfd::train {
namespace {

using strategy::test::Directory;

program::CheckpointDef keeping(const std::string& directory, bool higher, const std::string& metric = "loss") {
  program::CheckpointDef out;
  out.directory = directory;
  out.keep_best = program::BestDef{metric, higher};
  return out;
}

variable::Checkpoint at(std::int64_t step) {
  return {step, {{".iterations", tensor::Tensor::scalar(tensor::DType::kS64, step)}}, {}, "a"};
}

/// The path, where an evaluation at this step is the best one.
std::optional<std::string> evaluate(BestExporter& best, std::int64_t step, double value,
                                    const std::string& metric = "loss") {
  const auto take = [&]() -> Result<variable::Checkpoint> { return at(step); };
  return best.observe(step, {{metric, value}}, take, {}).value();
}

TEST_CASE("best exporter: a training that goes on knows the best of the earlier one") {
  const Directory directory;
  {
    BestExporter best(keeping(directory.path(), false));
    REQUIRE(evaluate(best, 5, 0.5));
  }
  BestExporter again(keeping(directory.path(), false));
  again.go_on("a");
  CHECK_FALSE(evaluate(again, 8, 0.6));
  REQUIRE(evaluate(again, 9, 0.4));
  CHECK(variable::list_checkpoints(directory.path() + "/best").value().size() == 1);
  BestExporter third(keeping(directory.path(), false));
  third.go_on("a");
  CHECK_FALSE(evaluate(third, 12, 0.45));
}

TEST_CASE("best exporter: another metric, another direction, another run or a checkpoint that is gone begin anew") {
  const Directory directory;
  const auto knows = [&](bool higher, const std::string& metric, const std::string& run, double value) {
    const Directory copy;
    std::filesystem::copy(directory.path(), copy.path(), std::filesystem::copy_options::recursive);
    BestExporter again(keeping(copy.path(), higher, metric));
    if (!run.empty()) again.go_on(run);
    return !evaluate(again, 6, value, metric);
  };
  BestExporter best(keeping(directory.path(), false));
  const std::string path = evaluate(best, 5, 0.5).value();
  CHECK(knows(false, "loss", "a", 0.6));
  CHECK_FALSE(knows(false, "error", "a", 0.6));
  CHECK_FALSE(knows(true, "loss", "a", 0.1));
  CHECK_FALSE(knows(false, "loss", "b", 0.6));
  CHECK_FALSE(knows(false, "loss", "", 0.6));
  std::filesystem::remove(path);
  CHECK_FALSE(knows(false, "loss", "a", 0.6));
}

}  // namespace
}  // namespace tfd::train
