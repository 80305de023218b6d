#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-coordinate --strict: one attempt of a closure on all parameter servers.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# next: n0 on ps:0 becomes n0 + 1, n1 on ps:1 gets what it was and both are returned; also what was there is the result.
next_program() {
  cat >next.mlir <<'MLIR'
module @next {
  func.func public @main(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>) {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %n, %one : tensor<i32>
    return %n, %next, %n : tensor<i32>, tensor<i32>, tensor<i32>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1,
 "variables": {"n0": {"shape": [], "dtype": "s32", "init": {"zeros": {}}}, "n1": {"shape": [], "dtype": "s32", "init": {"zeros": {}}}},
 "functions": {"next": {"module": "next.mlir", "inputs": [{"variable": "n0"}],
                        "outputs": [{"result": 0}, {"assign": "n0"}, {"assign": "n1"}], "returns": ["n1", "n0"]}}}
JSON
}

@test "strict: a worker's closures see its earlier ones, and have the same results as without it" {
  next_program
  {
    for _ in {1..200}; do echo '{"op": "schedule", "function": "next"}'; done
    echo '{"op": "join"}'
    echo '{"op": "read", "variable": "n0"}'
  } >lines.jsonl
  local with
  for with in "" --strict; do
    # shellcheck disable=SC2086
    tfd-serve --jobs worker=1,ps=2 2>/dev/null -- timeout 60 tfd-coordinate program.json --ordered --closures lines.jsonl $with >"answers$with"
  done
  cmp answers answers--strict
  [ "$(sed -n 200p answers--strict | jq -c .value)" = '[199,199,200]' ]
  [ "$(tail -n 1 answers--strict | jq .value)" = 200 ]
}

@test "strict: what is saved while closures run is between two of them, on all parameter servers" {
  counting_program '{"function": "count", "steps": 1}'
  {
    for i in {1..20}; do
      for _ in {1..50}; do echo '{"op": "schedule", "function": "count"}'; done
      echo "{\"op\": \"save\", \"path\": \"ck$i\"}"
    done
    echo '{"op": "join"}'
    for i in {1..20}; do printf '{"op": "restore", "path": "ck%d"}\n{"op": "read", "variable": "n0"}\n{"op": "read", "variable": "n1"}\n' "$i"; done
  } >lines.jsonl
  tfd-serve --jobs worker=2,ps=2 2>/dev/null -- timeout 60 tfd-coordinate program.json --ordered --strict --closures lines.jsonl >answers
  tail -n 60 answers | jq -r '.value // empty' | paste - - >pairs
  [ "$(wc -l <pairs)" = 20 ]
  awk '$1 != $2 { exit 1 }' pairs
}

@test "strict: a training makes as many updates as steps, and its checkpoints have them" {
  counting_program '{"function": "count", "steps": 500, "checkpoint": {"dir": "ck", "every": 100}}'
  tfd-serve --jobs worker=2,ps=2 2>/dev/null -- timeout 60 tfd-coordinate program.json --strict >train.jsonl
  tail -n 1 train.jsonl | jq -e '.event == "end" and .step == 500'
  [ "$(counts_in ck)" = "500 500 500" ]
}

@test "strict: a closure that fails is an error as without it, and what others update stays" {
  counting_program '{"function": "count", "steps": 1}'
  jq '.functions.fails = {command: ["false"], arguments: [], results: [{dtype: "s32", shape: []}], inputs: [], outputs: [{assign_add: "n0"}]}' program.json >fails.json
  {
    echo '{"op": "schedule", "function": "count"}'
    echo '{"op": "join"}'
    echo '{"op": "schedule", "function": "fails"}'
    echo '{"op": "join"}'
    echo '{"op": "schedule", "function": "count"}'
    echo '{"op": "join"}'
    printf '{"op": "read", "variable": "%s"}\n' n0 n1
  } >lines.jsonl
  run -1 --separate-stderr tfd-serve --allow-native --jobs worker=2,ps=2 -- timeout 60 tfd-coordinate fails.json --ordered --strict --closures lines.jsonl
  [ "$(jq -r .status <<<"$output" | paste -sd' ')" = "ready ready error raised ready ready ready ready" ]
  [ "$(tail -n 2 <<<"$output" | jq .value | paste -sd' ')" = "2 2" ]
}
