#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Missing memory: in processes whose address space is limited. A line says what didn't fit, and
# where; nobody is left waiting.

load ../cli/coordinate
setup() {
  coordinate_setup
  [ "${TFD_SANITIZED:-0}" = 0 ] || skip "a sanitizer needs all of the address space"
}
teardown() {
  coordinate_teardown
}

# `count` with a variable of $1 MB, which each step reads, and adds to.
large_program() { # MB TRAIN, JSON
  counting_program "$2"
  local n=$(($1 * 250000))
  cat >count.mlir <<MLIR
module @count {
  func.func public @main(%step: tensor<i32> loc("step"), %w: tensor<${n}xf32>) -> (tensor<f32>, tensor<i32>, tensor<i32>) {
    %loss = stablehlo.convert %step : (tensor<i32>) -> tensor<f32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    return %loss, %one, %one : tensor<f32>, tensor<i32>, tensor<i32>
  }
}
MLIR
  jq --argjson n "$n" '.variables.w = {shape: [$n], init: {zeros: {}}, trainable: false} | .functions.count.inputs += [{variable: "w"}]' program.json >with.json
  mv with.json program.json
}
# tfd-serve's tasks may have MB of addresses.
with_limit() { # MB ARGS…
  local before
  before=$(ulimit -Sv)
  ulimit -Sv $(($1 * 1000))
  serve "${@:2}"
  ulimit -Sv "$before"
}

@test "memory: a worker that can't take what it reads is named, not who sent it" {
  with_limit 1200 --jobs worker=1,ps=1
  large_program 800 '{"function": "count", "steps": 10}'
  prlimit --as=unlimited --pid "$(task_pid ps:0)"
  run -71 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json
  echo "$stderr"
  [ "${#stderr_lines[@]}" = 2 ]
  [[ ${stderr_lines[0]} == 'tfd-coordinate: nothing will be saved: '* ]]
  [ "${stderr_lines[1]}" = 'tfd-coordinate: worker:0: count: reading variables: not enough memory for a tensor of 800000000 bytes, the answer of ps:0' ]
}

@test "memory: a coordinator that can't fetch a checkpoint's variables says so, and ends with 71" {
  serve --jobs worker=1,ps=1
  counting_program '{"function": "count", "steps": 300, "log_every": 100, "checkpoint": {"dir": "ck", "every": 100, "by": "coordinator"}}'
  jq '.variables.w = {shape: [50000000], init: {zeros: {}}, trainable: false}' program.json >with.json
  mv with.json program.json
  run -71 --separate-stderr timeout 60 sh -c 'ulimit -c 0; ulimit -v 300000; exec tfd-coordinate program.json --cluster spec.json'
  echo "$stderr"
  # Where it fails before it reaches the servers, it doesn't say where it saves.
  [[ $(grep -v '^tfd-coordinate: saving to ck ' <<<"$stderr" | head -n 1) =~ ^'tfd-coordinate: '.*(' memory '|'no thread could be started') ]]
  [[ $stderr != *'bug: '* ]]
}

@test "memory: a process that can't start a thread says so in one line, and leaves no core" {
  # So large a stack for each of its threads that the first doesn't fit.
  serve --jobs worker=1,ps=1
  counting_program '{"function": "count", "steps": 10}'
  run -71 --separate-stderr timeout 60 sh -c 'ulimit -s 2000000; ulimit -v 1500000; exec tfd-coordinate program.json --cluster spec.json'
  [[ $stderr =~ ^'tfd-coordinate: no thread could be started: '[^$'\n']*$ ]]
  # For a task: each line names it.
  run -71 --separate-stderr timeout 60 sh -c 'ulimit -s 2000000; ulimit -v 5000000; exec tfd-serve --jobs ps=1'
  echo "$stderr"
  [[ $stderr == *'no thread could be started'* ]]
  [[ $stderr != *'terminate called'* ]]
}
