#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tasks and coordinators that die while a program trains: counts, messages, continuations.
# bats file_tags=long

load ../cli/coordinate
load seen
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# A training of $1 steps in the background; a line and a checkpoint every so often.
train() {
  counting_program "{\"function\": \"count\", \"steps\": $1, \"log_every\": 100, \"checkpoint\": {\"dir\": \"ck\", \"every\": 1000}}"
  coordinate program.json --cluster spec.json "${@:2}"
}

@test "fault: workers killed while it trains cost no step and double none" {
  serve --jobs worker=3,ps=2
  train 100000000
  workers_are_killed_at 300 1201 2501
  event '.event == "worker" and .state == "back"'
  stops_with_each_step_once
}

@test "fault: a killed parameter server is exit 69 with its name and the checkpoint, and the next run continues" {
  serve --jobs worker=2,ps=2
  train 100000000
  event '.event == "checkpoint" and .step == 2000'
  kill -KILL "$(task_pid ps:1)"
  event '.event == "end" and .reason == "error" and .error.code == "UNAVAILABLE" and .error.task == "ps:1"'
  coordinator_ends 69
  [ "$(wc -l <"talk")" = 2 ]
  [ "$(head -n 1 talk)" = 'tfd-coordinate: saving to ck every 1000 steps, and at the end' ]
  [[ $(tail -n 1 talk) =~ ^'tfd-coordinate: parameter server ps:1 is gone: '.*'; once it serves again, the same command continues from ck/step-'0*([0-9]+)'.safetensors (step '([0-9]+)')'$ ]]
  step=${BASH_REMATCH[2]}
  coordinate program.json --cluster spec.json --set "train.steps=$((step + 500))"
  event ".event == \"start\" and .step == $step"
  is_done_with_each_step_once $((step + 500))
}

@test "fault: a frozen worker is seen lost, and does no harm when it goes on" {
  serve --jobs worker=2,ps=2
  train 100000000
  event '.event == "step" and .step >= 300'
  pid=$(task_pid worker:1)
  kill -STOP "$pid"
  event '.event == "worker" and .task == "worker:1" and .state == "lost"'
  event '.event == "step"'
  kill -CONT "$pid"
  event '.event == "worker" and .task == "worker:1" and .state == "back"'
  stops_with_each_step_once
}

@test "fault: all workers dead for a while, then it goes on" {
  serve --jobs worker=2,ps=2
  train 6000
  event '.event == "step" and .step >= 300'
  kill -STOP "$SERVE" # nobody restarts them
  kill -KILL "$(task_pid worker:0)" "$(task_pid worker:1)"
  event '.event == "worker" and .state == "lost"'
  event '.event == "worker" and .state == "lost"'
  kill -CONT "$SERVE"
  is_done_with_each_step_once 6000
}

@test "fault: told to end while all workers are away, it saves what was trained and ends with 75" {
  serve --jobs worker=2,ps=2
  train 100000000 --grace 60s
  event '.event == "step" and .step >= 300'
  kill -STOP "$SERVE" # nobody restarts them
  kill -KILL "$(task_pid worker:0)" "$(task_pid worker:1)"
  event '.event == "worker" and .state == "lost"'
  event '.event == "worker" and .state == "lost"'
  SECONDS=0
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted"'
  local step
  step=$(jq .step <<<"$EVENT")
  coordinator_ends 75
  [ "$SECONDS" -lt 30 ]
  [ -e "ck/step-$(printf %08d "$step").safetensors" ] # now, or just before the workers died
  kill -CONT "$SERVE"
  coordinate program.json --cluster spec.json --set "train.steps=$((step + 500))"
  event ".event == \"start\" and .step == $step"
  event '.event == "end" and .reason == "done"'
  coordinator_ends 0
  # Up to four steps of each worker may have come to a parameter server without being answered, of which one's update was in
  # flight while the next was made, and others' answers waited to leave together: they are made again.
  local saved n0 n1 n
  read -r saved n0 n1 <<<"$(counts_in ck)"
  [ "$saved" = $((step + 500)) ]
  for n in "$n0" "$n1"; do [ "$n" -ge "$saved" ] && [ "$n" -le $((saved + 8)) ]; done
}

