// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "programs.hpp"
#include "tfd/tensor/npy.hpp"

namespace tfd::program {
namespace {

using tensor::DType;
using tensor::TensorSpec;
using test::parse;
using test::parse_variant;

Program good(std::vector<std::string> overrides = {}) {
  auto program = parse_variant(std::move(overrides));
  if (!program) FAIL(program.error().message);
  return *std::move(program);
}

std::optional<std::uint64_t> seed_of(const Program& program, const std::string& variable) {
  return std::get<variable::RandomInit>(program.find_variable(variable)->init).seed;
}
std::optional<std::uint64_t> shuffle_of(const Program& program, std::size_t stage) {
  return std::get<data::Shuffle>(program.datasets.at("train").stages.at(stage)).seed;
}

TEST_CASE("seed: one of the program gives each initializer and shuffle that states none a seed of its own") {
  const auto seeded = [](const std::string& seed) {
    return good(
        {"variables.w.init={\"glorot_uniform\": {}}", "variables.more={\"shape\": [8, 2], \"init\": {\"normal\": {}}}",
         "variables.own={\"shape\": [8, 2], \"init\": {\"normal\": {\"seed\": 5}}}",
         R"(datasets.train=[{"csv": {"path": "train.csv", "fields": {"image": {"columns": [0, 8]}, "label": {"columns": 8, "dtype": "s32"}}}},
                                    {"shuffle": {"buffer": 4}}, {"shuffle": {"buffer": 2}}, {"shuffle": {"buffer": 2, "seed": 3}},
                                    {"repeat": {}}, {"batch": {"size": 4, "drop_remainder": true}}])",
         seed});
  };
  const Program none = seeded("seed=null");
  CHECK_FALSE(seed_of(none, "w"));
  CHECK_FALSE(shuffle_of(none, 1));
  const Program one = seeded("seed=1");
  const std::set<std::optional<std::uint64_t>> all{seed_of(one, "w"), seed_of(one, "more"), shuffle_of(one, 1),
                                                   shuffle_of(one, 2)};
  CHECK(all.size() == 4);
  CHECK_FALSE(all.contains(std::nullopt));
  CHECK(seed_of(one, "own") == 5);
  CHECK(shuffle_of(one, 3) == 3);
  const Program again = seeded("seed=1"), other = seeded("seed=0");
  CHECK(seed_of(again, "w") == seed_of(one, "w"));
  CHECK(shuffle_of(again, 2) == shuffle_of(one, 2));
  CHECK(seed_of(other, "w") != seed_of(one, "w"));
  ProgramOptions options;  // as a task reads it
  options.look_at_files = false;
  const auto task = parse_program(one.document(), one.path, one.directory, test::memory_reader(one.files), options);
  REQUIRE_MESSAGE(task, (task ? "" : task.error().message));
  CHECK(seed_of(*task, "w") == seed_of(one, "w"));
  CHECK(shuffle_of(*task, 1) == shuffle_of(one, 1));
}

TEST_CASE("program: a whole program is read, in order of creation") {
  const Program program = good();
  REQUIRE(program.variables.size() == 4);
  CHECK(program.variables[0].name == "w");
  CHECK(program.variables[0].spec == TensorSpec{DType::kF32, {8, 2}});
  CHECK(std::get<variable::RandomInit>(program.variables[0].init).seed == 1);
  CHECK(program.variables[0].trainable);
  CHECK_FALSE(program.variables[2].trainable);  // an integer
  CHECK_FALSE(program.variables[3].trainable);
  REQUIRE(program.rules);
  CHECK(program.rules->learning_rate_at(0) == doctest::Approx(0.001));
  REQUIRE(program.functions.size() == 3);
  CHECK(program.functions[1].name == "eval_step");
  CHECK(program.find_function("count") == &program.functions[2]);
  CHECK(program.find_variable("nothing") == nullptr);
  CHECK(program.dataset_specs.at("train")[0].shape == std::vector<std::int64_t>{4, 8});
  CHECK(program.dataset_specs.at("test")[0].shape == std::vector<std::int64_t>{-1, 8});
  CHECK(program.files.size() == 4);
  CHECK(program.files.contains("eval_2.mlir"));
}

