#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Batches of any size: one module for all of them (a template), masks that let a batch be filled up, and programs that state
# shardings on devices that have none. The same rows in a module of exactly their size are the reference.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# The line's step for SIZE rows, or for any: numbers of its text that are the batch.
line_module() { # SIZE
  sed "s/tensor<4xf32>/tensor<$1xf32>/g; s/%count = stablehlo.constant dense<4.0>/%count = stablehlo.constant dense<${2:-$1.0}>/" "$EXAMPLES/linear/step.mlir"
}

# Nineteen rows in batches of eight: the last one has three.
line_program() { # MODULE (JSON)
  cat >rows.json <<JSON
{"v": 1, "variables": {"w": {"shape": [], "init": {"zeros": {}}}, "b": {"shape": [], "init": {"zeros": {}}}},
 "optimizer": {"sgd": {"learning_rate": 0.1}},
 "datasets": {"rows": [{"tensor_slices": {"fields": {
     "x": [0.1, -0.4, 0.9, 1.3, -1.2, 0.3, 0.8, -0.7, 1.1, 0.2, -0.9, 0.5, 1.4, -0.1, 0.6, -1.3, 0.4, 0.7, -0.6],
     "y": [1.2, 0.3, 2.7, 3.6, -1.5, 1.4, 2.8, -0.3, 3.3, 1.3, -0.7, 2.1, 3.7, 0.9, 2.0, -1.7, 1.9, 2.3, -0.1]}}}, {"batch": {"size": 8}}]},
 "functions": {
   "step": {"module": $1, "inputs": {"w": {"variable": "w"}, "b": {"variable": "b"}, "x": {"dataset": "rows", "field": "x"}, "y": {"dataset": "rows", "field": "y"}},
            "outputs": [{"metric": "loss"}, {"gradient": "w"}, {"gradient": "b"}]},
   "test": {"module": $1, "inputs": {"w": {"variable": "w"}, "b": {"variable": "b"}, "x": {"dataset": "test", "field": "x"}, "y": {"dataset": "test", "field": "y"}},
            "outputs": [{"metric": "loss"}, {"result": 0}, {"result": 1}]},
   "error": {"module": $1, "inputs": {"w": {"variable": "w"}, "b": {"variable": "b"}, "x": {"arg": 0}, "y": {"arg": 1}},
             "outputs": [{"result": 0}, {"result": 1}, {"result": 2}]}},
 "train": {"function": "step", "epochs": 3, "log_every": 1, "evaluate": {"function": "test"}}}
JSON
  jq '.datasets.test = .datasets.rows' rows.json >program.json
}

any_line() {
  { printf '// tfd-template: b=64, a module for any batch size b\n'; line_module '${b}' '${1.0*b}'; } >any.mlirt
  line_program '"any.mlirt"'
}

# Losses of the steps, and of the evaluation at the end, a line each.
losses() { # ARGS…
  timeout 120 tfd-run -q program.json "$@" </dev/null >said
  jq 'select(.event == "step" or .event == "eval").metrics.loss' said
}
losses_of_workers() { # WORKERS ARGS…
  local workers=$1
  shift
  timeout 120 tfd-serve --jobs "worker=$workers,ps=1" -- tfd-coordinate -q program.json "$@" >said
  jq 'select(.event == "step" or .event == "eval").metrics.loss' said
}
same() { # FILE FILE [COUNT]
  [ "$(wc -l <"$1")" = "${3:-10}" ]
  paste "$1" "$2" | awk '{ d = $1 - $2; if (NF != 2 || d > 2e-6 || d < -2e-6) { print "line " NR ": " $0; exit 1 } }'
}

# Three replicas that share the batches have these losses too, on every way.
same_of_three() { # FILE
  local way
  for way in threads fused; do
    losses --strategy mirrored --devices 3 --step $way --set train.replicas=split >shared
    same "$1" shared
  done
  losses --strategy central-storage --devices 3 --set train.replicas=split >shared
  same "$1" shared
}

@test "any batch: one module trains, evaluates and shares batches of all sizes as a module for each does" {
  for size in 8 3 2 1; do line_module $size >step_$size.mlir; done
  line_program '["step_8.mlir", "step_3.mlir", "step_2.mlir", "step_1.mlir"]'
  losses >listed
  any_line
  losses >one
  cmp listed one
  # 3, 3 and 2 rows, and of the last batch one each: their mean is that of the batch, by the rows of each.
  same_of_three listed
  # Batches of their own: two of eight rows, then one of three.
  losses --strategy mirrored --devices 2 --set train.epochs=1 --set train.evaluate=null >own
  [ "$(wc -l <own)" = 2 ]
}

