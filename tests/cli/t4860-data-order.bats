#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# In which order data come: an evaluation is one exact pass by however many workers and by each tool, workers shuffle
# differently, a training that goes on begins with other elements, and no element of an epoch is lost.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# look: the sum of a batch of ten, and a random number that is weighted by it; see: what its element is.
orders_program() { # TRAIN, STAGES
  cat >look.mlir <<'MLIR'
module @look {
  func.func public @main(%x: tensor<10xi64>, %noise: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10xi64>, tensor<i64>) -> tensor<i64>
    %out = stablehlo.convert %sum : (tensor<i64>) -> tensor<f32>
    return %out, %noise : tensor<f32>, tensor<f32>
  }
}
MLIR
  cat >see.mlir <<'MLIR'
module @see {
  func.func public @main(%x: tensor<i64>) -> tensor<f32> {
    %out = stablehlo.convert %x : (tensor<i64>) -> tensor<f32>
    return %out : tensor<f32>
  }
}
MLIR
  cat >program.json <<JSON
{"v": 1, "seed": 3,
 "variables": {"n": {"shape": [], "dtype": "s32", "init": {"zeros": {}}}},
 "datasets": {"hundred": [{"range": 100}$2, {"batch": 10}],
              "numbers": [{"range": [1, 8]}],
              "thousand": [{"range": 1000}, {"shuffle": {"buffer": 1000, "seed": 7}}]},
 "functions": {"look": {"module": "look.mlir", "inputs": [{"dataset": "hundred"}, "rng"],
                        "outputs": [{"metric": "sum", "reduce": "sum"}, {"metric": "noise", "reduce": "sum"}]},
               "see": {"module": "see.mlir", "inputs": [{"dataset": "numbers"}], "outputs": [{"metric": "x", "reduce": "sum"}]},
               "next": {"module": "see.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]},
               "own": {"module": "see.mlir", "inputs": [{"dataset": "thousand"}], "outputs": [{"result": 0}]}},
 "train": $1}
JSON
}

# spec.json with its first N workers.
first_workers() { jq ".cluster.worker |= .[:$1]" spec.json; } # N

@test "data order: an evaluation of a shuffled dataset is exact on one, two and three workers, and draws the same in each tool" {
  orders_program '{"function": "see", "steps": 1, "evaluate": {"function": "look"}}' ', {"shuffle": {"buffer": 100}}'
  serve --jobs worker=3,ps=1
  local workers time
  for workers in 1 2 3; do
    first_workers $workers >some.json
    for time in 1 2 3; do
      run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster some.json --keep-servers
      jq -c 'select(.event == "eval").metrics' <<<"$output" >>metrics
    done
  done
  run -0 --separate-stderr timeout 60 tfd-run -q program.json --cluster none </dev/null
  jq -c 'select(.event == "eval").metrics' <<<"$output" >>metrics
  cat metrics
  [ "$(wc -l <metrics)" = 10 ]
  jq -es 'all(.[]; .sum == 4950) and (map(.noise * 1e6 | round) | unique | length) == 1' metrics
}

@test "data order: workers see different elements of a seeded shuffle, the same ones in every run" {
  orders_program '{"function": "see", "steps": 1}' ''
  serve --jobs worker=2,ps=1
  jq 'del(.cluster.worker[1])' spec.json >zero.json
  jq 'del(.cluster.worker[0]) | .cluster.worker = {"1": .cluster.worker[0]}' spec.json >one.json
  { echo '{"op": "create_per_worker_dataset", "dataset": "thousand"}'
    for _ in {1..8}; do echo '{"op": "schedule", "function": "next", "args": [{"per_worker": "thousand"}]}'; done; } >passed
  for _ in {1..8}; do echo '{"op": "schedule", "function": "own"}'; done >own
  seen() { # SPEC, LINES, ARGS…
    timeout 60 tfd-coordinate -q program.json --cluster "$1.json" --keep-servers --ordered --closures "$2" "${@:3}" | jq '.value // empty' | paste -sd' '
  }
  local lines zero one
  for lines in passed own; do
    zero=$(seen zero $lines)
    one=$(seen one $lines)
    [ "$(wc -w <<<"$zero")" = 8 ]
    [ "$zero" != "$one" ]
    [ "$(seen zero $lines)" = "$zero" ]
    [ "$(seen one $lines)" = "$one" ]
    [ "$(seen one $lines --compat tensorflow)" = "$zero" ]
  done
}

@test "data order: a training that goes on begins with other elements than it began with" {
  orders_program '{"function": "see", "log_every": 1, "checkpoint": {"dir": "ck"}}' ''
  serve --jobs worker=1,ps=1
  set_to() { echo --set 'functions.see.inputs=[{"dataset":"thousand"}]' --set train.steps="$1" --set train.checkpoint.dir="$T/$2"; }
  seen() { jq -s 'map(select(.event == "step").metrics.x)' -c <<<"$output"; }
  local first
  # shellcheck disable=SC2046
  for tool in "tfd-coordinate --cluster spec.json --keep-servers" "tfd-run --cluster none"; do
    run -0 --separate-stderr timeout 60 $tool -q program.json $(set_to 5 "${tool%% *}") </dev/null
    first=$(seen)
    [ "$(jq length <<<"$first")" = 5 ]
    run -0 --separate-stderr timeout 60 $tool -q program.json $(set_to 10 "${tool%% *}") </dev/null
    [ "$(jq length <<<"$(seen)")" = 5 ]
    [ "$(seen)" != "$first" ]
  done
}

@test "data order: nothing of the last, smaller step is lost, in an epoch or at the end of data, in each tool" {
  orders_program '{"function": "see", "log_every": 1}' ''
  serve --jobs worker=1,ps=1 --devices 2
  local stated
  for stated in epochs=1 epochs=null; do
    run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --keep-servers --set train.$stated
    jq -es '(map(select(.event == "step").metrics.x) == [3, 7, 11, 7]) and last.step == 4' <<<"$output"
    run -0 --separate-stderr timeout 60 tfd-run -q program.json --cluster none --replicas 2 --set train.$stated </dev/null
    jq -es '(map(select(.event == "step").metrics.x) == [3, 7, 11, 7]) and last.step == 4' <<<"$output"
  done
  # Fourteen elements, two a step: steps go on over the end of a pass.
  run -0 --separate-stderr timeout 60 tfd-run -q program.json --cluster none --replicas 2 --set train.epochs=2 </dev/null
  jq -es '(map(select(.event == "step").metrics.x) == [3, 7, 11, 8, 5, 9, 13]) and last.step == 7' <<<"$output"
}
