#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Bindings of a program: groups, names, weights from one file, random inputs, the loss scale.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# The metrics of every step, as they are in the events.
steps_of() { jq -c 'select(.event == "step") | [.step, .metrics]' <<<"$output"; }

check() { tfd-coordinate --check "$@" </dev/null; }

# Every step's metrics are what it drew.
drawing_program() { # TRAIN, JSON
  cat >"$T/draw.mlir" <<'MLIR'
module @draw {
  func.func public @main(%key: tensor<2xui32>, %noise: tensor<f32>) -> (tensor<ui32>, tensor<f32>, tensor<f32>) {
    %0 = stablehlo.slice %key [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %first = stablehlo.reshape %0 : (tensor<1xui32>) -> tensor<ui32>
    return %first, %noise, %noise : tensor<ui32>, tensor<f32>, tensor<f32>
  }
}
MLIR
  cat >"$T/program.json" <<JSON
{"v": 1, "seed": 11,
 "variables": {"sum": {"shape": [], "init": {"zeros": {}}}},
 "functions": {"draw": {"module": "draw.mlir", "inputs": {"key": {"rng": {"dtype": "ui32", "shape": [2]}}, "noise": "rng"},
   "outputs": [{"metric": "key"}, {"metric": "noise"}, {"assign_add": "sum"}]},
  "call": {"module": "draw.mlir", "inputs": ["rng", "rng"], "outputs": [{"result": 0}, {"result": 1}, {"result": 2}]}},
 "train": $1}
JSON
}

# The gradient of w is 1, times the loss scale, but infinite in steps 2 and 3.
overflowing_program() { # OPTIMIZER SETTINGS
  cat >"$T/overflow.mlir" <<'MLIR'
module @overflow {
  func.func public @main(%step: tensor<i32>, %scale: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %0 = stablehlo.compare EQ, %step, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = stablehlo.compare EQ, %step, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.or %0, %1 : tensor<i1>
    %3 = stablehlo.select %2, %inf, %scale : tensor<i1>, tensor<f32>
    return %scale, %3 : tensor<f32>, tensor<f32>
  }
}
MLIR
  cat >"$T/program.json" <<JSON
{"v": 1,
 "variables": {"w": {"shape": [], "init": {"zeros": {}}}},
 "optimizer": {"sgd": {"learning_rate": 1$1}},
 "functions": {"step": {"module": "overflow.mlir", "inputs": ["step", "loss_scale"], "outputs": [{"metric": "scale"}, {"gradient": "w"}]}},
 "train": {"function": "step", "steps": 8, "log_every": 1, "checkpoint": {"dir": "ck", "every": 5}}}
JSON
}

@test "bindings: a group, and arguments by name, train as the list does" {
  cp "$EXAMPLES/linear/program.json" "$EXAMPLES/linear/step.mlir" .
  serve --jobs worker=1,ps=2
  train=(timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --set train.steps=20 --set train.log_every=1)
  run -0 --separate-stderr "${train[@]}"
  expected=$(steps_of)
  [ "$(wc -l <<<"$expected")" = 20 ]
  run -0 --separate-stderr "${train[@]}" --set 'functions.step.inputs=[{"variables": "*"}, {"dataset": "points", "field": "x"}, {"dataset": "points", "field": "y"}]' \
    --set 'functions.step.outputs=[{"metric": "loss"}, {"gradients": "*"}]'
  [ "$(steps_of)" = "$expected" ]
  run -0 --separate-stderr "${train[@]}" --set 'functions.step.inputs={"y": {"dataset": "points", "field": "y"}, "x": {"dataset": "points", "field": "x"}, "b": {"variable": "b"}, "w": {"variable": "w"}}'
  [ "$(steps_of)" = "$expected" ]
}

@test "bindings: what is wrong with a group or a name is said with its place" {
  cp "$EXAMPLES/linear/program.json" "$EXAMPLES/linear/step.mlir" .
  list='functions.step.inputs=[{"variable": "w"}, {"variable": "b"}, {"dataset": "points", "field": "x"}, {"dataset": "points", "field": "y"}]'
  run -65 --separate-stderr check program.json --set "$list" --set 'functions.step.inputs[0]={"variables": "enc/*"}'
  [[ $stderr == *"functions.step.inputs[0].variables: no variable matches 'enc/*'" ]]
  run -65 --separate-stderr check program.json --set "$list" --set 'functions.step.inputs[0]={"variables": "*"}'
  [[ $stderr == *"functions.step.inputs: 5 bindings, but the module takes 4 arguments: "*'; "*" is 2 of them' ]]
  run -65 --separate-stderr check program.json --set 'functions.step.inputs={"w": {"variable": "w"}, "c": {"variable": "b"}}'
  [[ $stderr == *"functions.step.inputs: the module has no argument 'c'"* ]]
  run -65 --separate-stderr check program.json --set 'functions.step.inputs={"w": {"variable": "w"}}'
  [[ $stderr == *"functions.step.inputs: the module's argument 'b' is not bound" ]]
  sed 's/"inputs": {/"inputs": {"w": {"variable": "b"}, /' program.json >twice.json
  run -65 --separate-stderr check twice.json
  [[ $stderr == *"functions.step.inputs: key 'w' appears twice" ]]
  run -65 --separate-stderr check program.json --set "$list" --set 'functions.step.inputs[0]={}'
  [[ $stderr == *"must have one of variable, variables, dataset, arg, kwarg, lookup and rng" ]]
}

@test "weights: a checkpoint initialises another run, and what it lacks is said before anything runs" {
  cp "$EXAMPLES/linear/program.json" "$EXAMPLES/linear/step.mlir" .
  serve --jobs worker=1,ps=2
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --set train.steps=30 --set train.checkpoint.dir=ck
  read_both() { timeout 60 tfd-coordinate -q program.json --cluster spec.json --keep-servers --ordered "$@" | jq -c .value | paste -sd' '; }
  printf '%s\n' '{"op": "restore", "path": "ck"}' '{"op": "read", "variable": "w"}' '{"op": "read", "variable": "b"}' >restored
  printf '%s\n' '{"op": "read", "variable": "w"}' '{"op": "read", "variable": "b"}' >fresh
  restored=$(read_both --closures restored)
  [ "null $(read_both --set weights=ck/step-00000030.safetensors --closures fresh)" = "$restored" ]
  [[ $(read_both --closures fresh) =~ ^0(\.0)?\ 0(\.0)?$ ]]
  run -65 --separate-stderr check program.json --set weights=ck/step-00000030.safetensors --set 'variables.v={"shape": []}'
  [[ $stderr == *"weights: $T/ck/step-00000030.safetensors has no 'v'" ]]
  run -65 --separate-stderr check program.json --set weights=ck/step-00000030.safetensors --set variables.w.dtype=f64
  [[ $stderr == *"weights: $T/ck/step-00000030.safetensors: w is f32[], but the variable is f64[]"* ]]
  run -65 --separate-stderr check program.json --set weights=none.safetensors
  [[ $stderr == *"none.safetensors"* ]]
}

@test "random inputs: every run of the same seed draws the same, however many workers, and another seed others" {
  drawing_program '{"function": "draw", "steps": 30, "log_every": 1}'
  serve --jobs worker=2,ps=1
  train=(timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers)
  run -0 --separate-stderr "${train[@]}"
  first=$(steps_of)
  [ "$(sort -u <<<"$first" | wc -l)" = 30 ]
  jq -es '[.[] | select(.event == "step") | .metrics] | ([.[].key] | unique | length == 30) and all(.noise >= 0 and .noise < 1)' <<<"$output"
  run -0 --separate-stderr "${train[@]}"
  [ "$(steps_of)" = "$first" ]
  run -0 --separate-stderr timeout 60 bash -c 'tfd-resolve local --jobs worker=1,ps=1 | tfd-serve | tfd-coordinate program.json'
  [ "$(steps_of)" = "$first" ]
  run -0 --separate-stderr "${train[@]}" --set seed=12
  [ "$(steps_of)" != "$first" ]
  # Closures are numbered by themselves: two of the same function differ, and the next run's are the same.
  printf '%s\n' '{"op": "schedule", "function": "call"}' '{"op": "schedule", "function": "call"}' >closures
  run -0 --separate-stderr "${train[@]}" --ordered --closures closures
  [ "$(jq -c .value <<<"$output" | sort -u | wc -l)" = 2 ]
  closures=$output
  run -0 --separate-stderr "${train[@]}" --ordered --closures closures
  [ "$output" = "$closures" ]
  # Those of a step draw what that step draws, whatever their numbers.
  printf '{"op": "schedule", "function": "call", "step": %s}\n' 3 3 4 >closures
  run -0 --separate-stderr "${train[@]}" --ordered --closures closures
  [ "$(jq -c '.value' <<<"${lines[0]}")" = "$(jq -c '.value' <<<"${lines[1]}")" ]
  [ "$(jq -c '.value' <<<"${lines[0]}")" != "$(jq -c '.value' <<<"${lines[2]}")" ]
}

@test "random inputs: a run that was stopped and continued, and one whose worker was killed, draw what one in peace does" {
  drawing_program '{"function": "draw", "steps": 2000, "log_every": 1, "checkpoint": {"dir": "ck"}}'
  serve --jobs worker=2,ps=1
  train=(timeout 100 tfd-coordinate program.json --cluster spec.json --keep-servers)
  run -0 --separate-stderr "${train[@]}" --set train.checkpoint=null
  expected=$(steps_of)
  run -0 --separate-stderr "${train[@]}" --set train.steps=700
  before=$(steps_of)
  run -0 --separate-stderr "${train[@]}" --set train.steps=1500
  [ "$(jq -c 'select(.event == "start") | .step' <<<"$output")" = 700 ]
  [ "$(printf '%s\n' "$before" "$(steps_of)")" = "$(head -1500 <<<"$expected")" ]
  coordinate program.json --cluster spec.json --keep-servers --set train.checkpoint=null --set train.steps=100000000
  event '.event == "step" and .step == 1'
  echo "$EVENT" >seen # event() itself is too slow for thousands
  kill -KILL "$(task_pid worker:0)"
  for ((step = 2; step <= 2000; )); do
    IFS= read -r -t 30 -u 6 EVENT
    [[ $EVENT != '{"event":"step"'* ]] || { echo "$EVENT" >>seen; step=$((step + 1)); }
  done
  kill -INT "$COORDINATOR"
  # Hundreds of steps more lie in the pipe: no jq for each.
  until [[ $EVENT == '{"event":"end"'* ]]; do IFS= read -r -t 30 -u 6 EVENT; done
  coordinator_ends 130
  [ "$(jq -c '[.step, .metrics]' seen)" = "$expected" ]
}

@test "loss scale: steps that overflow are skipped and halve it, others double it, and a checkpoint keeps it" {
  overflowing_program ', "on_nonfinite": "skip", "loss_scale": {"initial": 8, "growth_steps": 2}'
  serve --jobs worker=1,ps=2
  train=(timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers)
  run -0 --separate-stderr "${train[@]}"
  [ "$(jq -c 'select(.event == "step") | .metrics.scale // .metrics' <<<"$output" | paste -sd' ')" = '8 8 {"skipped_steps":1} {"skipped_steps":1} 4 4 8 8' ]
  printf '%s\n' '{"op": "restore", "path": "ck"}' '{"op": "read", "variable": "w"}' '{"op": "read", "variable": "optimizer/.loss_scale"}' >closures
  run -0 --separate-stderr "${train[@]}" --ordered --closures closures
  jq -es 'map(.value) == [null, -6, 16]' <<<"$output"
  rm ck/step-00000008.safetensors # from step 5, where one finite step of two was done
  run -0 --separate-stderr "${train[@]}"
  [ "$(jq -c 'select(.event == "step") | [.step, .metrics.scale]' <<<"$output" | paste -sd' ')" = '[6,4] [7,8] [8,8]' ]
}

@test "loss scale: \"stop\" ends the training with the step and the variable, and a fixed scale stays" {
  overflowing_program ', "on_nonfinite": "stop", "loss_scale": 4'
  sed -i 's/EQ, %step, %three/GE, %step, %three/' overflow.mlir # steps that are on their way don't end well either
  serve --jobs worker=1,ps=1
  run -70 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  [[ $stderr == *"worker:0: step: the gradient of 'w' is not finite at step 3"* ]]
  jq -es 'last | .event == "end" and .reason == "error" and .step == 2' <<<"$output"
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --set train.steps=2 --set train.checkpoint=null
  [ "$(jq -c 'select(.event == "step") | .metrics.scale' <<<"$output" | paste -sd' ')" = '4 4' ]
  run -65 --separate-stderr check program.json --set optimizer.sgd.loss_scale=null
  [[ $stderr == *"functions.step.inputs[1]: needs an optimizer with \"on_nonfinite\": \"skip\" or a 'loss_scale'" ]]
}

@test "checkpoints: those of another optimizer are refused by name, not misread" {
  cp "$EXAMPLES/linear/program.json" "$EXAMPLES/linear/step.mlir" .
  serve --jobs worker=1,ps=1
  train=(timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --set train.checkpoint.dir=ck)
  run -0 --separate-stderr "${train[@]}" --set 'optimizer={"adam": {}}' --set train.steps=5
  run -65 --separate-stderr "${train[@]}" --set 'optimizer={"sgd": {"momentum": 0.9}}' --set train.steps=10
  [[ $stderr == *"'w' was trained with adam, but the program has sgd: keep the optimizer, or start from the values alone: --checkpoint ck --set train.checkpoint.dir=NEW"* ]]
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --set train.steps=10 \
    --set 'optimizer={"sgd": {"momentum": 0.9}}' --set weights=ck/step-00000005.safetensors
}

@test "optimizer of one's own: its module trains as sgd with momentum does, on parameter servers and in one process" {
  cp "$EXAMPLES/linear/program.json" "$EXAMPLES/linear/step.mlir" .
  cat >update.mlir <<'MLIR'
module @update {
  func.func public @main(%w: tensor<f32>, %g: tensor<f32>, %m: tensor<f32>, %rate: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %keep = stablehlo.constant dense<0.5> : tensor<f32>
    %0 = stablehlo.multiply %m, %keep : tensor<f32>
    %1 = stablehlo.multiply %g, %rate : tensor<f32>
    %2 = stablehlo.subtract %0, %1 : tensor<f32>
    %3 = stablehlo.add %w, %2 : tensor<f32>
    return %3, %2 : tensor<f32>, tensor<f32>
  }
}
MLIR
  own='optimizer={"module": "update.mlir", "learning_rate": 0.1, "inputs": ["variable", "gradient", {"slot": "m"}, "learning_rate"], "outputs": ["variable", {"slot": "m"}]}'
  steps=(--set train.steps=20 --set train.log_every=1)
  serve --jobs worker=1,ps=2
  train=(timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers "${steps[@]}")
  run -0 --separate-stderr "${train[@]}" --set 'optimizer={"sgd": {"learning_rate": 0.1, "momentum": 0.5}}'
  expected=$(steps_of)
  run -0 --separate-stderr "${train[@]}" --set "$own"
  [ "$(steps_of)" = "$expected" ]
  run -0 --separate-stderr timeout 60 tfd-run program.json --strategy parameter-server "${steps[@]}" --set "$own"
  [ "$(steps_of)" = "$expected" ]
  # Its slots go on from a checkpoint.
  run -0 --separate-stderr "${train[@]}" --set "$own" --set train.checkpoint.dir=ck --set train.steps=8
  run -0 --separate-stderr "${train[@]}" --set "$own" --set train.checkpoint.dir=ck
  [ "$(steps_of)" = "$(tail -12 <<<"$expected")" ]
  run -0 --separate-stderr timeout 60 tfd-coordinate "$EXAMPLES/linear/program.json" --cluster spec.json --keep-servers \
    --set "${own//update.mlir/$EXAMPLES/linear/momentum.mlir}" --set optimizer.learning_rate=0.05
  jq -es 'last | .step == 200 and .metrics.loss < 0.01' <<<"$output"
  run -65 --separate-stderr check program.json --set "$own" --set variables.w.dtype=f64
  [[ $stderr == *"variable 'w'"* ]]
}

@test "tfd-run: workers by themselves share the loss scale, and skip what overflows" {
  overflowing_program ', "on_nonfinite": "skip", "loss_scale": {"initial": 8, "growth_steps": 2}'
  run -0 --separate-stderr timeout 60 tfd-run program.json --strategy parameter-server
  [ "$(jq -c 'select(.event == "step") | .metrics.scale // .metrics' <<<"$output" | paste -sd' ')" = '8 8 {"skipped_steps":1} {"skipped_steps":1} 4 4 8 8' ]
  serve --jobs worker=1,ps=2
  rm ck/step-00000008.safetensors
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json # goes on where the other was
  [ "$(jq -c 'select(.event == "step") | [.step, .metrics.scale]' <<<"$output" | paste -sd' ')" = '[6,4] [7,8] [8,8]' ]
}
