#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Workers and coordinators that die while accumulated gradients are clipped by a norm of several parameter servers.
# bats file_tags=long

load ../cli/clipping
setup() { coordinate_setup; }
teardown() { run_teardown; }

# Each update is by 1.5, 2 and 6: of $1 steps a third.
check_updates() { # STEPS
  local n=$(($1 / 3))
  [ "$(clipped_values ck)" = "$(python3 -c "print(f'{-1.5 * $n:g} {-2 * $n:g} {-6 * $n:g}')")" ]
}

@test "fault: workers killed while norms of several parameter servers are put together cost no update and double none" {
  clipping_program '"global_clipnorm": 6.5' 6000 '[1.0]'
  serve --jobs worker=2,ps=2
  coordinate program.json --cluster spec.json --set train.log_every=100
  for at in 300 1201; do # the second one is up, whether the first one is back or not
    event ".event == \"step\" and .step >= $at"
    kill -KILL "$(task_pid "worker:$((at % 2))")"
    event '.event == "worker" and .state == "lost"'
  done
  event '.event == "end" and .reason == "done" and .step == 6000'
  coordinator_ends 0
  check_updates 6000
}

@test "fault: a coordinator killed while norms are put together is continued without losing or doubling an update" {
  clipping_program '"global_clipnorm": 6.5' 100000000 '[1.0]'
  serve --jobs worker=2,ps=2
  coordinate program.json --cluster spec.json --keep-servers --set train.log_every=100
  event '.event == "step" and .step >= 300'
  for _ in 1 2 3; do
    kill_coordinator
    coordinate program.json --cluster spec.json --keep-servers --set train.log_every=100
    event '.event == "start"'
    jq -e .adopted <<<"$EVENT"
    event '.event == "step"'
  done
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted"'
  local step
  step=$(jq .step <<<"$EVENT")
  coordinator_ends 75
  check_updates "$step"
}