TEST_CASE("program: bindings by position and by the module's names are the same") {
  const Program program = good();
  const FunctionDef& eval = *program.find_function("eval_step");
  REQUIRE(eval.inputs.size() == 4);
  CHECK(eval.inputs[0].kind == InputKind::kVariable);
  CHECK(eval.inputs[0].name == "w");
  CHECK(eval.inputs[3].kind == InputKind::kDataset);
  CHECK(eval.inputs[3].field == "label");
  CHECK(eval.outputs[1].part == Part::kNumerator);
  CHECK(eval.outputs[0].reduce == Reduce::kMean);
  CHECK_FALSE(eval.has_updates());
  CHECK(eval.variables_read() == std::vector<std::string>{"w", "b"});

  const FunctionDef& count = *program.find_function("count");
  CHECK(count.inputs[3].kind == InputKind::kStep);
  CHECK(count.inputs[4].kind == InputKind::kLearningRate);
  CHECK(count.arg_count == 1);
  CHECK(count.kwargs == std::vector<std::string>{"by"});
  CHECK(count.returns == std::vector<std::string>{"n"});
  CHECK(count.has_updates());
}

TEST_CASE("program: train, checkpoint and evaluate") {
  const Program program = good();
  REQUIRE(program.train);
  CHECK(program.train->steps == 20);
  CHECK(program.train->log_every == 100);
  REQUIRE(program.train->checkpoint);
  CHECK(program.train->checkpoint->every_steps == 5);
  CHECK(program.train->checkpoint->keep == 2);
  CHECK(program.train->checkpoint->resume);
  REQUIRE(program.train->evaluate);
  CHECK(program.train->evaluate->every_steps == 10);
  CHECK_FALSE(program.train->evaluate->steps);

  const Program timed = good({"train.checkpoint.every=10m", "train.checkpoint.resume=false",
                              "train.checkpoint.on=hosts", "train.steps=null", "train.max_time=1h"});
  CHECK(timed.train->checkpoint->every_steps == 0);
  CHECK(timed.train->checkpoint->every_time == std::chrono::minutes(10));
  CHECK_FALSE(timed.train->checkpoint->resume);
  CHECK(timed.train->checkpoint->on == program::CheckpointsOn::kHosts);
  CHECK_FALSE(timed.train->steps);
  CHECK(timed.train->max_time == std::chrono::hours(1));

  const auto every = [](const std::string& value) {
    return good({"train.checkpoint.every=" + value}).train->checkpoint.value();
  };
  CHECK(every("null").every_time == std::chrono::minutes(5));  // the default
  CHECK(every("null").every_steps == 0);
  CHECK_FALSE(every("7").every_time);
  CHECK_FALSE(every("never").every_time);
  CHECK(every("never").every_steps == 0);

  CHECK_FALSE(good({"train=null"}).train);
  CHECK_FALSE(good({"train.checkpoint=null"}).train->checkpoint);
}

TEST_CASE("program: what a task gets parses to the same program") {
  const Program program = good({"train.steps=7"});
  ProgramOptions options;
  options.look_at_files = false;
  const auto again =
      parse_program(program.document(), program.path, program.directory, test::memory_reader(program.files), options);
  REQUIRE(again);
  CHECK(again->document() == program.document());
  CHECK(again->train->steps == 7);
  CHECK(again->variables.size() == program.variables.size());
}

