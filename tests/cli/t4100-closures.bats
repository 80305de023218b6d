#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-coordinate --closures: every line in has one line out.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

@test "closures: the examples of the API documentation, from a file" {
  run -0 --separate-stderr timeout 60 bash -c "tfd-resolve local --jobs worker=2,ps=1 | tfd-serve | tfd-coordinate '$EXAMPLES/counter/program.json' --closures '$EXAMPLES/counter/closures.jsonl'"
  [ "$(jq -c 'select(.id == "three") | .value' <<<"$output")" = 3 ]
  [ "$(jq -c 'select(.id == "one") | .value' <<<"$output")" = 1 ]
  echo "$stderr"
  [[ $stderr == *"7 lines in "*", 0 failed, 0 canceled" ]]
}

@test "closures: a spec and closures share one stdin" {
  serve --jobs worker=1,ps=1
  run -0 --separate-stderr timeout 60 bash -c "cat spec.json '$EXAMPLES/counter/closures.jsonl' | tfd-coordinate '$EXAMPLES/counter/program.json' --closures -"
  [ "${#lines[@]}" = 7 ]
}

@test "closures: an answer comes while the input is still open" {
  serve --jobs worker=1,ps=1
  mkfifo lines
  exec 5<>lines
  coordinate "$EXAMPLES/counter/program.json" --cluster spec.json --closures - <lines
  echo '{"op": "read", "variable": "v", "id": "a"}' >&5
  event '.id == "a" and .value == 0'
  echo '{"op": "assign", "variable": "v", "value": 5}' >&5
  event '.line == 2 and .status == "ready"'
  printf '%s' '{"op": "read", "variable": "v", "id": "last"}' >&5 # without a newline
  exec 5>&-
  event '.id == "last" and .value == 5'
  coordinator_ends 0
}

@test "closures: lines that are wrong have their answers, the run goes on, and the exit code is 1" {
  serve --jobs worker=1,ps=1
  run -1 --separate-stderr timeout 60 bash -c "printf '%s\n' '{' '{\"op\": \"jion\"}' '{\"op\": \"schedule\", \"function\": \"nobody\", \"id\": \"x\"}' '{\"op\": \"done\", \"id\": \"y\"}' |
    tfd-coordinate '$EXAMPLES/counter/program.json' --cluster spec.json --ordered --closures -"
  [ "$(jq -r '.status' <<<"$output" | paste -sd' ')" = "error error error ready" ]
  [ "$(jq -c '[.line, .id]' <<<"$output" | paste -sd' ')" = '[1,null] [2,null] [null,"x"] [null,"y"]' ]
  [[ ${lines[1]} == *"did you mean 'join'"* ]]
}

@test "closures: --ordered answers in the order of the lines" {
  serve --jobs worker=2,ps=1
  {
    echo '{"op": "create_per_worker_dataset", "dataset": "ones"}'
    seq 2 300 | sed 's/.*/{"op": "read", "variable": "v", "id": &}/'
  } >lines.jsonl
  run -0 --separate-stderr timeout 60 tfd-coordinate "$EXAMPLES/counter/program.json" --cluster spec.json --ordered --closures lines.jsonl
  [ "$(jq '.id // .line' <<<"$output")" = "$(seq 300)" ]
}

@test "closures: a file that is missing is one line and 65" {
  serve --jobs worker=1,ps=1
  run -65 --separate-stderr timeout 60 tfd-coordinate "$EXAMPLES/counter/program.json" --cluster spec.json --closures nowhere.jsonl
  [[ $stderr == *"cannot open nowhere.jsonl"* ]]
}

@test "closures: data files may be the workers' own, under --data-root; who lacks one is told so" {
  mkdir program data
  cat >program/echo.mlir <<'MLIR'
module @m { func.func public @main(%x: tensor<i32>) -> tensor<i32> { return %x : tensor<i32> } }
MLIR
  cat >program/program.json <<'JSON'
{"v": 1,
 "datasets": {"numbers": [{"csv": {"path": "numbers.csv", "fields": {"x": {"columns": 0, "dtype": "s32"}}}}]},
 "functions": {"next": {"module": "echo.mlir", "inputs": [{"arg": 0, "field": "x"}], "outputs": [{"result": 0}]}}}
JSON
  printf '3\n4\n' >data/numbers.csv
  printf '%s\n' '{"op": "create_per_worker_dataset", "dataset": "numbers", "id": "d"}' \
    '{"op": "schedule", "function": "next", "args": [{"per_worker": "numbers"}], "id": "a"}' >lines
  # Workers on other hosts may have it; where everything is here, it is a mistake.
  echo '{"cluster": {"worker": ["192.0.2.1:1"], "ps": ["192.0.2.1:2"]}}' >elsewhere.json
  run -0 --separate-stderr tfd-coordinate program/program.json --check --cluster elsewhere.json
  [ "${stderr_lines[0]}" = \
    "tfd-coordinate: datasets.numbers[0].csv.path: $PWD/program/numbers.csv not found here; assuming that the workers have it" ]
  echo '{"cluster": {"worker": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"]}}' >here.json
  run -65 --separate-stderr tfd-coordinate program/program.json --check --cluster here.json
  missing="tfd-coordinate: program/program.json: datasets.numbers[0].csv.path: cannot open $PWD/program/numbers.csv: no such file or directory"
  [ "$stderr" = "$missing" ]
  run -65 --separate-stderr tfd-coordinate program/program.json --check
  [ "$stderr" = "$missing"$'\nhint: if only the workers have the data, name their cluster with --cluster' ]
  run -0 --separate-stderr tfd-coordinate program/program.json --check --data-root data
  run --separate-stderr tfd-serve --jobs worker=1 --data-root data -- tfd-coordinate program/program.json --closures lines
  [ "$status" -eq 0 ]
  [ "$(jq -r 'select(.id == "a").value' <<<"$output")" = 3 ]
  run -0 --separate-stderr bash -c 'tfd-resolve local --jobs worker=1 | tfd-serve --data-root data | tfd-coordinate program/program.json --closures lines'
  [ "$(jq -r 'select(.id == "a").value' <<<"$output")" = 3 ]
  # Nothing runs without the file.
  run -65 --separate-stderr tfd-serve --jobs worker=1 -- tfd-coordinate program/program.json --closures lines
  [ -z "$output" ]
  [ "$stderr" = "$missing" ]
}
