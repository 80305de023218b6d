#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Variables that every worker has of its own ("per_worker"): in closures, read by worker, made again with the worker.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

own_program() {
  cat >"$T/add.mlir" <<'MLIR'
module @add {
  func.func public @main(%own: tensor<i32>, %x: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %sum = stablehlo.add %own, %x : tensor<i32>
    return %sum, %x : tensor<i32>, tensor<i32>
  }
}
MLIR
  cat >"$T/program.json" <<'JSON'
{"v": 1,
 "variables": {"seen": {"shape": [], "dtype": "s32", "init": {"constant": {"value": 10}}, "per_worker": true},
               "all": {"shape": [], "dtype": "s32", "init": {"zeros": {}}}},
 "functions": {"add": {"module": "add.mlir", "inputs": [{"variable": "seen"}, {"arg": 0}],
                       "outputs": [{"assign": "seen"}, {"assign_add": "all"}], "returns": ["seen"]},
               "sum": {"module": "add.mlir", "inputs": [{"arg": 0}, {"arg": 1}], "outputs": [{"result": 0}, {"result": 1}]}}}
JSON
}

@test "per-worker: every worker counts by itself, and a read lists them all" {
  own_program
  serve --jobs worker=3,ps=1
  { for _ in {1..60}; do echo '{"op": "schedule", "function": "add", "args": [1]}'; done
    echo '{"op": "join", "id": "j"}'
    echo '{"op": "read", "variable": "seen", "id": "seen"}'
    echo '{"op": "read", "variable": "all", "id": "all"}'; } >lines
  run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --closures lines
  jq -es 'map(select(.id == "seen"))[0].value | length == 3 and (add == 30 + 60)' <<<"$output"
  jq -es 'map(select(.id == "all"))[0].value == 60' <<<"$output"
}

@test "per-worker: as an argument it is the executing worker's, assigned it is everybody's, and checkpoints don't have it" {
  own_program
  serve --jobs worker=2,ps=1
  run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --ordered --closures - <<'LINES'
{"op": "schedule", "function": "sum", "args": [{"per_worker": "seen"}, 5]}
{"op": "join"}
{"op": "assign", "variable": "seen", "value": 7}
{"op": "read", "variable": "seen"}
{"op": "save", "path": "ck"}
{"op": "assign", "variable": "seen", "value": 8}
{"op": "restore", "path": "ck"}
{"op": "read", "variable": "seen"}
LINES
  # A worker that comes after an assignment begins with the initial value: those that were there have what was assigned.
  jq -es 'map(select(has("value")) | .value) | (.[0] | unique) == [5, 15]
    and (.[1] | index([7]) != null and . - [7, 10] == []) and (.[2] | index([8]) != null and . - [8, 10] == [])' <<<"$output" ||
    { echo "$output"; false; }
}

@test "per-worker: it is aborted while its worker is away, and begins anew when it returns" {
  own_program
  serve --jobs worker=2,ps=1
  mkfifo lines
  exec 5<>lines
  coordinate program.json --cluster spec.json --closures - <lines
  local number=1
  until  # both are up
    echo "{\"op\": \"read\", \"variable\": \"seen\", \"id\": $number}" >&5
    answer "$number"
    [ "$(jq -c .value <<<"$EVENT")" = "[10,10]" ]
  do
    number=$((number + 1))
    [ "$number" -lt 10000 ]
  done
  echo '{"op": "assign", "variable": "seen", "value": 50, "id": "all"}' >&5
  answer '"all"'
  [ "$(jq -r .status <<<"$EVENT")" = ready ]
  kill -STOP "$(task_pid worker:1)"
  # Frozen, it is soon taken for lost.
  while :; do
    number=$((number + 1))
    echo "{\"op\": \"read\", \"variable\": \"seen\", \"id\": $number}" >&5
    answer "$number"
    [ "$(jq -r .status <<<"$EVENT")" = ready ] || break
    [ "$number" -lt 10000 ]
  done
  jq -e '.error.code == "CANCELLED" and .error.task == "worker:1" and (.error.message | contains("is gone with worker:1"))' <<<"$EVENT"
  kill -KILL "$(task_pid worker:1)"
  while :; do
    number=$((number + 1))
    echo "{\"op\": \"read\", \"variable\": \"seen\", \"id\": $number}" >&5
    answer "$number"
    [ "$(jq -r .status <<<"$EVENT")" != ready ] || break
    [ "$number" -lt 100000 ]
  done
  [ "$(jq -c .value <<<"$EVENT")" = "[50,10]" ]
  exec 5>&-
  coordinator_ends 1
}

@test "per-worker: what such a variable can't be is said before anything runs" {
  own_program
  run -65 tfd-coordinate --check program.json --set variables.seen.trainable=true --set variables.seen.dtype=f32
  [[ $output == *"variables.seen"* ]]
  run -65 tfd-coordinate --check program.json --set variables.seen.colocate_with=all
  [[ $output == *"variables.seen.colocate_with: "* ]]
  run -65 timeout 20 tfd-run program.json --cluster none --set 'train={"function": "count", "steps": 1}' \
    --set 'functions.count={"module": "add.mlir", "inputs": [{"variable": "seen"}, {"variable": "all"}], "outputs": [{"metric": "m"}, {"assign": "all"}]}'
  [[ $output == *"variable 'seen' is per worker"* ]]
}