TEST_CASE("program: whoever changes its values changes what a task gets") {
  Program program = good();
  VariableDef own;
  own.name = "own";
  own.spec = {DType::kF32, {8, 2}};
  own.init = variable::RandomInit{variable::RandomInit::Distribution::kTruncatedNormal, 0.1, 2, UINT64_MAX};
  own.synchronization = variable::Synchronization::kOnRead;
  own.aggregation = variable::Aggregation::kSum;
  own.partitioner = variable::Partitioner{variable::Partitioner::Kind::kMaxSize, 1, 1, 17, 0, 3};
  std::vector<VariableDef> variables{own};
  own.name = "beside";
  own.spec = {DType::kS64, {}};
  own.init = variable::ConstantInit{tensor::Tensor::scalar(DType::kS64, INT64_MIN)};
  own.synchronization = variable::Synchronization::kOnWrite;
  own.partitioner.reset();
  own.trainable = false;
  own.colocate_with = "w";
  for (const VariableDef& variable : program.variables) variables.push_back(variable);
  variables.push_back(own);
  program.variables = variables;
  program.datasets.at("test").stages.emplace_back(data::Repeat{});
  REQUIRE(set_dataset(program, "more", R"([{"range": 5}, {"batch": {"size": 2, "drop_remainder": true}}])", ""));
  program.train->steps.reset();
  program.train->epochs = 3;
  program.train->evaluate->steps = 1;
  ProgramOptions options;
  options.look_at_files = false;
  options.overrides = {"train.evaluate.steps=1", R"(datasets.train[1].repeat={"count": 2})"};
  const auto again =
      parse_program(program.document(), program.path, program.directory, test::memory_reader(program.files), options);
  REQUIRE_MESSAGE(again, (again ? "" : again.error().message));
  program.datasets.at("train").stages[1] = data::Repeat{2};
  CHECK(again->datasets == program.datasets);
  CHECK(again->train->epochs == 3);
  CHECK_FALSE(again->train->steps);
  REQUIRE(again->variables.size() == 6);
  CHECK(again->find_variable("own") == &again->variables[0]);
  CHECK(std::get<variable::RandomInit>(again->variables[0].init).seed == UINT64_MAX);
  CHECK(again->variables[0].partitioner->max_shard_bytes == 17);
  CHECK(again->variables[0].trainable);
  CHECK(again->variables[5].aggregation == variable::Aggregation::kSum);
  CHECK(again->variables[5].colocate_with == "w");
  variable::CheckpointFiles files;
  const auto value = make_initial_value(again->variables[5].init, again->variables[5].spec, files);
  CHECK(value->as<std::int64_t>()[0] == INT64_MIN);
  CHECK(again->endless_datasets == std::set<std::string>{"test"});
}

TEST_CASE("program: a dataset that is set is checked as those of the document are") {
  Program program = good();
  const auto error = [&](const char* pipeline) { return set_dataset(program, "own", pipeline, "").error().message; };
  CHECK(error("[{").starts_with("'[{': not JSON: line 1, column 3: "));
  CHECK(error(R"([{"range": 4}, {"bacth": 2}])") ==
        "p.json: datasets.own[1].bacth: unknown transformation, did you mean 'batch'?");
  CHECK(error(R"([{"range": 4}, {"map": {"function": "evil_step"}}])") ==
        "p.json: datasets.own[1].map.function: function 'evil_step' is unknown, did you mean 'eval_step'?");
  CHECK_FALSE(program.datasets.contains("own"));
  REQUIRE(set_dataset(program, "own", R"([{"range": 4}, {"repeat": {}}])", "/tmp"));
  CHECK(program.endless_datasets.contains("own"));
}

TEST_CASE("program: what npy files are is told to tasks that cannot look at them") {
  const std::string directory = test::temporary_directory();
  REQUIRE(tensor::save_npy(directory + "/x.npy", tensor::Tensor::zeros(DType::kF32, {6, 8})));
  const std::string document =
      R"({"v": 1, "datasets": {"d": [{"npy": {"field": "x", "path": "x.npy"}}, {"batch": 4}],
                               "e": [{"npy": {"fields": {"x": {"path": "x.npy"}}}}]}})";
  const auto program = parse_program(document, "p.json", directory, test::memory_reader(), {});
  std::filesystem::remove_all(directory);
  REQUIRE(program);
  const auto there = parse(program->document());
  if (!there) FAIL(there.error().message);
  CHECK(there->dataset_specs.at("d")[0].shape == std::vector<std::int64_t>{-1, 8});
  CHECK(there->dataset_specs.at("e")[0].shape == std::vector<std::int64_t>{8});
}

