#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Functions that are plug-ins or commands, from a program to a worker and back.

load serve.bash

setup() {
  serve_setup
  cp "$EXAMPLES"/plugin/* "$T"
  cp "$TFD_BUILD"/tests/unit/function/scale.so "$T"
  cd "$T" || return 1
}
teardown() { serve_teardown; }

answers() { timeout 60 tfd-coordinate -q "$@" --ordered --cluster spec.json --keep-servers; }

@test "the example: a plug-in, a command per call, a filter" {
  serve --allow-native --jobs worker=1
  answers program.json --closures closures.jsonl >answers
  [ "$(jq -c '[.id, (.value | if type == "array" then map(. * 2 | . / 2) else . end)]' answers)" = '["scale",[0.5,1,1.5,2]]
["sort",[1,2,3,4]]
["double",[2,4,6,8]]
["count",1]' ] || { cat answers; false; }
  run ! grep -i pjrt "/proc/$(task_pid worker:0)/maps"
}

@test "the plug-in travels with the program, the worker needs no file" {
  serve --allow-native --jobs worker=1
  mkdir copy
  mv program.json scale.so copy
  mkfifo lines
  answers copy/program.json --closures lines >answers &
  pid=$!
  exec 9>lines
  printf '%s\n' '{"op": "schedule", "function": "count", "id": "a"}' >&9
  until_true test -s answers
  rm -r copy
  printf '%s\n' '{"op": "schedule", "function": "count", "id": "b"}' >&9
  exec 9>&-
  wait $pid
  [ "$(jq -c '[.id, .value]' answers)" = $'["a",1]\n["b",2]' ]
}

@test "without --allow-native the worker refuses the program, and so it does without the key" {
  serve --jobs worker=1
  run --separate-stderr answers program.json --closures closures.jsonl
  [ "$status" = 77 ]
  [[ $stderr == *"worker:0 does not run plug-ins or commands: its server was started without --allow-native"* ]] || { echo "$stderr"; false; }
  kill "$SERVE"
  serve_ends 0
  serve --allow-native --jobs worker=1
  jq 'del(.key_file)' spec.json >nokey.json
  run --separate-stderr timeout 60 tfd-coordinate -q program.json --closures closures.jsonl --keep-servers --cluster nokey.json
  [ "$status" = 77 ]
  [ "$stderr" = "tfd-coordinate: worker:0 requires the cluster's key, and none was found here; pass it with --key-file" ]
}

@test "data that a command prints need --allow-native too" {
  echo 'module @m { func.func public @main(%x: tensor<i64>) -> tensor<i64> { return %x : tensor<i64> } }' >same.mlir
  cat >data.json <<'JSON'
{"v": 1,
 "datasets": {"rows": [{"command": {"argv": ["seq", "10", "12"], "format": "csv", "fields": {"x": {"columns": 0, "dtype": "s64"}}}}, {"prefetch": 2}]},
 "functions": {"next": {"module": "same.mlir", "inputs": [{"dataset": "rows", "field": "x"}], "outputs": [{"result": 0}]}}}
JSON
  for id in 1 2 3; do echo "{\"op\": \"schedule\", \"function\": \"next\", \"id\": $id}"; done >lines
  serve --jobs worker=1
  run --separate-stderr answers data.json --closures lines
  [ "$status" = 77 ]
  [[ $stderr == *"was started without --allow-native"* ]] || { echo "$stderr"; false; }
  kill "$SERVE"
  serve_ends 0
  serve --allow-native --jobs worker=1
  answers data.json --closures lines >values
  [ "$(jq -c .value values | tr '\n' ' ')" = "10 11 12 " ] || { cat values; false; }
}

@test "a bad plug-in is an error of the check, with the place in the program" {
  printf 'no shared object' >scale.so
  run tfd-coordinate program.json --check
  [ "$status" = 65 ]
  [[ $output == *"program.json: functions.scale.plugin: "*"scale.so: not a shared object that can be loaded here"* ]] || { echo "$output"; false; }
  cp "$TFD_BUILD"/tests/unit/function/broken-abi.so scale.so
  run tfd-coordinate program.json --check
  [[ $output == *"built for ABI 2 of tfd/function.h, but this tfd has ABI 1"* ]]
  cp "$TFD_BUILD"/tests/unit/function/scale.so .
  run tfd-coordinate program.json --check --set functions.scale.function=nothing
  [ "$status" = 65 ] || [ "$status" = 1 ]
  [[ $output == *"scale.so has no function 'nothing'"* ]]
}

@test "a command's failure is that closure's, and the next call goes on" {
  serve --allow-native --jobs worker=1
  cat >program.json <<'JSON'
{"v": 1, "functions": {"f": {"command": ["sh", "-c", "while read x; do case $x in 1) echo broken >&2; exit 3 ;; 2) echo garbage ;; 3) sleep 1000 ;; *) echo $x ;; esac; done"],
  "keep": true, "timeout": "3s", "arguments": [{"dtype": "s32", "shape": []}], "results": [{"dtype": "s32", "shape": []}],
  "inputs": [{"arg": 0}], "outputs": [{"result": 0}]}}}
JSON
  sed -i "s|; done\"|; done # $T\"|" program.json  # to be found by
  for x in 7 1 8 2 9 3 10; do echo "{\"op\": \"schedule\", \"function\": \"f\", \"args\": [$x], \"id\": $x}"; done >lines
  run --separate-stderr answers program.json --keep-going --closures lines
  [ "$status" = 1 ]
  jq -c '[.id, .value // .error.message]' <<<"$output" >got
  cat >wanted <<'JSON'
[7,7]
[1,"f: command 'sh' ended without an answer; it exited with 3; stderr: broken"]
[8,8]
[2,"f: command 'sh' printed text that is not JSON: 'garbage'"]
[9,9]
[3,"f: command 'sh' did not answer in time"]
[10,10]
JSON
  diff wanted got
  kill "$SERVE"
  serve_ends 0
  run ! pgrep -f "done # $T"
}

@test "a filter of a coordinator that is killed while it waits for a call ends, though nobody follows" {
  serve --allow-native --jobs worker=1
  cat >filter.json <<'JSON'
{"v": 1, "functions": {"pid": {"command": ["sh", "-c", "sleep 1000 & while read -r _; do echo $$; done"], "keep": true,
  "arguments": [], "results": [{"dtype": "s32", "shape": []}], "inputs": [], "outputs": [{"result": 0}]}}}
JSON
  mkfifo lines
  tfd-coordinate -q filter.json --cluster spec.json --keep-servers --closures lines >answers &
  pid=$!
  exec 9>lines
  echo '{"op": "schedule", "function": "pid"}' >&9
  until_true test -s answers
  filter=$(jq .value answers)
  kill -0 "$filter"
  left=$(pgrep -g "$filter")
  kill -KILL $pid
  exec 9>&-
  LIMIT=30 ends $left
}

@test "a coordinator that was frozen until it was given up goes on, though its data come through a command" {
  serve --allow-native --jobs worker=1
  cat >data.json <<'JSON'
{"v": 1,
 "datasets": {"twice": [{"range": 1000000}, {"map": {"function": "twice", "fields": ["y"]}}, {"prefetch": {"buffer": 2}}]},
 "functions": {
   "twice": {"command": ["sh", "-c", "sleep 1000 & while read -r x; do echo $((2 * x)); done"], "keep": true,
     "arguments": [{"name": "x", "dtype": "s64", "shape": []}], "results": [{"name": "y", "dtype": "s64", "shape": []}],
     "inputs": [{"arg": 0, "field": "value"}], "outputs": [{"result": 0}]},
   "next": {"module": "same.mlir", "inputs": [{"dataset": "twice", "field": "y"}], "outputs": [{"result": 0}]}}}
JSON
  sed -i "s|; done\"|; done # $T\"|" data.json  # to be found by
  echo 'module @m { func.func public @main(%x: tensor<i64>) -> tensor<i64> { return %x : tensor<i64> } }' >same.mlir
  mkfifo lines
  timeout 120 tfd-coordinate data.json --cluster spec.json --keep-servers --closures lines >answers 2>err &
  pid=$!
  exec 9>lines
  echo '{"op": "schedule", "function": "next", "id": "a"}' >&9
  until_true test -s answers
  grep -q '"a","status":"ready"' answers
  filter=$(pgrep -f "done # $T" | head -n 1)
  coordinator=$(pgrep -P $pid)
  kill -STOP "$coordinator"
  LIMIT=60 ends "$filter"
  kill -CONT "$coordinator"
  until_true grep -q 'worker:0 is back' err
  echo '{"op": "schedule", "function": "next", "id": "b"}' >&9
  exec 9>&-
  wait $pid
  grep -q '"b","status":"ready"' answers
}
