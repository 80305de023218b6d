#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Lines of --closures that evaluate a function, and closures of a step.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# "square" measures the mean of x*x, over the test data, or over data that never end; "add" adds its argument to w, which is
# what "square" counts for a batch.
square_program() {
  cat >"$T/square.mlir" <<'MLIR'
module @square {
  func.func public @main(%w: tensor<f32>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0 = stablehlo.multiply %x, %x : tensor<f32>
    return %0, %w : tensor<f32>, tensor<f32>
  }
}
MLIR
  cat >"$T/same.mlir" <<'MLIR'
module @same { func.func public @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } }
MLIR
  cat >"$T/rate.mlir" <<'MLIR'
module @rate {
  func.func public @main(%rate: tensor<f32>, %step: tensor<i64>) -> (tensor<f32>, tensor<i64>) {
    return %rate, %step : tensor<f32>, tensor<i64>
  }
}
MLIR
  cat >"$T/program.json" <<'JSON'
{"v": 1,
 "variables": {"w": {"shape": [], "init": {"ones": {}}}},
 "optimizer": {"sgd": {"gradient_accumulation_steps": 2, "learning_rate": {"exponential_decay":
   {"initial_learning_rate": 1, "decay_steps": 1, "decay_rate": 0.5}}}},
 "datasets": {"test": [{"tensor_slices": {"fields": {"x": [1.0, 2.0, 3.0, 4.0, 5.0]}}}],
              "endless": [{"tensor_slices": {"fields": {"x": [1.0]}}}, {"repeat": {}}]},
 "functions": {
   "square": {"module": "square.mlir", "inputs": [{"variable": "w"}, {"dataset": "test", "field": "x"}],
              "outputs": [{"metric": "squares"}, {"metric": "w", "reduce": "sum"}]},
   "forever": {"module": "square.mlir", "inputs": [{"variable": "w"}, {"dataset": "endless", "field": "x"}],
               "outputs": [{"metric": "squares"}, {"metric": "w", "reduce": "sum"}]},
   "add": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"assign_add": "w"}]},
   "descend": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"gradient": "w"}]},
   "rate": {"module": "rate.mlir", "inputs": ["learning_rate", "step"], "outputs": [{"result": 0}, {"result": 1}]}}}
JSON
}

@test "evaluate: one exact pass between what was scheduled before and what is scheduled behind" {
  square_program
  serve --jobs worker=3,ps=1
  {
    for i in $(seq 20); do echo '{"op": "schedule", "function": "add", "args": [1]}'; done
    echo '{"op": "evaluate", "function": "square", "id": "first"}'
    for i in $(seq 20); do echo '{"op": "schedule", "function": "add", "args": [1]}'; done
    echo '{"op": "evaluate", "function": "square", "id": "second"}'
    echo '{"op": "evaluate", "function": "square", "steps": 2, "id": "two"}'
  } >lines.jsonl
  for ordered in "" --ordered; do
    run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers $ordered --closures lines.jsonl
    [ "$(jq -c 'select(.id == "first")' <<<"$output")" = '{"id":"first","status":"ready","value":{"squares":11,"w":105}}' ]
    [ "$(jq -c 'select(.id == "second").value' <<<"$output")" = '{"squares":11,"w":205}' ]
    [ "$(jq -c 'select(.id == "two").value' <<<"$output")" = '{"squares":2.5,"w":82}' ]
    [ "$(jq -c '.id' <<<"$output" | tail -2)" = $'"second"\n"two"' ]
    [[ $stderr == *"43 lines in "*", 0 failed, 0 canceled" ]]
  done
}

