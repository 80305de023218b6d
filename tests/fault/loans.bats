#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tensors that are read where they lie in another process's memory, which is killed, or stopped, meanwhile.

load ../cli/coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# grow: adds 1 to each of 100 000 floats, and far more to those that aren't as the first one: a read value is of one moment.
growing_program() {
  cat >grow.mlir <<'MLIR'
module @grow {
  func.func public @main(%w: tensor<100000xf32>) -> tensor<100000xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<100000xf32>
    %many = stablehlo.constant dense<1000000.0> : tensor<100000xf32>
    %slice = stablehlo.slice %w [0:1] : (tensor<100000xf32>) -> tensor<1xf32>
    %first = stablehlo.broadcast_in_dim %slice, dims = [0] : (tensor<1xf32>) -> tensor<100000xf32>
    %off = stablehlo.subtract %w, %first : tensor<100000xf32>
    %far = stablehlo.multiply %off, %many : tensor<100000xf32>
    %out = stablehlo.add %one, %far : tensor<100000xf32>
    return %out : tensor<100000xf32>
  }
}
MLIR
  echo '{"v": 1, "variables": {"w": {"shape": [100000], "dtype": "f32", "init": {"zeros": {}}}},
         "functions": {"grow": {"module": "grow.mlir", "inputs": [{"variable": "w"}], "outputs": [{"assign_add": "w"}]}}}' >program.json
}
schedules() { # FROM TO
  seq "$1" "$2" | sed 's/.*/{"op": "schedule", "function": "grow", "id": &}/'
}
# Starts, and waits until task $1 reads memory of others.
grows() { # TASK
  serve --jobs worker=3,ps=1
  growing_program
  mkfifo lines
  exec 5<>lines
  coordinate program.json --cluster spec.json --closures - <lines
  schedules 1 2000 >&5
  answer 500
  grep -q 'r--s.*memfd:tfd-tensors' "/proc/$(task_pid "$1")/maps"
}
# All of 6000 closures are counted, once in each number.
has_grown() {
  schedules 2001 6000 >&5
  printf '%s\n' '{"op": "join", "id": "join"}' '{"op": "read", "variable": "w", "id": "w"}' >&5
  answer '"join"'
  jq -e '.status == "ready"' <<<"$EVENT"
  answer '"w"'
  jq -ce '.value | unique' <<<"$EVENT"
  jq -e '.value | unique == [6000] and length == 100000' <<<"$EVENT" >/dev/null
  exec 5>&-
  coordinator_ends 0
}

@test "loans: workers that are killed while they read a server's memory, and lend their own, cost nothing" {
  grows worker:1
  kill -KILL "$(task_pid worker:0)"
  kill -KILL "$(task_pid worker:1)"
  has_grown
}

# Answers go on coming.
answers() { # COUNT
  local i
  for ((i = 0; i < $1; ++i)); do IFS= read -r -t 60 -u 6 EVENT; done
}

@test "loans: a worker that is stopped while it has borrowed something holds nobody up, and goes on" {
  grows worker:1
  local stopped
  stopped=$(task_pid worker:1)
  kill -STOP "$stopped"
  answers 1000
  kill -CONT "$stopped"
  has_grown
}

@test "loans: a coordinator that is killed, and one that adopts the run, find everything counted" {
  grows worker:1
  kill_coordinator
  exec 5>&-
  coordinate program.json --cluster spec.json --keep-servers --closures - < <(
    echo '{"op": "join", "id": "join"}'
    echo '{"op": "read", "variable": "w", "id": "w"}')
  answer '"w"'
  jq -e '.value | unique | length == 1' <<<"$EVENT" >/dev/null
  coordinator_ends 0
}
