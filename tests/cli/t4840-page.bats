#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The page of tf.distribute.coordinator.ClusterCoordinator, where it tells of functions that are still running: they are
# commands that wait at a gate. The other sentences are in t4200-page.bats, all of them in C++ in
# tests/unit/coordinator/test_documented.cpp.

load coordinate
setup() {
  coordinate_setup
  mkfifo arrived gate
  exec {ARRIVED}<>arrived {GATE}<>gate
}
teardown() { coordinate_teardown; }

# gated: says its number, waits at the gate and adds it to v. bad: fails. add: adds its argument to v, which it returns.
gated_program() {
  cat >same.mlir <<'MLIR'
module @same {
  func.func public @main(%x: tensor<i32>) -> tensor<i32> {
    return %x : tensor<i32>
  }
}
MLIR
  jq -n --arg gated "read -r x; echo \$x >'$T/arrived'; read -r _ <'$T/gate'; echo \$x" '
    {dtype: "s32", shape: []} as $number
    | def command($line): {command: ["sh", "-c", $line], arguments: [$number], results: [$number], inputs: [{arg: 0}]};
    {v: 1, variables: {v: {shape: [], dtype: "s32", init: {zeros: {}}}, up: {shape: [], dtype: "s32", init: {ones: {}}, per_worker: true}},
     datasets: {five: [{range: 5}, {map: {function: "narrow", fields: ["x"]}}]},
     functions: {
       gated: (command($gated) + {outputs: [{assign_add: "v"}], returns: ["v"]}),
       bad: (command("echo no luck >&2; exit 3") + {outputs: [{result: 0}]}),
       add: {module: "same.mlir", inputs: [{arg: 0}], outputs: [{assign_add: "v"}], returns: ["v"]},
       next: {module: "same.mlir", inputs: [{kwarg: "iterator"}], outputs: [{result: 0}]},
       narrow: {module: "narrow.mlir", inputs: [{arg: 0}], outputs: [{result: 0}]}}}' >program.json
  cat >narrow.mlir <<'MLIR'
module @narrow {
  func.func public @main(%x: tensor<i64>) -> tensor<i32> {
    %out = stablehlo.convert %x : (tensor<i64>) -> tensor<i32>
    return %out : tensor<i32>
  }
}
MLIR
}

# Lines for say(), answers by event() and answer().
coordinator() { # ARGS…
  gated_program
  mkfifo lines
  exec 5<>lines
  coordinate program.json --cluster spec.json --closures - "$@" <lines {ARRIVED}>&- {GATE}>&-
}
say() { printf '%s\n' "$@" >&5; }
call() { echo "{\"op\": \"schedule\", \"function\": \"$1\", \"args\": [$2], \"id\": \"$3\"}"; }
# Waits until the gated function with this number runs.
arrives() {
  local number
  IFS= read -r -t 30 -u "$ARRIVED" number && [ "$number" = "$1" ]
}
opens() { echo >&"$GATE"; }  # for one
# Until so many workers have the program: a coordinator begins with one.
workers_are_up() { # COUNT
  local number=0
  while :; do
    number=$((number + 1))
    say "{\"op\": \"read\", \"variable\": \"up\", \"id\": \"up $number\"}"
    answer "\"up $number\""
    [ "$(jq '.value | arrays | length' <<<"$EVENT")" != "$1" ] || return 0
  done
}
coordinator_done() { # CODE
  exec 5>&-
  coordinator_ends "$1"
}

@test "coordinator page: schedule returns immediately; done tells that a function has not finished, join waits for it" {
  serve --jobs worker=1,ps=1 --allow-native
  coordinator
  say "$(call gated 1 a)" '{"op": "done", "id": "early"}' '{"op": "join", "id": "joined"}'
  event '.id == "early" and .value == false'
  arrives 1
  # Of what was asked, nothing but done has an answer as long as the function is being executed.
  ! IFS= read -r -t 0.3 -u 6 EVENT || { echo "too early: $EVENT"; false; }
  opens
  event '.id == "a" and .status == "ready" and .value == 1'
  event '.id == "joined" and .status == "ready"'
  say '{"op": "done", "id": "late"}'
  event '.id == "late" and .value == true'
  coordinator_done 0
}

