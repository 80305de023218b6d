// SPDX-License-Identifier: Apache-2.0
//
// Every way that a program can be wrong, and the one line that says so.
#include <doctest/doctest.h>

#include "programs.hpp"

namespace tfd::program {
namespace {

struct Bad {
  std::vector<std::string> overrides;  // of the program that is right
  std::string message;                 // after "p.json: "
  Code code = Code::kInvalidArgument;
};

void check_all(const std::vector<Bad>& table) {
  for (const Bad& bad : table) {
    const std::string& change = bad.overrides.back();
    INFO(change);
    std::vector<Error> errors;
    const auto program = test::parse_variant(bad.overrides, &errors);
    REQUIRE_FALSE(program);
    CHECK(program.error().message == "p.json: " + bad.message);
    const bool takes_others_away = change.starts_with("variables=");
    CHECK((takes_others_away || errors.size() == 1));  // consequences aren't reported
    CHECK(code_name(program.error().code) == code_name(bad.code));
  }
}

TEST_CASE("bad program: text that isn't one JSON document") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"",
       "not JSON: line 1, column 1: syntax error while parsing value - unexpected end of input; expected '[', '{', or "
       "a literal"},
      {"{\n  \"v\": 1,\n}",
       "not JSON: line 3, column 1: syntax error while parsing object key - unexpected '}'; expected string literal"},
      {"[]", "must be an object, not a list"},
      {R"({"v": 1, "variables": {}, "variables": {}})", "key 'variables' appears twice"},
      {R"({"v": 1, "functions": {"f": {"module": "a", "module": "b"}}})", "functions.f: key 'module' appears twice"},
      {"{}", "needs 'v'"},
      {R"({"v": 2})", "v: this tfd reads version 1, not 2"},
      {R"({"v": "1"})", "v: must be a whole number, not a string"},
      {R"({"v": 1, "functoins": {}})", "functoins: unknown key, did you mean 'functions'?"},
  };
  for (const auto& [text, message] : table) {
    const auto program = test::parse(text);
    REQUIRE_FALSE(program);
    CHECK(program.error().message == "p.json: " + message);
  }
}

TEST_CASE("bad program: --set") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"train.steps", "--set train.steps: must be PATH=VALUE"},
      {"=1", "--set =1: must be PATH=VALUE"},
      {"datasets.train[9].x=1", "--set datasets.train[9].x=1: 'datasets.train' has 3 elements"},
      {"datasets.train.x=1", "--set datasets.train.x=1: 'datasets.train' is a list: use [0] to [2]"},
      {"train[0]=1", "--set train[0]=1: 'train' is not a list"},
      {"train.steps.x=1", "--set train.steps.x=1: 'train.steps' is not an object"},
      {"datasets.train[0=1", "--set datasets.train[0=1: ']' is missing"},
      {"train..steps=1", "--set train..steps=1: a key is missing"},
      {"train.stesp=1", "p.json: train.stesp: unknown key, did you mean 'steps'?"},
      {"nothing.at.all=1", "p.json: nothing: unknown key"},
      {"lr=1", "p.json: lr: unknown key, did you mean 'optimizer.adam.learning_rate'?"},
      {"train.lr=1", "p.json: train.lr: unknown key, did you mean 'optimizer.adam.learning_rate'?"},
      {"optimizer.lr=1", "p.json: optimizer.lr: unknown key, did you mean 'optimizer.adam.learning_rate'?"},
      {"optimizer.learning_rate=1",
       "p.json: optimizer.learning_rate: unknown key, did you mean 'optimizer.adam.learning_rate'?"},
      {"optimizer.adam.lr=1", "p.json: optimizer.adam.lr: unknown key, did you mean 'learning_rate'?"},
      {"steps=1", "p.json: steps: unknown key, did you mean 'train.steps'?"},
      {"epochs=1", "p.json: epochs: unknown key, did you mean 'train.epochs'?"},
      {"checkpoint.dir=x", "p.json: checkpoint: unknown key, did you mean 'train.checkpoint'?"},
      {"train.dir=x", "p.json: train.dir: unknown key, did you mean 'train.checkpoint.dir'?"},
      {"train.batch_size=8",
       "p.json: train.batch_size: unknown key, did you mean 'datasets.train[2].batch.size' or "
       "'datasets.test[1].batch.size'?"},
      {"batchsize=8",
       "p.json: batchsize: unknown key, did you mean 'datasets.train[2].batch.size' or 'datasets.test[1].batch.size'?"},
      {"train.early_stopping={}", "p.json: train.early_stopping: unknown key, did you mean 'train.stop'?"},
      {"early_stopping={}", "p.json: early_stopping: unknown key, did you mean 'train.stop'?"},
      {R"(train.stop={"monitor": "loss"})",
       "p.json: train.stop.monitor: unknown key, did you mean 'train.stop.metric'?"},
      {"train.validation=x", "p.json: train.validation: unknown key, did you mean 'train.evaluate'?"},
      {"optimizer=adm", "p.json: optimizer.adm: no such optimizer, did you mean 'adam'?"},
      {"train.seed=3", "p.json: train.seed: unknown key, did you mean 'seed'?"},
      {"train.momentum=3", "p.json: train.momentum: unknown key"},
  };
  for (const auto& [change, message] : table) {
    const auto program = test::parse_variant({change});
    REQUIRE_FALSE(program);
    CHECK(program.error().message == message);
    CHECK((program.error().code == Code::kUsage) == message.starts_with("--set"));
  }
}