@test "fault: coordinators that are killed are continued by the same command: no step is lost, and none counts twice" {
  serve --jobs worker=2,ps=2
  train 100000000 --keep-servers
  event '.event == "checkpoint" and .step == 2000'
  local step=2000 run
  for run in 1 2 3 4; do
    kill_coordinator
    coordinate program.json --cluster spec.json --keep-servers
    event '.event == "start"'
    jq -e ".adopted and .step >= $step" <<<"$EVENT"
    step=$(jq .step <<<"$EVENT")
    grep -q "continuing at step $step: the parameter servers still hold its state" talk
    event ".event == \"step\" and .step >= $step + 150 * $run"
    step=$(jq .step <<<"$EVENT")
  done
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted"'
  step=$(jq .step <<<"$EVENT")
  coordinator_ends 75
  [ "$(counts_in ck)" = "$step $step $step" ]
  # An orderly end leaves nothing to adopt.
  coordinate program.json --cluster spec.json --set "train.steps=$((step + 500))"
  event ".event == \"start\" and .step == $step and .resumed_from != null"
  is_done_with_each_step_once $((step + 500))
}

@test "fault: coordinators that are killed while they begin are continued, too" {
  serve --jobs worker=2,ps=2
  train 100000000 --keep-servers --set train.checkpoint.every=100000000
  event '.event == "step" and .step >= 300'
  for run in {1..20}; do
    kill_coordinator
    coordinate program.json --cluster spec.json --keep-servers
    # When it is killed is what differs.
    sleep "$(tee -a delays <<<"0.0$((RANDOM % 10))$((RANDOM % 10))")"
  done
  cat delays
  event '.event == "start"'
  jq -e '.adopted and .step >= 300' <<<"$EVENT"
  stops_with_each_step_once
}

@test "fault: another training in the place of one whose coordinator was killed says what is lost" {
  serve --jobs worker=1,ps=1
  train 100000000
  event '.event == "checkpoint" and .step == 2000'
  kill_coordinator
  local other=(program.json --cluster spec.json --keep-servers --set train.checkpoint.dir=other --set train.steps=5)
  run -0 --separate-stderr timeout 60 tfd-coordinate "${other[@]}"
  [[ $stderr == *"the parameter servers had an unfinished training (run $(jq -r .run ck/index.json)): its steps since its last checkpoint are lost"* ]]
  run -0 --separate-stderr timeout 60 tfd-coordinate "${other[@]}" --set train.steps=10
  [[ $stderr != *"had an unfinished training"* ]]
}

is_another_ps() { # PID
  local pid
  pid=$(task_pid ps:1) && [ "$pid" != "$1" ]
}

@test "fault: where a parameter server died with the coordinator, the newest checkpoint is what continues" {
  serve --jobs worker=2,ps=2
  train 100000000
  event '.event == "checkpoint" and .step == 2000'
  kill_coordinator
  local gone
  gone=$(task_pid ps:1)
  kill -KILL "$gone"
  until_true is_another_ps "$gone"
  coordinate program.json --cluster spec.json --set train.steps=50000
  event '.event == "start" and .step >= 2000 and .step % 1000 == 0 and .resumed_from != null'
  is_done_with_each_step_once 50000
}

# A training of one worker over data that aren't handed out, whose coordinator gets that signal on the way, and the servers too
# where it says so; the next one goes on until the end, and each element was seen once in a pass.
data_go_on_after() { # SIGNAL [cluster]
  serve --jobs worker=1,ps=1
  seeing_program '{"shuffle": {"buffer": 300}}, {"repeat": {}}' \
    '{"function": "see", "steps": 20000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 500}}'
  coordinator_is_stopped_midway "$1"
  if [ "${2:-}" = cluster ]; then
    kill -KILL "$SERVE"
    wait "$SERVE" || true
    serve --jobs worker=1,ps=1
  fi
  coordinate program.json --cluster spec.json
  event '.event == "end" and .reason == "done" and .step == 20000'
  coordinator_ends 0
  [ "$(seen_in ck/step-00020000.safetensors)" = 20 ]
}

@test "fault: a training that is stopped goes on with the data that come next" { data_go_on_after TERM; }

@test "fault: so does one whose coordinator is killed, from what the parameter servers have" { data_go_on_after KILL; }

@test "fault: so does one whose coordinator and servers are killed, from its checkpoint" { data_go_on_after KILL cluster; }
