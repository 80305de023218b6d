#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tasks and coordinators that die or freeze with --strict: both parameter servers have the same attempt of every closure.
# bats file_tags=long

load ../cli/coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# stamp: adds its process id to n0 on ps:0 and to n1 on ps:1, and returns it: no two attempts are alike.
stamp_program() {
  jq -n '{dtype: "s64", shape: []} as $number
    | {v: 1, variables: {n0: {shape: [], dtype: "s64", init: {zeros: {}}}, n1: {shape: [], dtype: "s64", init: {zeros: {}}}},
       functions: {stamp: {command: ["sh", "-c", "read -r x; echo \"[$$, $$, $$]\""], arguments: [], results: [$number, $number, $number],
                           inputs: [], outputs: [{result: 0}, {assign_add: "n0"}, {assign_add: "n1"}]}}}' >program.json
}

stamps() { # FIRST LAST
  seq "$1" "$2" | sed 's/.*/{"op": "schedule", "function": "stamp", "id": &}/'
}

# Joins; both parameter servers have the sum of the answered closures, which is in $T/values but for the read ones.
both_have_what_was_answered() {
  local sum
  { echo '{"op": "join", "id": "join"}'; printf '{"op": "read", "variable": "%s", "id": "%s"}\n' n0 n0 n1 n1; } >&5
  answer '"n1"'
  exec 5>&-
  coordinator_ends 0
  until_true grep -q '"id":"n1"' all
  sum=$(jq -s 'map(select(.id | type == "number").value) | add' all)
  echo "# $(jq -c 'select(.id == "n0" or .id == "n1").value' all | paste -sd' ') of $sum"
  [ "$(jq -c 'select(.id == "n0" or .id == "n1").value' all | paste -sd' ')" = "$sum $sum" ]
}

# Closures of $1 on the served cluster, whose answers go to all, too.
begin_stamps() {
  stamp_program
  mkfifo lines
  exec 5<>lines
  env --default-signal=INT tfd-coordinate program.json --cluster spec.json --strict --closures - <lines 2>"$T/talk" 5>&- 6>&- 7>&- 8>&- > >(exec tee all >"$T/events") &
  COORDINATOR=$!
}

@test "fault: with --strict killed workers leave the same attempt of every closure on both parameter servers" {
  serve --allow-native --jobs worker=3,ps=2
  begin_stamps
  stamps 1 1200 >&5
  local at
  for at in 100 401 702; do # of another worker each time: one that was killed needs a moment to be back
    answers "$at"
    kill -KILL "$(task_pid "worker:$((at % 3))")"
  done
  both_have_what_was_answered
}

@test "fault: with --strict a worker that was frozen until others had its closures does no harm" {
  serve --allow-native --jobs worker=2,ps=2
  begin_stamps
  local frozen round
  for round in 0 1 2; do
    stamps $((round * 400 + 1)) $((round * 400 + 400)) >&5
    answers $((round * 400 + 100))
    frozen=$(task_pid "worker:$((round % 2))")
    kill -STOP "$frozen"
    until_true grep -qc "lost worker:$((round % 2))" talk
    answers $((round * 400 + 300))
    kill -CONT "$frozen"
  done
  both_have_what_was_answered
}

@test "fault: with --strict it is the same where a parameter server is frozen while workers die" {
  serve --allow-native --jobs worker=2,ps=2
  begin_stamps
  local server
  server=$(task_pid ps:1)
  stamps 1 600 >&5
  answers 100
  kill -STOP "$server"
  kill -KILL "$(task_pid worker:0)"
  until_true grep -q 'lost worker:0' talk
  kill -CONT "$server"
  answers 300
  kill -STOP "$server"
  kill -KILL "$(task_pid worker:1)"
  until_true grep -q 'lost worker:1' talk
  kill -CONT "$server"
  both_have_what_was_answered
}

train() { # ARGS…
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 1000}}'
  coordinate program.json --cluster spec.json --strict "$@"
}

@test "fault: with --strict coordinators that are killed are continued, also while a parameter server is frozen" {
  serve --jobs worker=2,ps=2
  train --keep-servers
  event '.event == "checkpoint" and .step == 2000'
  local step=2000 run server
  server=$(task_pid ps:1)
  for run in 1 2 3 4 5; do
    if [ $((run % 2)) = 0 ]; then # it doesn't hear of commits that the other one has
      kill -STOP "$server"
      sleep 0.05 # long enough for messages on their way; more steps can't end without it
    fi
    kill_coordinator
    kill -CONT "$server"
    coordinate program.json --cluster spec.json --strict --keep-servers
    event '.event == "start"'
    jq -e ".adopted and .step >= $step" <<<"$EVENT"
    step=$(jq .step <<<"$EVENT")
    event ".event == \"step\" and .step >= $step + 150 * $run"
    step=$(jq .step <<<"$EVENT")
  done
  stops_with_each_step_once
}

@test "fault: with --strict workers killed while it trains cost no step and double none" {
  serve --jobs worker=3,ps=2
  train
  workers_are_killed_at 300 1201 2501
  event '.event == "worker" and .state == "back"'
  stops_with_each_step_once
}

@test "fault: with --strict what is saved while all workers are away has each step that was counted, and no other" {
  serve --jobs worker=2,ps=2
  train --grace 60s
  event '.event == "step" and .step >= 300'
  kill -STOP "$SERVE" # nobody restarts them
  kill -KILL "$(task_pid worker:0)" "$(task_pid worker:1)"
  event '.event == "worker" and .state == "lost"'
  event '.event == "worker" and .state == "lost"'
  stops_with_each_step_once
  kill -CONT "$SERVE"
}