TEST_CASE("bad program: variables and the optimizer") {
  check_all({
      {{"variables=3"}, "variables: must be an object, not a number"},
      {{"variables.w=[]"}, "variables.w: must be an object, not a list"},
      {{"variables.w.shap=[]"}, "variables.w.shap: unknown key, did you mean 'shape'?"},
      {{"variables.w.shape=null"}, "variables.w: needs 'shape'"},
      {{"variables.w.shape=8"}, "variables.w.shape: must be a list of dimensions, not a number"},
      {{"variables.w.shape=[8,-2]"}, "variables.w.shape[1]: must be at least 0, not -2"},
      {{"variables.w.shape=[8,2.5]"}, "variables.w.shape[1]: must be a whole number, not 2.5"},
      {{"variables.w.dtype=f31"},
       "variables.w.dtype: unknown dtype 'f31', did you mean 'f32'? (known: bool, s8, s16, s32, s64, u8, u16, u32, "
       "u64, f16, bf16, f32 and f64)"},
      {{"variables.w.init=null"}, "variables.w: needs 'init'"},
      {{"variables.w.init={\"glorot_unifrom\": {}}"},
       "variables.w.init.glorot_unifrom: no such initializer, did you mean 'glorot_uniform'?"},
      {{"variables.n.trainable=true"}, "variables.n.trainable: an s64 variable cannot be trainable"},
      {{"variables.w.trainable=1"}, "variables.w.trainable: must be true or false, not a number"},
      {{"variables.x*={}"}, "variables.x*: a variable's name must not contain '*' or control characters"},
      {{R"(variables={"w/.x": {}})"}, "variables.w/.x: no part of a variable's name may start with '.'"},
      {{"variables.w.partitioner={}"},
       "variables.w.partitioner: must be an object with one key, such as {\"fixed_shards\": {\"num_shards\": 2}}"},
      {{R"(variables.w.partitioner={"min_size": {"max_shards": 0}})"},
       "variables.w.partitioner.min_size.max_shards: must be positive, not 0"},
      {{"variables.w.colocate_with=v"}, "variables.w.colocate_with: there is no variable 'v' before this one"},
      {{R"(variables.w.partitioner={"fixed_shards": {"num_shards": 2}})", "variables.n.colocate_with=w"},
       "variables.n.colocate_with: variable 'w' is in 2 shards"},
      {{R"(variables.n.partitioner={"fixed_shards": {"num_shards": 2}})", "variables.n.colocate_with=w"},
       "variables.n.colocate_with: a variable with 'colocate_with' is not partitioned: it can't have a 'partitioner'"},
      {{"variables.w.aggregation=meen"}, "variables.w.aggregation: no aggregation 'meen', did you mean 'mean'?"},
      {{"variables.n.aggregation=mean"},
       "variables.n.aggregation: aggregation 'mean' needs a floating-point dtype, not s64: use 'sum' or "
       "'only_first_replica'"},
      {{"variables.w.synchronization=none"},
       "variables.w.synchronization: synchronization 'none' leaves the copies of replicas unsynchronized: use 'auto'"},
      {{R"(variables.w.init={"npy": {}})"}, "variables.w.init.npy.path: is missing"},
      {{"weights=7"}, "weights: must be a string, not a number"},
      {{"seed=-1"}, "seed: must be at least 0, not -1"},
      {{"optimizer.adam.beta_3=1"}, "optimizer.adam.beta_3: unknown key, did you mean 'beta_1'?"},
      {{R"(optimizer={"sgd": {"groups": {"w*": {"momentum": 2}}}})"},
       "optimizer.sgd.groups.w*.momentum: must be within [0, 1], not 2"},
      {{R"(optimizer={"sgd": {"learning_rate": {"exponential_decay": {"decay_steps": 0}}}})"},
       "optimizer.sgd.learning_rate.exponential_decay.initial_learning_rate: is missing"},
      {{R"(optimizer={"module": "update.mlir"})"},
       "optimizer.module: cannot read update.mlir: no such file or directory",
       Code::kNotFound},
      {{R"(optimizer={"module": "update.mlir", "rate": 1})"}, "optimizer.rate: unknown key"},
  });
}