@test "evaluate: what can't be evaluated is its line's error, and what failed before is raised" {
  square_program
  serve --jobs worker=1,ps=1
  {
    echo '{"op": "evaluate", "function": "sqare", "id": "unknown"}'
    echo '{"op": "evaluate", "function": "rate", "id": "no metric"}'
    echo '{"op": "evaluate", "function": "forever", "id": "endless"}'
    echo '{"op": "schedule", "function": "rate", "step": -1, "id": "step"}'
    echo '{"op": "evaluate", "function": "square", "id": "good"}'
  } >lines.jsonl
  run -1 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --ordered --closures lines.jsonl
  [ "$(jq -r .status <<<"$output" | paste -sd' ')" = "error error error error ready" ]
  [ "$(jq -r '.error.message // empty' <<<"$output")" = "evaluate: no function 'sqare', did you mean 'square'?
evaluate: 'rate' has no metric
evaluate: dataset 'endless' never ends: set 'steps'
schedule: 'step' must be a whole number >= 0" ]
  {
    echo '{"op": "schedule", "function": "add", "args": [{"npy": "no.npy"}], "id": "wrong"}'
    echo '{"op": "create_per_worker_dataset", "dataset": "test"}'
    for i in 1 2 3 4 5 6; do echo "{\"op\": \"schedule\", \"function\": \"add\", \"args\": [{\"per_worker\": \"test\"}], \"id\": $i}"; done
    echo '{"op": "evaluate", "function": "square", "id": "raises"}'
    echo '{"op": "evaluate", "function": "square", "id": "good"}'
  } >lines.jsonl
  run -1 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --ordered --closures lines.jsonl
  [ "$(jq -c 'select(.id == 6) | [.status, .error.code]' <<<"$output")" = '["error","OUT_OF_RANGE"]' ]
  [ "$(jq -c 'select(.id == "raises") | [.status, .error.code]' <<<"$output")" = '["raised","OUT_OF_RANGE"]' ]
  [ "$(jq -c 'select(.id == "good").value' <<<"$output")" = '{"squares":11,"w":80}' ]
  [[ $stderr == *"2 failed, 1 canceled" ]]
  run -1 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --ordered --keep-going --closures lines.jsonl
  [ "$(jq -c 'select(.id == "raises").value' <<<"$output")" = '{"squares":11,"w":80}' ]
}

@test "evaluate: Ctrl-C ends it, and the workers are free again" {
  square_program
  serve --jobs worker=2,ps=1
  echo '{"op": "evaluate", "function": "forever", "steps": 1000000000000}' >lines.jsonl
  coordinate program.json --cluster spec.json --keep-servers --closures lines.jsonl
  deadline=$((SECONDS + 30))
  until [ "$(tfd-status --cluster spec.json --json | jq -c '[.tasks[] | select(.role == "worker").doing]')" = '["forever","forever"]' ]; do
    [ $SECONDS -lt $deadline ]
  done
  kill -INT "$COORDINATOR"
  coordinator_ends 130
  echo '{"op": "evaluate", "function": "forever", "steps": 7}' >lines.jsonl
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --closures lines.jsonl
  [ "$(jq -c .value <<<"$output")" = '{"squares":1,"w":7}' ]
}

@test "step: a closure's, and the rate of the update that it belongs to" {
  square_program
  serve --jobs worker=1,ps=1
  {
    echo '{"op": "schedule", "function": "rate"}'
    for step in 0 1 2 3 9007199254740993; do echo "{\"op\": \"schedule\", \"function\": \"rate\", \"step\": $step}"; done
    echo '{"op": "schedule", "function": "descend", "args": [1]}'
    echo '{"op": "schedule", "function": "descend", "args": [1]}'
    echo '{"op": "join"}'
    echo '{"op": "read", "variable": "w", "id": "w"}'
  } >lines.jsonl
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --ordered --closures lines.jsonl
  # The schedule counts the second of two gradients.
  [ "${lines[0]}" = '{"line":1,"status":"ready","value":[0.5,0]}' ]
  [ "${lines[1]}" = '{"line":2,"status":"ready","value":[0.5,0]}' ]
  [ "${lines[2]}" = '{"line":3,"status":"ready","value":[0.5,1]}' ]
  [ "${lines[3]}" = '{"line":4,"status":"ready","value":[0.125,2]}' ]
  [ "${lines[4]}" = '{"line":5,"status":"ready","value":[0.125,3]}' ]
  [[ ${lines[5]} == *',9007199254740993]}' ]]
  [ "$(jq -c 'select(.id == "w").value' <<<"$output")" = 0.5 ] # what the optimizer has used: 1 - 0.5
}