@test "coordinator page: fetch waits for a value that isn't ready, and returns at once when it is" {
  serve --jobs worker=1,ps=1 --allow-native
  coordinator
  say "$(call gated 7 a)" '{"op": "fetch", "of": {"remote": "a"}, "id": "waits"}'
  arrives 7
  ! IFS= read -r -t 0.3 -u 6 EVENT || { echo "too early: $EVENT"; false; }
  opens
  event '.id == "waits" and .value == 7'
  say '{"op": "fetch", "of": {"remote": "a"}, "id": "again"}'
  event '.id == "again" and .value == 7'
  coordinator_done 0
}

@test "coordinator page: functions are executed on any worker that is available, so on both" {
  serve --jobs worker=2,ps=1 --allow-native
  coordinator
  workers_are_up 2
  local one other
  say "$(call gated 1 a)" "$(call gated 2 b)"
  IFS= read -r -t 30 -u "$ARRIVED" one
  IFS= read -r -t 30 -u "$ARRIVED" other  # though the first one hasn't ended
  [ "$((one + other))" = 3 ]
  opens
  opens
  say '{"op": "join", "id": "joined"}'
  answer '"joined"'
  say '{"op": "read", "variable": "v", "id": "v"}'
  event '.id == "v" and .value == 3'
  coordinator_done 0
}

@test "coordinator page: if the worker becomes unavailable before its completion the function is migrated to another worker" {
  serve --jobs worker=2,ps=1 --allow-native
  coordinator
  workers_are_up 2
  say "$(call gated 5 a)"
  arrives 5
  # Whose child it is that waits at the gate tells where it runs.
  local pid parent task victim=
  while read -r pid; do
    parent=$pid
    while [ "$parent" -gt 1 ] && [ "$parent" != "$SERVE" ]; do
      pid=$parent
      parent=$(ps -o ppid= -p "$pid" | tr -d ' ')
    done
    for task in worker:0 worker:1; do [ "$(task_pid "$task")" != "$pid" ] || victim=$task; done
  done < <(pgrep -f "<'$T/gate'")
  [ -n "$victim" ]
  kill -STOP "$SERVE"  # which would start the worker again
  kill -KILL "$(task_pid "$victim")"
  arrives 5
  opens
  opens  # should the first one's command still wait
  event '.id == "a" and .status == "ready" and .value == 5'
  say '{"op": "read", "variable": "v", "id": "v"}'
  event '.id == "v" and .value == 5'
  kill -CONT "$SERVE"
  coordinator_done 0
}

@test "coordinator page: upon recovery a worker executes functions again after its datasets were re-built" {
  serve --jobs worker=1,ps=1 --allow-native
  coordinator
  say '{"op": "create_per_worker_dataset", "dataset": "five", "id": "ds"}'
  for i in 0 1 2; do
    say "{\"op\": \"schedule\", \"function\": \"next\", \"kwargs\": {\"iterator\": {\"per_worker\": \"five\"}}, \"id\": \"n$i\"}"
    event ".id == \"n$i\" and .value == $i"
  done
  kill -KILL "$(task_pid worker:0)"
  # Its first element again, by an argument that has a name.
  say '{"op": "schedule", "function": "next", "kwargs": {"iterator": {"per_worker": "five"}}, "id": "again"}'
  event '.id == "again" and .value == 0'
  coordinator_done 0
}

@test "coordinator page: fetch tells which functions were executed, failed or cancelled, and those can be scheduled again" {
  serve --jobs worker=1,ps=1 --allow-native
  coordinator
  say "$(call gated 1 executed)"
  arrives 1
  say "$(call bad 2 failed)"
  for i in $(seq 100); do say "$(call add 1000 "c$i")"; done  # more than a worker is given at a time
  say '{"op": "done", "id": "all scheduled"}'
  answer '"all scheduled"'
  say '{"op": "join", "id": "joined"}'
  opens
  answer '"executed"'
  [ "$(jq .value <<<"$EVENT")" = 1 ]
  event '.id == "failed" and .status == "error" and .error.task == "worker:0" and (.error.message | contains("no luck"))'
  answer '"c100"'
  jq -e '.status == "cancelled" and .because == "failed"' <<<"$EVENT"
  event '.id == "joined" and .status == "raised" and (.error.message | contains("no luck"))'
  say '{"op": "fetch", "of": {"remote": "executed"}, "id": 1}' '{"op": "fetch", "of": {"remote": "failed"}, "id": 2}' \
    '{"op": "fetch", "of": {"remote": "c100"}, "id": 3}'
  event '.id == 1 and .value == 1'
  event '.id == 2 and .status == "error" and (.error.message | contains("no luck"))'
  event '.id == 3 and .status != "ready"'
  say '{"op": "read", "variable": "v", "id": "before"}'
  answer '"before"'
  local before
  before=$(jq .value <<<"$EVENT")
  say "$(call add 1000 again)"
  event ".id == \"again\" and .status == \"ready\" and .value == $before + 1000"
  coordinator_done 1
}