TEST_CASE("bad program: datasets") {
  check_all({
      {{"datasets.train[2].batch.size=0"}, "datasets.train[2].batch.size: must be positive, not 0"},
      {{"functions.train_step.inputs[2].dataset=trian"},
       "functions.train_step.inputs[2]: dataset 'trian' is unknown, did you mean 'train'?"},
      {{"functions.train_step.inputs[2].field=imag"},
       "functions.train_step.inputs[2]: dataset 'train': field 'imag' is unknown, did you mean 'image'?"},
      {{"functions.train_step.inputs[2].field=null"},
       "functions.train_step.inputs[2]: dataset 'train' has several fields: set 'field' (image, label)"},
      {{"functions.train_step.inputs[2].field=label"},
       "functions.train_step.inputs[2]: field 'label' of dataset 'train' is s32[4], but argument 'x' of step.mlir is "
       "f32[4, 8]"},
      {{"datasets.train[2].batch.size=5"},
       "functions.train_step: no module accepts batch size 5 of dataset 'train' (available: 4): export it for any "
       "batch size (tfd-export(1)), or pad batches, with a mask (\"pad_remainder\": true)"},
      {{R"(train.replicas="")"}, "train.replicas: must not be empty"},
      {{"train.max_time=30"}, "train.max_time: must be a duration like \"30m\", not a number"},
      {{R"(datasets.train[1]={"take": {"count": 0}})"}, "train: dataset 'train' has no elements"},
      {{"datasets.train[2].batch.size=9", "train.replicas=split"},
       "functions.train_step: no module accepts a share of a batch of 9 of dataset 'train', however many replicas "
       "there "
       "are (available: 4): export it for any batch size (tfd-export(1)), or pad batches, with a mask "
       "(\"pad_remainder\": true)"},
      {{"functions.eval_step.module=eval.mlir"},
       "functions.eval_step: no module accepts batch size 2 of dataset 'test' (available: 4): export it for any batch "
       "size (tfd-export(1)), or pad batches, with a mask (\"pad_remainder\": true)"},
      {{"datasets.test[1].batch.size=5"},
       "functions.eval_step: no module accepts batch size 5 of dataset 'test' (available: 4 and 2): export it for any "
       "batch size (tfd-export(1)), or pad batches, with a mask (\"pad_remainder\": true)"},
      {{R"(datasets.train[1]={"map": {"function": "contu", "fields": ["x"]}})"},
       "datasets.train[1].map.function: function 'contu' is unknown, did you mean 'count'?"},
  });
}