@test "any batch: workers get the one module, and make of it what their batches need" {
  any_line
  losses >one
  losses_of_workers 1 >worker
  same one worker
  losses_of_workers 1 --set train.replicas=split >shared
  same one shared
  timeout 120 tfd-serve --jobs worker=1,ps=1 --devices 3 -- tfd-coordinate -q program.json --set train.replicas=split >said
  jq 'select(.event == "step" or .event == "eval").metrics.loss' said >shared
  same one shared
  echo '{"op": "schedule", "function": "error", "args": [[1, 2, 3], [2, 4, 9]]}' >closures
  run -0 --separate-stderr timeout 120 tfd-serve --jobs worker=1,ps=1 -- tfd-coordinate -q program.json --set train=null --closures closures
  jq -es '.[0].value[0] | . > 33.66 and . < 33.67' <<<"$output"
}

@test "any batch: what is known beforehand is compiled beforehand, and the rest when it comes" {
  any_line
  run -0 --separate-stderr tfd-run --check --json program.json </dev/null
  [ "$(jq -c '[.functions[].modules[].module]' <<<"$output")" = '["any.mlirt (b=8)","any.mlirt (b=3)","any.mlirt (b=8)","any.mlirt (b=3)","any.mlirt (b=64)"]' ]
  run -0 --separate-stderr tfd-run --explain --json program.json </dev/null
  [ "$(jq -r .step.module <<<"$output")" = 'any.mlirt (b=8)' ]
}

@test "any batch: predictions are of as many rows as there are" {
  any_line
  sed 's/return .*/return %prediction : tensor<${b}xf32>/; s/-> (tensor<f32>, tensor<f32>, tensor<f32>)/-> tensor<${b}xf32>/' any.mlirt >predict.mlirt
  predict='functions.predict={"module": "predict.mlirt", "inputs": [{"variable": "w"}, {"variable": "b"}, {"arg": 0, "field": "x"}, {"arg": 0, "field": "y"}], "outputs": [{"result": 0}]}'
  for size in 64 8; do # fewer than the template's own size, and more
    sed -i "1s/b=[0-9]*/b=$size/" predict.mlirt
    run -0 --separate-stderr tfd-run -q program.json --set "$predict" --set variables.b.init='{"value": 2}' --set variables.w.init='{"value": 3}' \
      --untrained --predict predict --dataset rows </dev/null
    [ "${#lines[@]}" = 19 ]
    awk -v x="0.1 -0.4 0.9 1.3 -1.2 0.3 0.8 -0.7 1.1 0.2 -0.9 0.5 1.4 -0.1 0.6 -1.3 0.4 0.7 -0.6" 'BEGIN { split(x, of, " ") }
      { d = $1 - (3 * of[NR] + 2); if (d > 1e-5 || d < -1e-5) exit 1 }' <<<"$output"
  done
}

@test "any batch: a template that isn't one gets one line" {
  any_line
  sed -i 's/dense<${1.0\*b}>/dense<${1.0*}>/' any.mlirt
  run -65 --separate-stderr tfd-run --check program.json </dev/null
  [ "$(grep -c "program.json: functions.step.module: any.mlirt: line 7: '\${1.0\*}': a number, b or '(' is missing" <<<"$stderr")" = 1 ]
  any_line
  sed -i '1s/b=64/batch/' any.mlirt
  run -65 --separate-stderr tfd-run --check program.json </dev/null
  [[ $stderr == *"functions.step.module: any.mlirt: line 1: must be '// tfd-template: b=64', with a batch size that it is for"* ]]
  any_line
  sed -i 's/tensor<${b}xf32> loc("y")/tensor<${b-8}xf32> loc("y")/' any.mlirt
  run -65 --separate-stderr tfd-run --check program.json </dev/null
  [[ $stderr == *"no module accepts batch size 8 of dataset 'rows'"* || $stderr == *"any.mlirt"* ]]
}