@test "coordinator page: done raises any one of the errors, after which no function is being executed, and clears it" {
  serve --jobs worker=2,ps=1 --allow-native
  coordinator
  workers_are_up 2
  say "$(call gated 1 slow)"
  arrives 1
  say "$(call bad 1 failed)"
  event '.id == "failed" and .status == "error"'
  say '{"op": "done", "id": "raises"}'
  ! IFS= read -r -t 0.3 -u 6 EVENT || { echo "too early: $EVENT"; false; }  # the other worker's still runs
  opens
  event '.id == "slow" and .status == "ready"'
  event '.id == "raises" and .status == "raised" and .error.task != null'
  say '{"op": "done", "id": "clean"}'
  event '.id == "clean" and .status == "ready" and .value == true'
  coordinator_done 1
}

@test "coordinator page: when schedule raises, no function is being executed, and the errors are cleared" {
  serve --jobs worker=2,ps=1 --allow-native
  coordinator
  workers_are_up 2
  say "$(call gated 1 slow)"
  arrives 1
  say "$(call bad 1 failed)"
  event '.id == "failed" and .status == "error"'
  say "$(call add 100 raises)"
  ! IFS= read -r -t 0.3 -u 6 EVENT || { echo "too early: $EVENT"; false; }
  opens
  event '.id == "slow" and .status == "ready"'
  event '.id == "raises" and .status == "raised"'
  say "$(call add 10 clean)"
  event '.id == "clean" and .value == 11'
  coordinator_done 1
}

@test "coordinator page: a parameter server's failure is raised, and a new coordinator goes on from what was saved" {
  serve --jobs worker=1,ps=1 --allow-native
  coordinator
  for i in 1 2 3; do say "$(call add 1 "a$i")"; done
  say '{"op": "join", "id": "joined"}' '{"op": "save", "path": "ck", "id": "saved"}'
  event '.id == "saved" and .step == 3'
  say "$(call gated 100 running)"
  arrives 100
  say '{"op": "join", "id": "raises"}' "$(call add 1 scheduled)" '{"op": "done", "id": "asked"}' '{"op": "join", "id": "raises again"}'
  kill -KILL "$(task_pid ps:0)"
  for id in raises scheduled asked "raises again"; do
    event ".id == \"$id\" and .status == \"raised\" and .error.code == \"UNAVAILABLE\" and .error.task == \"ps:0\""
  done
  opens
  coordinator_done 69
  run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --ordered --closures - <<'LINES'
{"op": "read", "variable": "v"}
{"op": "restore", "path": "ck"}
{"op": "schedule", "function": "add", "args": [1], "id": "goes on"}
{"op": "join"}
{"op": "save", "path": "ck"}
LINES
  # It connects again, variables are made anew, and iterations tells how many updates there were.
  [ "$(jq -c '.value // .step // empty' <<<"$output" | paste -sd' ')" = "0 3 4 4" ]
}