TEST_CASE("bad program: functions and their modules") {
  check_all({
      {{"functions=[]"}, "functions: must be an object, not a list"},
      {{"functions.train_step.modul=x"}, "functions.train_step.modul: unknown key, did you mean 'module'?"},
      {{"functions.train_step.module=null"}, "functions.train_step: needs 'module'"},
      {{"functions.train_step.module=3"},
       "functions.train_step.module: must be a path or a list of paths, not a number"},
      {{"functions.train_step.module=[]"}, "functions.train_step.module: must not be empty"},
      {{"functions.train_step.module=stpe.mlir"},
       "functions.train_step.module: cannot read stpe.mlir: no such file or directory",
       Code::kNotFound},
      {{"functions.eval_step.module[1]=step.mlir"},
       "functions.eval_step.module[1]: has a different signature: (w: f32[8, 2], b: f32[2], x: f32[4, 8], y: s32[4]) "
       "-> "
       "(f32[], f32[8, 2], f32[2]), but eval.mlir is (w: f32[8, 2], b: f32[2], x: f32[4, 8], y: s32[4]) -> (f32[], "
       "f32[], f32[])"},
      {{"functions.eval_step.module[1]=eval.mlir"}, "functions.eval_step.module[1]: 'eval.mlir' appears twice"},
      {{R"(functions.train_step.platforms=["cpu", "cuad"])"},
       "functions.train_step.platforms[1]: platform 'cuad' is unknown (available: cpu, cuda, rocm, tpu and gpu)"},
      {{R"(functions.train_step.platforms=["cpu", "cpu"])"}, "functions.train_step.platforms[1]: 'cpu' appears twice"},
      {{"functions.train_step.platforms=cpu"},
       "functions.train_step.platforms: must be a list of platforms, not a string"},
      {{"functions.train_step.platforms=[]"}, "functions.train_step.platforms: must not be empty"},
      {{"functions.train_step.module=platforms.mlir"},
       "functions.train_step.module: platforms.mlir is a jax.export for several platforms that asks which one it runs "
       "on, but it doesn't say which they are: list them in the order of the export, e.g. \"platforms\": [\"cpu\", "
       "\"cuda\"]"},
      {{R"(functions.train_step.platforms=["cpu", "cuda", "tpu"])", "functions.train_step.module=platforms.mlir"},
       "functions.train_step.module: platforms.mlir chooses among 2 platforms, but 3 are listed"},
      {{R"(functions.x={"module": ["replicas.mlir"]})"},
       "functions.x.module[0]: replicas.mlir is for 2 replicas: export it for one; tfd runs it on each"},
      {{R"(functions.x={"module": "partitions.mlir"})"},
       "functions.x.module: partitions.mlir is for 4 partitions, but a replica has one logical device here"},
      {{R"(functions.x={"command": ["sort"], "platforms": ["cpu"]})"},
       "functions.x.platforms: only a module has 'platforms'"},
      {{R"(functions.x={"plugin": "x.so"})"},
       "functions.x.plugin: cannot read x.so: no such file or directory",
       Code::kNotFound},
      {{R"(functions.x={"command": "sort"})"},
       "functions.x.command: must be a list: the program and its arguments, not a string"},
      {{R"(functions.x={"command": []})"}, "functions.x.command: must not be empty"},
      {{R"(functions.x={"command": ["sort"], "plugin": "x.so"})"},
       "functions.x: must have one of module, plugin and command"},
      {{R"(functions.x={"command": ["sort"], "function": "f"})"}, "functions.x.function: only a plugin has 'function'"},
      {{R"(functions.x={"command": ["sort"], "timeout": "0s"})"}, "functions.x.timeout: must be positive"},
      {{R"(functions.x={"command": ["sort"], "arguments": [{"shape": []}]})"},
       "functions.x.arguments[0]: needs 'dtype'"},
      {{R"(functions.x={"command": ["sort"], "arguments": [{"dtype": "f32", "shape": [-1]}]})"},
       "functions.x.arguments[0].shape[0]: must be at least 0, not -1"},
      {{R"(functions.x={"command": ["sort"], "arguments": [{"name": "v", "dtype": "f32", "shape": [2]}]})"},
       "functions.x: needs 'inputs': the module takes (v: f32[2]) -> ()"},
  });
}

