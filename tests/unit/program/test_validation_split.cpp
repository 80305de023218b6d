// SPDX-License-Identifier: Apache-2.0
//
// train.validation_split: the last rows of a training's dataset, before shuffling, are an evaluation's.
#include <doctest/doctest.h>

#include <fstream>

#include "programs.hpp"
#include "tfd/program/names.hpp"

namespace tfd::program {
namespace {

using Numbers = std::vector<std::int64_t>;

/// A folder with train.csv, whose rows have their number as label.
std::string folder_of(int rows) {
  std::string directory = test::temporary_directory();
  std::ofstream file(directory + "/train.csv");
  for (int i = 0; i < rows; ++i) file << "0,0,0,0,0,0,0,0," << i << "\n";
  return directory;
}

Result<Program> parse_in(const std::string& directory, std::vector<std::string> overrides,
                         const std::string& document = test::kProgram) {
  ProgramOptions options;
  options.overrides = std::move(overrides);
  return parse_program(document, "p.json", directory, test::memory_reader(), options);
}

std::vector<std::string> split(const std::string& fraction, std::vector<std::string> more = {}) {
  std::vector<std::string> out{"train.validation_split=" + fraction,
                               "datasets.train[1]={\"shuffle\": {\"buffer\": 100, \"seed\": 1}}",
                               R"(datasets.test=[{"batch": {"size": 4}}])"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

/// The labels of a pass over the dataset, in order; sorted if the dataset is shuffled.
Numbers labels_of(const Program& program, const std::string& name) {
  const auto dataset = make_dataset(program, name, {});
  if (!dataset) FAIL(dataset.error().message);
  const auto iterator = (*dataset)->iterate();
  REQUIRE(iterator);
  Numbers out;
  for (;;) {
    const auto element = (*iterator)->next();
    if (!element) FAIL(element.error().message);
    if (!*element) break;
    const auto labels = (**element)[1].as<std::int32_t>();
    out.insert(out.end(), labels.begin(), labels.end());
  }
  return out;
}

std::string error_of(const Result<Program>& program) { return program ? "" : program.error().message; }

TEST_CASE("validation_split: the last rows are evaluated, the first ones shuffled and trained with") {
  const std::string directory = folder_of(10);
  const auto program = parse_in(directory, split("0.2"));
  if (!program) FAIL(program.error().message);
  CHECK(labels_of(*program, "test") == Numbers{8, 9});
  Numbers trained = labels_of(*program, "train");
  CHECK(trained != Numbers{0, 1, 2, 3, 4, 5, 6, 7});  // in the order of this seed
  std::ranges::sort(trained);
  CHECK(trained == Numbers{0, 1, 2, 3, 4, 5, 6, 7});

  // Keras: split_at = floor(10 * (1 - 0.35)) = 6.
  CHECK(labels_of(*parse_in(directory, split("0.4")), "test") == Numbers{6, 7, 8, 9});
  CHECK(labels_of(*parse_in(directory, split("0.35")), "test") == Numbers{6, 7, 8, 9});
}

TEST_CASE("validation_split: a task reads the datasets as they were split") {
  const std::string directory = folder_of(10);
  const auto program = parse_in(directory, split("0.2"));
  REQUIRE(program);
  const std::string document = program->document();
  CHECK(document.find("validation_split") == std::string::npos);
  const auto again = parse_in(directory, {}, document);
  if (!again) FAIL(again.error().message);
  CHECK(again->datasets == program->datasets);
}

TEST_CASE("validation_split: rows are held out after datasets are joined, and are evaluated after every epoch") {
  const std::string directory = folder_of(6);
  const std::string other = R"([{"csv": {"path": "train.csv", "fields": {"image": {"columns": [0, 8], "dtype": "f32"},
                                                                         "label": {"columns": 8, "dtype": "s32"}}}}])";
  const auto program =
      parse_in(directory, split("0.5", {R"(datasets.train[1]={"concatenate": [)" + other + "]}", "train.steps=null",
                                        "train.epochs=3", R"(train.evaluate={"function": "eval_step"})"}));
  if (!program) FAIL(program.error().message);
  CHECK(labels_of(*program, "train") == Numbers{0, 1, 2, 3});  // of 6, without the last two
  CHECK(labels_of(*program, "test") == Numbers{0, 1, 2, 3, 4, 5});
  CHECK(program->train->evaluate->every_steps == kEveryEpoch);
  const auto by_steps = parse_in(directory, split("0.5", {R"(train.evaluate={"function": "eval_step", "every": 5})"}));
  REQUIRE(by_steps);
  CHECK(by_steps->train->evaluate->every_steps == 5);
}

TEST_CASE("validation_split: errors") {
  const std::string directory = folder_of(10);
  const auto error = [&](const std::string& fraction, std::vector<std::string> more) {
    return error_of(parse_in(directory, split(fraction, std::move(more))));
  };
  const std::string key = "p.json: train.validation_split: ";
  CHECK(error("1", {}) == key + "must be between 0 and 1, such as 0.2");
  CHECK(error("1e-18", {}) == key + "1e-18 of 10 rows of dataset 'train' leaves no row to evaluate");
  CHECK(error("0.99", {}) == key + "0.99 of 10 rows of dataset 'train' leaves no row to train with");
  CHECK(error("0.2", {"train.evaluate=null"}) ==
        key + "needs train.evaluate, whose function evaluates the rows that are held out");
  CHECK(
      error(
          "0.2",
          {R"(datasets.test=[{"csv": {"path": "train.csv", "fields": {"label": {"columns": 8, "dtype": "s32"}}}}])"}) ==
      "p.json: datasets.test: has a source, but its rows are those that train.validation_split holds out: leave out "
      "the source");
  CHECK(error("0.2", {R"(datasets.test=[{"batch": {"size": 0}}])"}) ==
        "p.json: datasets.test[0].batch.size: must be positive, not 0");
  CHECK(
      error(
          "0.2",
          {R"(datasets.train[0]={"command": {"argv": ["true"], "format": "csv", "fields": {"image": {"columns": [0, 8], "dtype": "f32"}, "label": {"columns": 8, "dtype": "s32"}}}})"}) ==
      key +
          "can't count the rows of dataset 'train': a command prints them; state two datasets, with take and "
          "skip, instead");
  CHECK(error("0.2", {R"(datasets.train[0].csv.path=none.csv)"}).find("none.csv") != std::string::npos);
  std::ofstream(directory + "/train.csv", std::ios::app) << "0,0,0,0,0,0,0,0,x\n";
  CHECK(error("0.2", {}).starts_with(key + "can't count the rows of dataset 'train': "));
  CHECK(error("0.2", {}).find("train.csv:11: ") != std::string::npos);
}

}  // namespace
}  // namespace tfd::program
