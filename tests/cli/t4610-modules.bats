#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Modules with hazards: exports for several platforms, tokens, custom calls, batches that no module takes.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

MODULES=${TFD_SOURCE:-$BATS_TEST_DIRNAME/../..}/tests/golden/modules

check() { tfd-coordinate --check "$@" </dev/null; }

program() { # MODULE, what else the function states
  cp "$MODULES/${1%.*}".* .
  echo "{\"v\": 1, \"functions\": {\"f\": {\"module\": \"$1\", ${2:-} \"inputs\": [{\"arg\": 0}], \"outputs\": [{\"result\": 0}]}}}" >program.json
}

call() { # ARGUMENT
  echo "{\"op\": \"schedule\", \"function\": \"f\", \"args\": [$1]}" >closures
  run --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --closures closures
}

@test "modules: an export for several platforms gets the index of the worker's, as text and as bytecode" {
  serve --jobs worker=1,ps=1
  for module in by_platform.mlir by_platform.mlirbc; do
    program "$module" '"platforms": ["cuda", "cpu", "tpu"],'
    call '[1, 2, 3]'
    [ "$status" = 0 ]
    [ "$(jq '.value == [2, 4, 6]' <<<"$output")" = true ]
  done
  program by_platform.mlir '"platforms": ["cpu", "cuda", "tpu"],' # another order is another function
  call '[1, 2, 3]'
  [ "$(jq '.value == [3, 6, 9]' <<<"$output")" = true ]
  program platforms.mlir # doesn't ask where it is
  call 41
  [ "$(jq '.value == 42' <<<"$output")" = true ]
}

@test "modules: an export for several platforms must say for which, and this one must be among them" {
  program by_platform.mlir
  run -65 --separate-stderr check program.json
  [[ $stderr == *'program.json: functions.f.module: by_platform.mlir is a jax.export for several platforms'*'"platforms": ["cpu", "cuda"]' ]]
  program by_platform.mlir '"platforms": ["cuda", "rocm", "tpu"],'
  run -0 --separate-stderr check program.json
  serve --jobs worker=1,ps=1
  call '[1, 2, 3]'
  [ "$status" != 0 ]
  [[ $stderr == *"functions.f: by_platform.mlir is for cuda, rocm and tpu (its 'platforms'), but this task's plug-in is for cpu"* ]]
}

@test "modules: --check compiles what has custom calls, and names those that the plug-in lacks" {
  program cholesky.mlir # LAPACK's
  run -0 --separate-stderr check program.json
  [[ $stderr == *": ok" ]]
  sed -i 's/lapack_spotrf_ffi/cusolver_potrf_ffi/' cholesky.mlir
  run -65 --separate-stderr check program.json
  [[ $stderr == *"program.json: functions.f.module: cholesky.mlir needs a custom call that the plug-in for cpu doesn't have: "*cusolver_potrf_ffi* ]]
  run -65 --separate-stderr tfd-run --cluster none --function f --check program.json </dev/null
  [[ $stderr == *"functions.f.module: cholesky.mlir needs a custom call"* ]]
  program kernels.mlir '"platforms": ["cpu", "cuda"],' # those of the branch for cuda don't matter
  run -0 --separate-stderr check program.json
  [[ $stderr == *": ok" ]]
  program kernels.mlir '"platforms": ["tpu", "cuda"],' # for other hosts than this one
  run -0 --separate-stderr check program.json
  [[ $stderr == *"kernels.mlir has the custom calls 'lapack_spotrf_ffi' and 'cusolver_potrf_ffi', which the workers' plug-in must support"* ]]
  TFD_PJRT_PLUGIN=$T/none run -0 --separate-stderr check program.json
  [[ $stderr == *"which the workers' plug-in must support"*": ok" ]]
}

@test "modules: tokens and calls into Python are said as what they are" {
  program platforms.mlir
  cat >platforms.mlir <<'MLIR'
module @f {
  func.func public @main(%token: !stablehlo.token, %x: tensor<f32>) -> (!stablehlo.token, tensor<f32>) {
    return %token, %x : !stablehlo.token, tensor<f32>
  }
}
MLIR
  run -65 --separate-stderr check program.json
  [[ $stderr == *"functions.f.module: platforms.mlir: line 2: argument 0 (%token) is a token: the function has ordered effects"* ]]
  cat >platforms.mlir <<'MLIR'
module @f {
  func.func public @main(%x: tensor<f32>) -> tensor<f32> {
    stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {has_side_effect = true} : (tensor<f32>) -> ()
    return %x : tensor<f32>
  }
}
MLIR
  run -65 --separate-stderr check program.json
  [[ $stderr == *"platforms.mlir calls back into Python ('xla_ffi_python_cpu_callback'"* ]]
}

