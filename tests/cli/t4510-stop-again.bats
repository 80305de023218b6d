#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A training that is interrupted and started again stops where it would have stopped, with the same best evaluation.
# bats file_tags=long

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

# Every evaluation, ten steps apart, is worse than the one before: the first one is the best, and it stops at 3010.
EVERY=10 PATIENCE=300 LAST=3010
often=(--set train.log_every=1000 --set 'train.checkpoint={"dir": "ck", "every": 50}')

@test "stop: tfd-coordinate that is interrupted by SIGTERM, and by SIGKILL, stops at the same step with the same best" {
  falling_program $EVERY $PATIENCE
  serve --jobs worker=1,ps=2
  local command=(program.json --cluster spec.json --keep-servers "${often[@]}")
  coordinate "${command[@]}"
  event '.event == "eval" and .step >= 300'
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted" and .step < 3010'
  coordinator_ends 75
  coordinate "${command[@]}"
  event '.event == "start" and .step >= 300'
  event '.event == "eval" and .step >= 1000'
  kill_coordinator
  coordinate "${command[@]}"
  event '.event == "start" and .step >= 950 and .step < 3010'
  event ".event == \"end\" and .reason == \"stopped\" and .step == $LAST and .restored_step == $EVERY"
  coordinator_ends 0
  jq -e ".evaluations | last | .step == $LAST and .since == $PATIENCE and .best_step == $EVERY" ck/stop.json
  [ "$(ls ck/stop)" = step-00000010.safetensors ]
  [ "$(counts_in ck)" = "$LAST $EVERY $EVERY" ]
}

@test "stop: tfd-run that is interrupted by SIGTERM, and by SIGKILL, stops at the same step with the same best" {
  falling_program $EVERY $PATIENCE
  cluster_of 1 2
  worker worker:0 program.json "${often[@]}"
  until_event worker:0 '.event == "eval" and .step >= 300'
  kill -TERM "$RUN"
  run_ends "$RUN" 75
  worker worker:0 program.json "${often[@]}"
  until_event worker:0 '.event == "start" and .step >= 300'
  until_event worker:0 '.event == "eval" and .step >= 1000'
  kill -KILL "$RUN"
  ends "$RUN"
  worker worker:0 program.json "${often[@]}"
  run_ends "$RUN" 0
  [ "$(last worker:0 '[.reason, .step, .restored_step]')" = "[\"stopped\",$LAST,$EVERY]" ]
  [ "$(counted ck)" = "$LAST $EVERY $EVERY" ]
}

@test "stop: workers and parameter servers killed with the chief, it goes on from a checkpoint and what was seen until then" {
  falling_program $EVERY $PATIENCE
  cluster_of 1 2
  worker worker:0 program.json "${often[@]}"
  until_event worker:0 '.event == "eval" and .step >= 300'
  kill -KILL "$RUN" "$(task_pid ps:0)" "$(task_pid ps:1)"
  ends "$RUN"
  worker worker:0 program.json "${often[@]}"
  until_event worker:0 '.event == "start" and .resumed_from != null and .step % 50 == 0'
  run_ends "$RUN" 0
  [ "$(last worker:0 '[.reason, .step, .restored_step]')" = "[\"stopped\",$LAST,$EVERY]" ]
}