TEST_CASE("bad program: inputs") {
  check_all({
      {{"functions.train_step.inputs=null"},
       "functions.train_step: needs 'inputs': the module takes (w: f32[8, 2], b: f32[2], x: f32[4, 8], y: s32[4]) -> "
       "(f32[], f32[8, 2], f32[2])"},
      {{R"(functions.train_step.inputs=[{"variable": "w"}])"},
       "functions.train_step.inputs: 1 binding, but the module takes 4 arguments: (w: f32[8, 2], b: f32[2], x: f32[4, "
       "8], y: s32[4]) -> (f32[], f32[8, 2], f32[2])"},
      {{"functions.eval_step.inputs.x=null"}, "functions.eval_step.inputs: the module's argument 'x' is not bound"},
      {{R"(functions.eval_step.inputs.image={"dataset": "test"})"},
       "functions.eval_step.inputs: the module has no argument 'image': it takes (w: f32[8, 2], b: f32[2], x: f32[4, "
       "8], y: s32[4]) -> (f32[], f32[], f32[])"},
      {{"functions.eval_step.inputs.w.variable=W2"},
       "functions.eval_step.inputs.w: variable 'W2' is unknown (available: 'w', 'b', 'n' and 'fixed')"},
      {{"functions.train_step.inputs[1].variable=w"},
       "functions.train_step.inputs[1]: variable 'w' is f32[8, 2], but argument 'b' of step.mlir is f32[2]"},
      {{"functions.train_step.inputs[0]=[]"},
       "functions.train_step.inputs[0]: must be an object or a string, not a list"},
      {{"functions.train_step.inputs[0]={}"},
       "functions.train_step.inputs[0]: must have one of variable, variables, dataset, arg, kwarg, lookup and rng"},
      {{R"(functions.train_step.inputs[0]={"variabel": "w"})"},
       "functions.train_step.inputs[0].variabel: unknown key, did you mean 'variable'?"},
      {{R"(functions.train_step.inputs[0]={"variable": "w", "arg": 0})"},
       "functions.train_step.inputs[0]: has both 'variable' and 'arg'"},
      {{R"(functions.train_step.inputs[0]={"variable": "w", "field": "x"})"},
       "functions.train_step.inputs[0].field: unknown key"},
      {{R"(functions.train_step.inputs[0]={"variables": "enc/*"})"},
       "functions.train_step.inputs[0].variables: no variable matches 'enc/*'"},
      {{R"(functions.train_step.inputs[0]={"variables": "*"})"},
       "functions.train_step.inputs: 7 bindings, but the module takes 4 arguments: (w: f32[8, 2], b: f32[2], x: f32[4, "
       "8], y: s32[4]) -> (f32[], f32[8, 2], f32[2]); \"*\" is 4 of them"},
      {{R"(functions.eval_step.inputs.w={"variables": "w*"})"},
       "functions.eval_step.inputs.w: a group is several arguments: list the inputs in the order of the "
       "module's arguments"},
      {{R"(functions.train_step.inputs[0]={"rng": {"dtype": "u32", "shape": [2]}})"},
       "functions.train_step.inputs[0]: the random input is u32[2], but argument 'w' of step.mlir is f32[8, 2]"},
      {{R"(functions.train_step.inputs[0]={"rng": {"sed": 1}})"},
       "functions.train_step.inputs[0].rng.sed: unknown key, did you mean 'seed'?"},
      {{R"(functions.train_step.inputs[0]={"rng": {"seed": -1}})"},
       "functions.train_step.inputs[0].rng.seed: must be at least 0, not -1"},
      {{"functions.count.inputs[4]=loss_scale"},
       "functions.count.inputs[4]: needs an optimizer with \"on_nonfinite\": \"skip\" or a 'loss_scale'"},
      {{"optimizer.adam.on_nonfinite=skip", "functions.count.inputs[3]=loss_scale"},
       "functions.count.inputs[3]: needs a scalar f32 or f64, but argument 'step' of count.mlir is s64[]"},
      {{"optimizer.adam.loss_scale=8"},
       "optimizer.adam.loss_scale: no function takes it: bind the input \"loss_scale\" of the one that has the "
       "gradients"},
      {{R"(optimizer.adam.groups={"enc/*": {"learning_rate": 1}})"},
       "optimizer.adam.groups.enc/*: no variable matches 'enc/*'"},
      {{R"(optimizer.adam.groups={"fix*": {"learning_rate": 1}})"},
       "optimizer.adam.groups.fix*: no variable that matches 'fix*' is trainable"},
      {{R"(optimizer={"adamw": {"exclude_from_weight_decay": ["b", "*/bias"]}})"},
       "optimizer.adamw.exclude_from_weight_decay[1]: no variable matches '*/bias'"},
      {{R"(functions.train_step.inputs[0].sharding={"split": [2, 1]})"},
       "functions.train_step.inputs[0].sharding: needs 2 logical devices per replica, but a replica has one here: only "
       "the device assignment of TPUStrategy gives it more; without shardings it runs with --ignore-sharding",
       Code::kUnimplemented},
      {{R"(functions.train_step.inputs[0].sharding={"split": [2]})"},
       "functions.train_step.inputs[0].sharding.split: gives pieces for 1, not 2 dimensions: 'w' of step.mlir is "
       "f32[8, 2]"},
      {{R"(functions.train_step.inputs[0].sharding={"split": [3, 1]})"},
       "functions.train_step.inputs[0].sharding.split: dimension [0]: 8 doesn't divide into 3 pieces: 'w' of step.mlir "
       "is f32[8, "
       "2]"},
      {{R"(functions.train_step.inputs[0].sharding={"split": [0, 1]})"},
       "functions.train_step.inputs[0].sharding.split[0]: must be positive, not 0"},
      {{R"(functions.train_step.inputs[0].sharding={"split": [65536, 65536]})"},
       "functions.train_step.inputs[0].sharding.split[1]: 65536 is too large"},
      {{R"(functions.train_step.inputs[0].sharding={"splitt": [2, 1]})"},
       "functions.train_step.inputs[0].sharding.splitt: unknown key, did you mean 'split'?"},
      {{R"(functions.train_step.inputs[0].sharding={"split": [2, 1], "assign": 0})"},
       "functions.train_step.inputs[0].sharding: must have one of 'split' and 'assign'"},
      {{R"(functions.train_step.inputs[0].sharding="copy")"},
       "functions.train_step.inputs[0].sharding: must be \"replicate\", {\"split\": [2, 1]} or {\"assign\": 0}, not "
       "\"copy\""},
      {{R"(functions.train_step.inputs[0].sharding={"assign": -1})"},
       "functions.train_step.inputs[0].sharding.assign: must be at least 0, not -1"},
      {{R"(functions.train_step.inputs[0].sharding={"split": [2, 1]})",
        R"(functions.train_step.inputs[1].sharding={"split": [1]})"},
       "functions.train_step.inputs[1].sharding: splits into 1, but another sharding of this function splits into 2: "
       "each must cover all logical devices"},
      {{R"(functions.train_step.inputs[0].sharding={"split": [2, 1]})",
        R"(functions.train_step.outputs[0].sharding={"assign": 2})"},
       "functions.train_step.outputs[0].sharding: assigns to logical device 2, but there are only 2: another sharding "
       "of this function splits into that many"},
      {{R"(functions.train_step.outputs[0].sharding={"assign": 1})"},
       "functions.train_step.outputs[0].sharding: needs 2 logical devices per replica, but a replica has one here: "
       "only the device assignment of TPUStrategy gives it more; without shardings it runs with --ignore-sharding",
       Code::kUnimplemented},
      {{"functions.train_step.inputs[0]=stpe"},
       "functions.train_step.inputs[0]: input 'stpe' is unknown, did you mean 'step'?"},
      {{"functions.train_step.inputs[0]=step"},
       "functions.train_step.inputs[0]: needs a scalar s32, s64, u32 or u64, but argument 'w' of step.mlir is f32[8, "
       "2]"},
      {{"functions.count.inputs[3]=learning_rate"},
       "functions.count.inputs[3]: needs a scalar f32 or f64, but argument 'step' of count.mlir is s64[]"},
      {{"functions.count.inputs[1].arg=-1"}, "functions.count.inputs[1].arg: must be at least 0, not -1"},
      {{"functions.count.inputs[1].arg=1"}, "functions.count: arg 1 is bound, but arg 0 is not"},
      {{R"(functions.count.inputs[2]={"arg": 0, "field": "x"})"},
       "functions.count.inputs[2]: arg 0 is bound both with and without a field"},
      {{R"(functions.count.inputs[2]={"kwarg": ""})"}, "functions.count.inputs[2].kwarg: must not be empty"},
  });
}