TEST_CASE("program: --set changes values, adds keys, takes them away and keeps text as text") {
  CHECK(good({"train.steps=10"}).train->steps == 10);
  CHECK(good({"train.log_every=5"}).train->log_every == 5);
  CHECK(good({"train.checkpoint=null", "train.checkpoint.dir=x=y"}).train->checkpoint->directory.ends_with("/x=y"));
  CHECK(good({R"(train.checkpoint.dir="2000")"}).train->checkpoint->directory.ends_with("/2000"));
  CHECK(good({"optimizer={\"sgd\": {\"learning_rate\": 0.5}}"}).rules->learning_rate_at(0) == 0.5);
  // A bare name is the optimizer with its defaults, also for the overrides that follow.
  CHECK(good({"optimizer=sgd"}).rules->learning_rate_at(0) ==
        good({R"(optimizer={"sgd": {}})"}).rules->learning_rate_at(0));
  CHECK(good({"optimizer=\"sgd\"", "optimizer.sgd.learning_rate=0.5"}).rules->learning_rate_at(0) == 0.5);
  CHECK(good({"optimizer=sgd"}).document().find(R"("optimizer":{"sgd":{}})") != std::string::npos);
  // The one of steps and epochs that is set replaces the other; both are a mistake.
  const Program epochs = good({"datasets.train[1].repeat.count=3", "train.epochs=2"});
  CHECK((epochs.train->epochs == 2 && !epochs.train->steps));
  CHECK(good({R"(train.epochs=null)"}).train->steps == 20);
  const Program dropping = good({"datasets.train[2].batch.size=4", "datasets.train[2].batch.drop_remainder=true"});
  CHECK(dropping.datasets.at("train").stages[2] == data::Stage(data::Batch{4, true}));
  // The longest existing key, so that names may have dots.
  const std::string dotted = R"({"v": 1, "variables": {"a.b": {"shape": [], "init": {"zeros": {}}}}})";
  const auto program = parse(dotted, {"variables.a.b.trainable=false", "variables.a.b.dtype=f64"});
  REQUIRE(program);
  CHECK(program->variables[0].spec.dtype == DType::kF64);
  CHECK_FALSE(program->variables[0].trainable);
}

TEST_CASE("program: the module is chosen by the shapes that come") {
  const Program program = good();
  const FunctionDef& eval = *program.find_function("eval_step");
  const auto specs = [](std::int64_t batch) {
    return std::vector<TensorSpec>{
        {DType::kF32, {8, 2}}, {DType::kF32, {2}}, {DType::kF32, {batch, 8}}, {DType::kS32, {batch}}};
  };
  REQUIRE(choose_module(eval, specs(4)));
  CHECK(eval.modules.called(*choose_module(eval, specs(4))).name == "eval.mlir");
  CHECK(eval.modules.called(*choose_module(eval, specs(2))).name == "eval_2.mlir");
  CHECK(choose_module(eval, specs(3)).error().message ==
        "eval_step: no module accepts batch size 3 (available: 4 and 2): argument 2 (x) is f32[3, 8]");
  auto mixed = specs(4);
  mixed[3].shape = {2};
  CHECK(choose_module(eval, mixed).error().message ==
        "eval_step: the arguments' batch sizes differ, and no module accepts that combination");
  auto wrong = specs(4);
  wrong[3].dtype = DType::kF32;
  CHECK(choose_module(eval, wrong).error().message ==
        "eval_step: argument 3 (y) is f32[4], but the module takes s32[4]");
  wrong.pop_back();
  CHECK(choose_module(eval, wrong).error().message == "eval_step: 3 argument(s), but the module takes 4");
}

TEST_CASE("program: replicas that share a batch need modules for their shares") {
  const std::string remedies =
      ": export it for any batch size (tfd-export(1)), or pad batches, with a mask (\"pad_remainder\": true)";
  const auto error = [](int replicas, std::vector<std::string> overrides) {
    overrides.emplace_back("train.replicas=split");
    ProgramOptions options;
    options.overrides = std::move(overrides);
    options.look_at_files = false;
    options.replicas = replicas;
    const auto program = parse_program(test::kProgram, "p.json", "/nowhere", test::memory_reader(), options);
    return program ? std::string() : program.error().message;
  };
  const std::string eight = "datasets.train[2].batch.size=8";
  CHECK(error(1, {}).empty());
  CHECK(error(2, {eight}).empty());
  CHECK(error(0, {eight}).empty());  // with two it is right
  CHECK(error(3, {eight}) ==
        "p.json: functions.train_step: 3 replicas share a batch of 8 of dataset 'train', and no module accepts 2 "
        "(available: 4)" +
            remedies);
  CHECK(error(2, {}) ==
        "p.json: functions.train_step: 2 replicas share a batch of 4 of dataset 'train', and no module accepts 2 "
        "(available: 4)" +
            remedies);
}

