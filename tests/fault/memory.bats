#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Memory that isn't there: in processes whose address space is limited, and where the kernel kills one. A line says what didn't fit, and
# where; nobody is left waiting.

load ../cli/coordinate
setup() {
  coordinate_setup
  [ "${TFD_SANITIZED:-0}" = 0 ] || skip "a sanitizer needs all of the address space"
}
teardown() {
  rm -f "/dev/shm/tfd-test-$$"
  coordinate_teardown
  [ -z "${CGROUP:-}" ] || until_true rmdir "$CGROUP"
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
# tfd-serve's tasks may have so many MB of addresses.
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
  [[ $stderr =~ ^'tfd-coordinate: worker:0: count: reading variables: not enough memory for a tensor of 800000000 bytes, the answer of ps:0'$ ]]
}

@test "memory: a coordinator that can't fetch a checkpoint's variables says so, and ends with 71" {
  serve --jobs worker=1,ps=1
  counting_program '{"function": "count", "steps": 300, "log_every": 100, "checkpoint": {"dir": "ck", "every": 100, "by": "coordinator"}}'
  jq '.variables.w = {shape: [50000000], init: {zeros: {}}, trainable: false}' program.json >with.json
  mv with.json program.json
  run -71 --separate-stderr timeout 60 sh -c 'ulimit -c 0; ulimit -v 300000; exec tfd-coordinate program.json --cluster spec.json'
  echo "$stderr"
  [[ ${stderr_lines[0]} =~ ^'tfd-coordinate: '.*(' memory '|'no thread could be started') ]]
  [[ $stderr != *'bug: '* ]]
}

@test "memory: a process that can't start a thread says so in one line, and leaves no core" {
  # So large a stack for each of its threads that the first doesn't fit.
  serve --jobs worker=1,ps=1
  counting_program '{"function": "count", "steps": 10}'
  run -71 --separate-stderr timeout 60 sh -c 'ulimit -s 2000000; ulimit -v 1500000; exec tfd-coordinate program.json --cluster spec.json'
  [[ $stderr =~ ^'tfd-coordinate: no thread could be started: '[^$'\n']*$ ]]
  # Of a task: each line says whose it is.
  run -71 --separate-stderr timeout 60 sh -c 'ulimit -s 2000000; ulimit -v 5000000; exec tfd-serve --jobs ps=1'
  echo "$stderr"
  [[ $stderr == *'no thread could be started'* ]]
  [[ $stderr != *'terminate called'* ]]
}

@test "memory: a parameter server that the kernel kills for it is named so, and the training goes on from its checkpoint" {
  CGROUP=/sys/fs/cgroup/memory/tfd-test-$$
  mkdir "$CGROUP" 2>/dev/null && [ -w "$CGROUP/memory.limit_in_bytes" ] && grep -q '^oom_kill ' "$CGROUP/memory.oom_control" ||
    { CGROUP=; skip "no memory cgroup (v1) to make here"; }
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 500}}'
  jq '.variables.w = {shape: [10000000], init: {ones: {}}, trainable: false}' program.json >with.json
  mv with.json program.json
  (
    echo "$BASHPID" >"$CGROUP/cgroup.procs"
    exec env --default-signal=INT tfd-serve --jobs worker=1,ps=1 --output "$T/spec.json" --ready-fd 9 2>"$T/err" 3>&- 6>&- 7>&- 8>&- 9>"$T/ready"
  ) &
  SERVE=$!
  IFS= read -r -t 60 -u 8 SPEC
  task_pid worker:0 >/sys/fs/cgroup/memory/cgroup.procs
  coordinate program.json --cluster spec.json --max-failures 3
  event '.event == "checkpoint"'
  # Who is killed then is named beforehand; what needs the memory is a file.
  echo 1000 >"/proc/$(task_pid ps:0)/oom_score_adj"
  echo $(($(<"$CGROUP/memory.usage_in_bytes") + 8000000)) >"$CGROUP/memory.limit_in_bytes"
  (echo "$BASHPID" >"$CGROUP/cgroup.procs" && exec head -c 20M /dev/zero) >"/dev/shm/tfd-test-$$" 2>/dev/null 3>&- || true
  said 'tfd-serve: ps:0 died of signal 9 \(killed: out of memory\); restarting in'
  rm "/dev/shm/tfd-test-$$"
  echo -1 >"$CGROUP/memory.limit_in_bytes"
  event '.event == "server" and .task == "ps:0"'
  event '.event == "start" and .step > 0 and .resumed_from != null'
  stops_with_each_step_once
}