TEST_CASE("bad program: outputs") {
  check_all({
      {{"functions.train_step.outputs=null"},
       "functions.train_step: needs 'outputs': the module is (w: f32[8, 2], b: f32[2], x: f32[4, 8], y: s32[4]) -> "
       "(f32[], f32[8, 2], f32[2])"},
      {{"functions.train_step.outputs={}"}, "functions.train_step.outputs: must be a list, not an object"},
      {{"functions.train_step.outputs=[]"},
       "functions.train_step.outputs: 0 bindings, but the module has 3 results: (w: f32[8, 2], b: f32[2], x: f32[4, "
       "8], y: s32[4]) -> (f32[], f32[8, 2], f32[2])"},
      {{R"(functions.train_step.outputs[0]={"metrik": "loss"})"},
       "functions.train_step.outputs[0].metrik: unknown key, did you mean 'metric'?"},
      {{"functions.train_step.outputs[0].reduce=max"},
       "functions.train_step.outputs[0].reduce: must be mean or sum, not 'max'"},
      {{"functions.eval_step.outputs[1].part=upper"},
       "functions.eval_step.outputs[1].part: must be numerator or denominator or true_positives or false_positives or "
       "true_negatives or false_negatives, not 'upper'"},
      {{"functions.eval_step.outputs[0].formula=root"},
       "functions.eval_step.outputs[0]: has a 'formula', but no 'part', of which it is computed"},
      {{"functions.eval_step.outputs[1].formula=square"},
       "functions.eval_step.outputs[1].formula: must be root or precision or recall or roc_auc or pr_auc, not "
       "'square'"},
      {{"functions.eval_step.outputs[1].formula=root"},
       "functions.eval_step.outputs[2]: the parts of metric 'accuracy' have different formulas"},
      {{"functions.eval_step.outputs[1].formula=recall", "functions.eval_step.outputs[2].formula=recall"},
       "functions.eval_step.outputs[1]: metric 'accuracy' isn't computed of numerator"},
      {{"functions.eval_step.outputs[1].part=true_positives"},
       "functions.eval_step.outputs[1]: metric 'accuracy' isn't computed of true_positives"},
      {{R"(functions.eval_step.outputs[1]={"metric": "auc", "formula": "pr_auc", "part": "true_positives"})"},
       "functions.eval_step.outputs[1]: pr_auc is computed of numbers for each of two thresholds or more, but result "
       "'result1' of eval.mlir is f32[]"},
      {{R"(functions.eval_step.outputs[1]={"metric": "a", "formula": "recall", "part": "true_positives"})",
        R"(functions.eval_step.outputs[2]={"metric": "a", "formula": "recall", "part": "true_positives"})"},
       "functions.eval_step.outputs[2]: metric 'a' appears twice"},
      {{R"(functions.eval_step.outputs[1]={"metric": "a", "formula": "recall", "part": "true_positives"})",
        R"(functions.eval_step.outputs[2]={"metric": "loss", "part": "numerator"})"},
       "functions.eval_step.outputs[1]: metric 'a' has no false_negatives"},
      {{"functions.eval_step.outputs[1].reduce=sum"},
       "functions.eval_step.outputs[1]: has both 'reduce' and 'part': the parts of a ratio are summed"},
      {{R"(functions.train_step.outputs[1]={"metric": "w"})"},
       "functions.train_step.outputs[1]: a metric is a scalar number, but result 'result1' of step.mlir is f32[8, 2]"},
      {{R"(functions.eval_step.outputs[2]={"metric": "loss"})"},
       "functions.eval_step.outputs[1]: metric 'accuracy' has no denominator"},
      {{R"(functions.eval_step.outputs[2]={"metric": "accuracy", "part": "numerator"})"},
       "functions.eval_step.outputs[2]: metric 'accuracy' appears twice"},
      {{"functions.train_step.outputs[1].gradient=b"},
       "functions.train_step.outputs[1]: variable 'b' is f32[2], but result 'result1' of step.mlir is f32[8, 2]"},
      {{"functions.train_step.outputs[2].gradient=fixed"},
       "functions.train_step.outputs[2]: variable 'fixed' is not trainable"},
      {{"functions.train_step.outputs[2].gradient=bb"},
       "functions.train_step.outputs[2]: variable 'bb' is unknown, did you mean 'b'?"},
      {{"functions.count.inputs[4]={\"arg\": 1}", "optimizer=null"},
       "functions.train_step.outputs[1]: a gradient needs an optimizer, but the program has none"},
      {{"optimizer=null", "functions.train_step=null", "train=null"},
       "functions.count.inputs[4]: the program has no optimizer"},
      {{R"(functions.count.outputs[1]={"result": 1})"},
       "functions.count.outputs[1]: result 1 is bound, but result 0 is not"},
      {{R"(functions.count.outputs[0]={"result": 0})"}, "functions.count.outputs[1]: result 0 appears twice"},
      {{"variables.b2={\"shape\": [2], \"init\": {\"zeros\": {}}}",
        "functions.eval_step.outputs=[{\"result\": 0}, {\"assign\": \"n\"}, {\"result\": 1}]"},
       "functions.eval_step.outputs[1]: variable 'n' is s64[], but result 'result1' of eval.mlir is f32[]"},
      {{R"(functions.train_step.outputs[0]={"gradients": "enc/*"})"},
       "functions.train_step.outputs[0].gradients: no variable matches 'enc/*'"},
      {{R"(functions.train_step.outputs[0]={"gradients": "fixed"})"},
       "functions.train_step.outputs[0].gradients: no variable that matches 'fixed' is trainable"},
      {{R"(functions.train_step.outputs[0]={"gradients": "*", "part": "values"})"},
       "functions.train_step.outputs[0].part: unknown key"},
      {{"functions.count.outputs[0].apply=sum"},
       "functions.count.outputs[0].apply: must be difference or last, not 'sum'"},
      {{"functions.train_step.outputs[1].apply=last"}, "functions.train_step.outputs[1].apply: unknown key"},
      {{"functions.count.inputs[0]={\"arg\": 1}", "functions.count.outputs[0].apply=difference"},
       "functions.count.outputs[0].apply: a difference is taken from the value that was read, but variable 'n' is not "
       "an input"},
      {{"variables.n.dtype=bool", "functions.count.outputs[0].apply=difference", "functions.count.module=flag.mlir"},
       "functions.count.outputs[0].apply: variable 'n' is bool: there is no difference to add"},
      {{R"(functions.count.outputs[0]={"assign": "enc/*"})"},
       "functions.count.outputs[0].assign: no variable matches 'enc/*'"},
      {{R"(functions.count.outputs[0]={"assign": "n*", "part": "values"})"},
       "functions.count.outputs[0].part: unknown key"},
      {{R"(functions.count.outputs[0]={"assign": "*"})"},
       "functions.count.outputs: 5 bindings, but the module has 2 results: (n: s64[], x: f32[3], by: s64[], step: "
       "s64[], "
       "rate: f32[]) -> (s64[], f32[3]); \"*\" is 4 of them"},
      {{"functions.count.returns=n"}, "functions.count.returns: must be a list of variables, not a string"},
      {{"functions.count.returns=[\"m\"]"},
       "functions.count.returns[0]: variable 'm' is unknown (available: 'w', 'b', 'n' and 'fixed')"},
      {{"functions.count.returns=[\"n\", \"n\"]"}, "functions.count.returns[1]: variable 'n' appears twice"},
  });
}

TEST_CASE("bad program: train") {
  check_all({
      {{"train.function=null"}, "train: needs 'function'"},
      {{"train.function=train_stpe"}, "train.function: function 'train_stpe' is unknown, did you mean 'train_step'?"},
      {{"train.function=count"},
       "train.function: 'count' takes arguments, but nothing passes any here: bind its inputs to a dataset"},
      {{"train.steps=0"}, "train.steps: must be positive, not 0"},
      {{"train.steps=many"}, "train.steps: must be a whole number, not a string"},
      {{"train.steps=1.5"}, "train.steps: must be a whole number, not 1.5"},
      {{"train.steps=18446744073709551615"}, "train.steps: 18446744073709551615 is too large"},
      {{"train.steps=3", "train.epochs=2"}, "train: has both 'steps' and 'epochs'"},
      {{"train.steps=null"}, "train: needs 'steps': dataset 'train' never ends"},
      {{"train.steps=null", "train.epochs=2"}, "train.epochs: dataset 'train' never ends: set 'steps'"},
      {{"train.max_time=soon"}, "train.max_time: 'soon' is not a duration (e.g. 250ms, 30s, 1m30s)"},
      {{"train.max_time=0s"}, "train.max_time: must be positive"},
      {{"train.stop={}", "train.evaluate.every=null"},
       "train.stop: needs train.evaluate with 'every': it looks at evaluations between the steps"},
      {{"train.stop={}"}, "train.stop: needs 'metric'"},
      {{R"(train.stop={"metric": "los"})"},
       "train.stop.metric: metric of the evaluation 'los' is unknown, did you mean 'loss'?"},
      {{R"(train.stop={"metric": "loss", "patience": 0})"}, "train.stop.patience: must be positive, not 0"},
      {{R"(train.stop={"metric": "loss", "mode": "low"})"}, "train.stop.mode: must be \"min\" or \"max\", not \"low\""},
      {{R"(train.stop={"metric": "loss", "min_delta": -1})"}, "train.stop.min_delta: must not be negative"},
      {{"train.checkpoint.dir=null"}, "train.checkpoint: needs 'dir'"},
      {{"train.checkpoint.every=0"}, "train.checkpoint.every: must be positive, not 0"},
      {{"train.checkpoint.every=true"},
       "train.checkpoint.every: must be a number of steps, a duration like \"10m\", or \"never\", not a bool"},
      {{"train.checkpoint.resume=yes"}, "train.checkpoint.resume: must be \"auto\" or false"},
      {{"train.checkpoint.on=all"}, "train.checkpoint.on: must be \"chief\" or \"hosts\", not \"all\""},
      {{"train.checkpoint.keep=-1"}, "train.checkpoint.keep: must be at least 0, not -1"},
      {{R"(train.checkpoint.keep_best={"metric": "loss", "patience": 2})"},
       "train.checkpoint.keep_best.patience: unknown key"},
      {{"train.evaluate.function=eval_stpe"},
       "train.evaluate.function: function 'eval_stpe' is unknown, did you mean 'eval_step'?"},
      {{"train.evaluate.function=train_step"},
       "train.evaluate.function: 'train_step' updates variables, which an evaluation must not do"},
      {{"train.evaluate.every=0"}, "train.evaluate.every: must be positive, not 0"},
      {{R"(datasets.test=[{"range": 4}, {"repeat": {}}, {"batch": {"size": 4}}])",
        R"(functions.eval_step={"module": "eval.mlir", "inputs": [{"variable": "w"}, {"variable": "b"}, {"dataset": "train", "field": "image"}, {"dataset": "train", "field": "label"}], "outputs": [{"metric": "a"}, {"metric": "b"}, {"metric": "c"}]})"},
       "train.evaluate: dataset 'train' never ends: set 'steps'"},
      {{R"(functions.eval_step.outputs=[{"result": 0}, {"result": 1}, {"result": 2}])"},
       "train.evaluate.function: 'eval_step' has no metric"},
  });
}

}  // namespace
}  // namespace tfd::program