TEST_CASE("program: shardings over the logical devices of a replica are kept, and need as many") {
  const std::vector<std::string> stated{R"(functions.train_step.inputs[0].sharding={"split": [2, 1]})",
                                        R"(functions.train_step.inputs[1].sharding="replicate")",
                                        R"(functions.train_step.inputs[2].sharding={"split": [1, 2]})"};
  ProgramOptions options;
  options.overrides = stated;
  options.look_at_files = false;
  options.logical_devices = 2;
  options.spmd = true;
  const auto program = parse_program(test::kProgram, "p.json", "/nowhere", test::memory_reader(), options);
  REQUIRE_MESSAGE(program, (program ? "" : program.error().message));
  const FunctionDef& step = *program->find_function("train_step");
  CHECK(step.inputs[0].sharding->pieces == std::vector<std::int64_t>{2, 1});
  CHECK(step.inputs[1].sharding->kind == OpSharding::Kind::kReplicate);
  CHECK_FALSE(step.inputs[3].sharding);
  CHECK(step.modules[0].signature.arguments[0].sharding == step.inputs[0].sharding);
  CHECK_FALSE(step.modules[0].signature.arguments[3].sharding);
  options.overrides = {R"(functions.train_step.outputs[0].sharding={"assign": 1})"};
  options.spmd = false;
  const auto assigned = parse_program(test::kProgram, "p.json", "/nowhere", test::memory_reader(), options);
  CHECK(assigned.value().find_function("train_step")->modules[0].logical_device == 1);
  // One device is what there is without logical devices.
  (void)good({R"(functions.train_step.inputs[0].sharding={"split": [1, 1]})",
              R"(functions.train_step.outputs[1]={"gradient": "w", "sharding": {"assign": 0}})",
              R"(functions.count.inputs[1].sharding={"split": [1]})"});
}

TEST_CASE("program: platforms are stated for every module of a function") {
  const Program program =
      good({R"(functions.train_step.platforms=["cpu", "tpu"])", "functions.train_step.module=platforms.mlir"});
  CHECK(program.find_function("train_step")->modules[0].platforms == std::vector<std::string>{"cpu", "tpu"});
  CHECK(program.find_function("train_step")->inputs.size() == 4);
}

TEST_CASE("program: a dataset's map is a function of the program") {
  const Program program = good(
      {R"(functions.double={"module": "double.mlir", "inputs": [{"arg": 0, "field": "a"}], "outputs": [{"result": 0}]})",
       R"(datasets.doubled=[{"tensor_slices": {"fields": {"a": {"dtype": "f32", "shape": [1, 8], "data": [[1, 2, 3, 4, 5, 6, 7, 8]]}}}}, {"map": {"function": "double", "fields": ["twice"]}}])"});
  const data::ElementSpec& spec = program.dataset_specs.at("doubled");
  REQUIRE(spec.size() == 1);
  CHECK(spec[0].name == "twice");
  CHECK(spec[0].shape == std::vector<std::int64_t>{8});

  const auto plan =
      plan_map(*program.find_function("double"), {{"b", DType::kS32, {}}, {"a", DType::kF32, {8}}}, {"twice"});
  REQUIRE(plan);
  CHECK(plan->inputs == std::vector<std::size_t>{1});
  CHECK(plan->outputs == std::vector<std::size_t>{0});
}

TEST_CASE("program: a dataset is made by its name") {
  const Program program = good();
  auto dataset = make_dataset(program, "test", {});
  REQUIRE(dataset);
  CHECK((*dataset)->cardinality() == 2);
  CHECK(make_dataset(program, "tset", {}).error().message == "dataset 'tset' is unknown, did you mean 'test'?");
}

TEST_CASE("program: a dataset of one field needs no name for it") {
  const std::string document =
      R"({"v": 1, "datasets": {"d": [{"tensor_slices": {"fields": {"x": {"dtype": "f32", "shape": [1, 8], "data": [[1, 2, 3, 4, 5, 6, 7, 8]]}}}}]},
      "functions": {"f": {"module": "double.mlir", "inputs": [{"dataset": "d"}], "outputs": [{"result": 0}]}}})";
  const auto program = parse(document);
  REQUIRE(program);
  CHECK(program->functions[0].inputs[0].field == "x");
}

}  // namespace
}  // namespace tfd::program