@test "modules: the rest of an evaluation's pass needs its module, which the check or the run names" {
  cp "$EXAMPLES/linear/step.mlir" .
  printf '%s\n' 0,1 1,3 2,5 3,7 4,9 5,11 >rows.csv
  cat >program.json <<'JSON'
{"v": 1, "variables": {"w": {"shape": [], "init": {"zeros": {}}}, "b": {"shape": [], "init": {"zeros": {}}}},
 "optimizer": {"sgd": {"learning_rate": 0.01}},
 "datasets": {"train": [{"csv": {"path": "rows.csv", "fields": {"x": {"columns": 0}, "y": {"columns": 1}}}}, {"repeat": {}}, {"batch": {"size": 4, "drop_remainder": true}}],
              "test": [{"csv": {"path": "rows.csv", "fields": {"x": {"columns": 0}, "y": {"columns": 1}}}}, {"batch": 4}]},
 "functions": {"step": {"module": "step.mlir", "inputs": {"w": {"variable": "w"}, "b": {"variable": "b"}, "x": {"dataset": "train", "field": "x"}, "y": {"dataset": "train", "field": "y"}},
                        "outputs": [{"metric": "loss"}, {"gradient": "w"}, {"gradient": "b"}]},
               "test": {"module": "step.mlir", "inputs": {"w": {"variable": "w"}, "b": {"variable": "b"}, "x": {"dataset": "test", "field": "x"}, "y": {"dataset": "test", "field": "y"}},
                        "outputs": [{"metric": "loss"}, {"result": 0}, {"result": 1}]}},
 "train": {"function": "step", "steps": 2, "evaluate": {"function": "test"}}}
JSON
  serve --jobs worker=1,ps=1
  run --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  [ "$status" != 0 ]
  [[ $stderr == *"test: no module accepts batch size 2 (available: 4): argument 2 (x) is f32[2]"* ]]
  known='datasets.test[0]={"tensor_slices": {"fields": {"x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "y": [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]}}}'
  run -65 --separate-stderr check program.json --set "$known"
  [[ $stderr == *"functions.test: no module accepts batch size 2 of dataset 'test' (available: 4): export it for any batch size (tfd-export(1)), or pad batches, with a mask (\"pad_remainder\": true)" ]]
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --set "$known" --set 'datasets.test[1]={"batch": {"size": 4, "drop_remainder": true}}'
  [ "$(jq -c 'select(.event == "eval") | .metrics | keys' <<<"$output")" = '["loss"]' ]
}

@test "modules: replicas that share a batch need modules for their shares" {
  cp "$EXAMPLES/linear/step.mlir" "$EXAMPLES/linear/program.json" .
  run -65 --separate-stderr tfd-run --cluster none --replicas 2 --check program.json --set train.replicas=split </dev/null
  [[ $stderr == *"functions.step: 2 replicas share a batch of 4 of dataset 'points', and no module accepts 2 (available: 4): export it for any batch size"* ]]
  run -0 --separate-stderr tfd-run --cluster none --replicas 2 --check program.json --set train.replicas=split --set 'datasets.points[2].batch.size=8' </dev/null
  serve --jobs worker=1,ps=1 --devices 2
  run --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --set train.replicas=split
  [ "$status" != 0 ]
  [[ $stderr == *"step: no module accepts batch size 2 (available: 4): argument 2 (x) is f32[2]"* ]]
}

@test "modules: a sharding that needs no second logical device runs, another says how many it needs" {
  cp "$EXAMPLES/linear/step.mlir" "$EXAMPLES/linear/program.json" .
  run -0 --separate-stderr timeout 60 tfd-run --cluster none program.json --set train.steps=2 \
    --set 'functions.step.inputs.x.sharding={"split": [1]}' --set 'functions.step.outputs[0].sharding="replicate"'
  run --separate-stderr check program.json --set 'functions.step.inputs.x.sharding={"split": [4]}'
  [ "$status" != 0 ]
  [[ $stderr == *"functions.step.inputs.x.sharding: needs 4 logical devices per replica, but a replica has one here: only the device assignment of TPUStrategy gives it more; without shardings it runs with --ignore-sharding" ]]
}