# Loss and gradients of the rows that are data.
masked_module() { # SIZE
  line_module "$1" | sed -e "s/loc(\"y\"))/loc(\"y\"), %arg4: tensor<$1xf32> loc(\"mask\"))/" \
    -e 's/%count = .*/%count = stablehlo.reduce(%arg4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<'"$1"'xf32>, tensor<f32>) -> tensor<f32>/' \
    -e "s/%error = stablehlo.subtract %prediction, %arg3/%all = stablehlo.subtract %prediction, %arg3/" \
    -e "/%all = /a %error = stablehlo.multiply %all, %arg4 : tensor<$1xf32>"
}
masked_program() { # MODULE (JSON)
  line_program "$1"
  jq '.functions.step.inputs.mask = {"dataset": "rows", "field": "mask"} | .functions.test.inputs.mask = {"dataset": "test", "field": "mask"} |
    .datasets[][1].batch.pad_remainder = true | del(.functions.error)' program.json >masked.json
  mv masked.json program.json
}

@test "masks: a batch that no module takes is filled up, and its loss is that of its rows" {
  any_line
  losses >one
  masked_module 8 >eight.mlir
  masked_module 4 >four.mlir
  masked_module 20 >twenty.mlir
  masked_program '["eight.mlir"]'
  losses >padded
  same one padded
  masked_program '["four.mlir", "twenty.mlir"]' # eight rows go into twenty, the shares of three replicas into four
  losses >padded
  same one padded
  same_of_three one
  timeout 120 tfd-serve --jobs worker=1,ps=1 --devices 3 -- tfd-coordinate -q program.json --set train.replicas=split >said
  jq 'select(.event == "step" or .event == "eval").metrics.loss' said >shared
  same one shared
}

@test "any batch and masks: --evaluate takes any number of lines of stdin" {
  evaluated() { timeout 60 tfd-run -q program.json --evaluate=test --untrained "$@" | jq .metrics.loss; }
  any_line
  jq -c '.datasets.test[0].tensor_slices.fields | [.x, .y] | transpose[] | {x: .[0], y: .[1]}' program.json >lines
  evaluated </dev/null >one
  [ "$(wc -l <lines)" = 19 ]
  evaluated --dataset - <lines >any
  same one any 1
  masked_module 8 >eight.mlir
  masked_program '["eight.mlir"]'
  evaluated --dataset - <lines >padded
  same one padded 1
}

@test "masks: without one, and without a module that fits, nothing runs, and both remedies are named" {
  line_module 8 >eight.mlir
  line_program '["eight.mlir"]'
  run -65 --separate-stderr tfd-run program.json </dev/null
  [[ $stderr == *"functions.step: no module accepts batch size 3 of dataset 'rows' (available: 8): export it for any batch size (tfd-export(1)), or pad batches, with a mask (\"pad_remainder\": true)"* ]]
  [ -z "$output" ]
  masked_module 4 >four.mlir
  masked_program '["four.mlir"]' # eight rows don't go into four
  run -65 --separate-stderr tfd-run program.json </dev/null
  [[ $stderr == *"functions.step: no module accepts batch size 8 of dataset 'rows' (available: 4)"* ]]
}

@test "shardings: ignored, a program runs on one device, on two and in a cluster, as over the cores" {
  PROGRAM=$EXAMPLES/matmul/program.json
  order=(--set 'datasets.train[1].shuffle.buffer=1' --set train.log_every=1 --set train.steps=20 --set train.evaluate=null)
  run --separate-stderr tfd-run --check "$PROGRAM" </dev/null
  [ "$status" != 0 ]
  [[ $stderr == *"needs 2 logical devices per replica, but a replica has one here"*"without shardings it runs with --ignore-sharding"* ]]
  run -0 --separate-stderr tfd-run --check --ignore-sharding "$PROGRAM" </dev/null
  run -0 --separate-stderr tfd-coordinate --check --ignore-sharding "$PROGRAM" --cluster <(tfd-resolve local --jobs worker=1,ps=1) </dev/null
  cp -r "$EXAMPLES/matmul" "$EXAMPLES/digits" .
  cd matmul
  losses --strategy tpu --topology 1x1x1x2 --computation-shape 1,1,1,2 --spmd "${order[@]}" >cores
  losses --ignore-sharding "${order[@]}" >one
  same cores one 20
  losses --ignore-sharding --strategy mirrored --devices 2 --set train.replicas=split "${order[@]}" >two
  same cores two 20
  losses --ignore-sharding --strategy tpu --topology 1x1x1x2 --computation-shape 1,1,1,2 --spmd "${order[@]}" >ignored
  same cores ignored 20
  losses_of_workers 1 --ignore-sharding "${order[@]}" >worker
  same cores worker 20
}
