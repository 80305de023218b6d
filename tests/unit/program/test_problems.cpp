// SPDX-License-Identifier: Apache-2.0
//
// Several things that are wrong with one program: all are said, and nothing that may come of another.
#include <doctest/doctest.h>

#include "programs.hpp"

namespace tfd::program {
namespace {

std::vector<std::string> errors_of(std::vector<std::string> overrides) {
  std::vector<Error> errors;
  const auto program = test::parse_variant(std::move(overrides), &errors);
  REQUIRE(program.has_value() == errors.empty());
  std::vector<std::string> messages;
  for (const Error& error : errors) messages.push_back(error.message);
  if (!program) CHECK(program.error().message == messages.front());
  return messages;
}

using Messages = std::vector<std::string>;

TEST_CASE("problems: none") { CHECK(errors_of({}).empty()); }

TEST_CASE("problems: one of each part, in the order of reading") {
  CHECK(errors_of({"seeds=1", "seed=-1", "variables.n.init.zeroes={}", "optimizer.adam.learning_rate=-1",
                   "datasets.test[1].batch.size=0"}) ==
        Messages{"p.json: seeds: unknown key, did you mean 'seed'?", "p.json: seed: must be at least 0, not -1",
                 "p.json: variables.n.init: must be an object with one key, such as {\"zeros\": {}}",
                 "p.json: optimizer.adam.learning_rate: must be a finite number >= 0, or a schedule, not -1",
                 "p.json: datasets.test[1].batch.size: must be positive, not 0"});
}

TEST_CASE("problems: train by itself, unless it names what is wrong") {
  CHECK(errors_of({"seed=-1", "train.steps=0"}).back() == "p.json: train.steps: must be positive, not 0");
  CHECK(errors_of({"functions.eval_step.module=nope.mlir", "train.steps=0"}).size() == 2);
  CHECK(errors_of({"functions.eval_step.module=nope.mlir", "train.evaluate.every=10", "train.stop.metric=5"}).size() ==
        1);
}

TEST_CASE("problems: each key of train by itself") {
  CHECK(errors_of({"train.stepz=5", "train.steps=0", "train.log_every=-1", "train.replicas=all"}) ==
        Messages{"p.json: train.stepz: unknown key, did you mean 'steps'?",
                 "p.json: train.steps: must be positive, not 0", "p.json: train.log_every: must be positive, not -1",
                 "p.json: train.replicas: must be \"each\" or \"split\""});
  CHECK(errors_of({"train.gradient_norm=1", "train.steps=0"}).size() == 2);
  CHECK(errors_of({"train.gradient_norm=true", "functions.train_step.outputs[0].metric=gradient_norm"}) ==
        Messages{"p.json: train.gradient_norm: function 'train_step' has a metric of this name"});
}

TEST_CASE("problems: an unknown key is nobody's consequence") {
  CHECK(errors_of({"optimizer.adam.learning_rate=-1", "train.stepz=5"}).size() == 2);
  CHECK(errors_of({"variables.w.shape=3", "train.stepz=5"}).size() == 2);
  CHECK(errors_of({"variables.w.shape=3", "functions.train_step.input=[]"}).size() == 2);
  CHECK(errors_of({"functions.eval_step.module=nope.mlir", "train.stepz=5"}).size() == 2);
}

TEST_CASE("problems: several variables, datasets and functions, each by itself") {
  CHECK(errors_of({"variables.w.shape=3", "variables.b.shape=4"}) ==
        Messages{"p.json: variables.w.shape: must be a list of dimensions, not a number",
                 "p.json: variables.b.shape: must be a list of dimensions, not a number"});
  CHECK(errors_of({"functions.train_step.module=nope.mlir", "functions.count.inputs[3]=stpe"}) ==
        Messages{"p.json: functions.train_step.module: cannot read nope.mlir: no such file or directory",
                 "p.json: functions.count.inputs[3]: input 'stpe' is unknown, did you mean 'step'?"});
}

TEST_CASE("problems: a function, and train, of something that is wrong are left alone") {
  CHECK(errors_of({"variables.w.dtype=f31"}).size() == 1);
  CHECK(errors_of({"optimizer.adam.beta_3=1"}).size() == 1);
  CHECK(errors_of({"datasets.train[0].csv.fields.label.dtype=f31"}).size() == 1);
  CHECK(errors_of({"functions.eval_step.module=nope.mlir"}).size() == 1);
  // Errors of the others are reported all the same.
  CHECK(errors_of({"variables.n.shape=3", "functions.train_step.outputs[0].metric=1"}).size() == 2);
}

TEST_CASE("program: a whole number may be written with an exponent") {
  CHECK(test::parse_variant({"train.steps=1e3"}).value().train->steps == 1000);
  CHECK(test::parse_variant({"train.steps=20.0"}).value().train->steps == 20);
  CHECK(errors_of({"train.steps=1.5"}) == Messages{"p.json: train.steps: must be a whole number, not 1.5"});
  CHECK(errors_of({"train.steps=1e300"}) == Messages{"p.json: train.steps: must be a whole number, not 1e+300"});
  CHECK(errors_of({"train.steps=-1e3"}) == Messages{"p.json: train.steps: must be positive, not -1000"});
}

}  // namespace
}  // namespace tfd::program