@test "coordinator page: datasets of different workers are the same, but for a shuffle whose seed is not set" {
  gated_program
  serve --jobs worker=2,ps=1 --allow-native
  jq 'del(.cluster.worker[1])' spec.json >one.json
  jq 'del(.cluster.worker[0]) | .cluster.worker = {"1": .cluster.worker[0]}' spec.json >other.json
  order_on() { # SPEC, SHUFFLE
    { echo '{"op": "create_per_worker_dataset", "dataset": "shuffled"}'
      for _ in {1..20}; do echo '{"op": "schedule", "function": "next", "kwargs": {"iterator": {"per_worker": "shuffled"}}}'; done; } >lines.jsonl
    timeout 60 tfd-coordinate -q program.json --cluster "$1" --compat tensorflow --keep-servers --ordered --closures lines.jsonl \
      --set "datasets.shuffled=[{\"range\": 20}, {\"shuffle\": $2}, {\"map\": {\"function\": \"narrow\", \"fields\": [\"x\"]}}]" | jq '.value // empty' | paste -sd' '
  }
  local seeded unseeded
  seeded=$(order_on one.json '{"buffer": 20, "seed": 5}')
  [ "$(tr ' ' '\n' <<<"$seeded" | sort -n | paste -sd' ')" = "$(seq -s' ' 0 19)" ]
  [ "$seeded" = "$(order_on other.json '{"buffer": 20, "seed": 5}')" ]
  unseeded=$(order_on one.json '{"buffer": 20}')
  [ "$(tr ' ' '\n' <<<"$unseeded" | sort -n | paste -sd' ')" = "$(seq -s' ' 0 19)" ]
  [ "$unseeded" != "$(order_on other.json '{"buffer": 20}')" ]
}

@test "coordinator page: dataset_fn is executed on the workers: relative paths of its data are theirs" {
  serve --jobs worker=1,ps=1 --data-root "$T/of-the-worker" --allow-native
  mkdir of-the-worker
  printf '41\n42\n' >of-the-worker/numbers.csv
  printf '1\n2\n' >numbers.csv  # what the coordinator has, to check the program with
  gated_program
  run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --ordered --closures - \
    --set 'datasets.numbers=[{"csv": {"path": "numbers.csv", "fields": {"x": {"columns": 0, "dtype": "s32"}}}}]' <<'LINES'
{"op": "create_per_worker_dataset", "dataset": "numbers"}
{"op": "schedule", "function": "next", "kwargs": {"iterator": {"per_worker": "numbers"}}}
LINES
  [ "$(jq -s '.[1].value' <<<"$output")" = 41 ]
}

@test "coordinator page: there is no worker assignment, no priority, and no next on the iterators of all workers" {
  serve --jobs worker=1,ps=1 --allow-native
  gated_program
  run -1 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --ordered --closures - <<'LINES'
{"op": "create_per_worker_dataset", "dataset": "five"}
{"op": "schedule", "function": "add", "args": [1], "worker": 0}
{"op": "schedule", "function": "add", "args": [1], "priority": 1}
{"op": "next", "of": {"per_worker": "five"}}
{"op": "schedule", "function": "add", "args": [1e400]}
{"op": "schedule", "function": "add", "args": [1]}
LINES
  [ "$(jq -s -c 'map(.error.code // .status)' <<<"$output")" = '["ready","INVALID_ARGUMENT","INVALID_ARGUMENT","INVALID_ARGUMENT","INVALID_ARGUMENT","ready"]' ]
  [[ "$(jq -s -r '.[1].error.message' <<<"$output")" == "schedule: unknown key 'worker'" ]]
  [[ "$(jq -s -r '.[2].error.message' <<<"$output")" == "schedule: unknown key 'priority'" ]]
  [[ "$(jq -s -r '.[3].error.message' <<<"$output")" == "unknown op 'next'"* ]]
}

@test "coordinator page: it works with a cluster of workers and parameter servers only" {
  gated_program
  echo '{"cluster": {"worker": ["h:1"]}}' >no-ps.json
  run -65 --separate-stderr timeout 20 tfd-coordinate program.json --cluster no-ps.json --closures /dev/null
  [[ $stderr == *"no ps"* ]]
  echo '{"cluster": {"ps": ["h:1"]}}' >no-worker.json
  run -65 --separate-stderr timeout 20 tfd-coordinate program.json --cluster no-worker.json --closures /dev/null
  [[ $stderr == *"no worker"* ]]
  echo '{"cluster": {"worker": ["h:1"], "ps": ["h:2"], "tpu_worker": ["h:3"]}}' >other.json
  run -65 --separate-stderr timeout 20 tfd-coordinate program.json --cluster other.json --closures /dev/null
  [[ $stderr == *"tpu_worker"* ]]
}
