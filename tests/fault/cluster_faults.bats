#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Random faults in a cluster that trains: its coordinator, workers and parameter servers are killed, frozen and told to end, one by one
# and several at once, at any moment of a training's life. The final counts are exactly the steps made.
# TFD_FAULT_SEEDS="1 2 3": orders of faults, one after the other; ./dev fault N runs many.
# bats file_tags=long

load ../cli/run
setup() { coordinate_setup; }
teardown() { run_teardown; }

# Faults of the seeds, one after the other, by random_KIND.
random_faults() { # KIND
  local seed round
  for seed in ${TFD_FAULT_SEEDS:-1}; do
    RANDOM=$seed
    for ((round = 0; round < ${TFD_FAULT_ROUNDS:-8}; ++round)); do
      sleep "0.$((RANDOM % 900 + 100))"
      "random_$1"
    done
  done
}
freeze() { # PROCESS
  kill -STOP "$1"
  sleep "0.$((RANDOM % 900 + 100))"
  kill -CONT "$1"
}
count_steps() {
  counting_program '{"function": "count", "log_every": 50, "steps": 100000000, "checkpoint": {"dir": "ck", "every": 500}}'
}

# ---- tfd-coordinate

# The same command again, in the place of the one that has ended. Its lines are in events.N and talk.N.
start_again() {
  STARTS=$((${STARTS:-0} + 1))
  env --default-signal=INT tfd-coordinate program.json --cluster spec.json --max-failures 100000 \
    >"events.$STARTS" 2>"talk.$STARTS" </dev/null 5>&- 6>&- 7>&- 8>&- &
  COORDINATOR=$!
}
told() {
  tail -n 5 talk.* && return 1
}
step_events() { grep -cs '"event":"step"' "events.$STARTS"; }
has_step_events() { # COUNT
  [ "$(step_events)" -ge "$1" ] || ! kill -0 "$COORDINATOR" 2>/dev/null
}
# It has made more steps than were on their way when this was called: whatever was killed before is back.
is_training() {
  until_true has_step_events $(($(step_events) + 2)) || told
  kill -0 "$COORDINATOR" || told
}
coordinator_has_ended() { # CODES
  local code=0
  ends "$COORDINATOR" || told
  wait "$COORDINATOR" || code=$?
  [[ " $* " == *" $code "* ]] || { echo "exit code $code, not $*" && told; }
}
# The process of a task, which may be on its way back.
living() { # TASK
  until_true task_pid "$1" >/dev/null && task_pid "$1"
}
kill_task() { kill -KILL "$(living "$1")" 2>/dev/null || true; } # TASK

random_cluster() {
  local ps=ps:$((RANDOM % 2)) worker=worker:$((RANDOM % 2)) kind=$((RANDOM % 9))
  echo "# $kind $ps $worker" >>faults
  case $kind in
    0 | 1) # the coordinator; with 1 a task that it uses dies as well, in this moment
      [ "$kind" = 0 ] || kill_task "$([ $((RANDOM % 2)) = 0 ] && echo "$ps" || echo "$worker")"
      kill -KILL "$COORDINATOR"
      coordinator_has_ended 137
      start_again
      ;;
    2) # told to end: with a checkpoint, unless a parameter server is away (69), or it has only just been started (143)
      kill -TERM "$COORDINATOR"
      coordinator_has_ended 75 69 143
      start_again
      ;;
    3) freeze "$COORDINATOR" ;;
    4) freeze "$(living "$ps")" ;;
    5) freeze "$(living "$worker")" ;;
    6) kill_task "$ps" ;;
    7) kill_task "$worker" ;;
    8) # all at once
      for task in ps:0 ps:1 worker:0 worker:1; do kill_task "$task"; done
      ;;
  esac
}

@test "cluster: random faults of coordinator, workers and parameter servers, and each step counts once" {
  serve --jobs worker=2,ps=2
  count_steps
  start_again
  is_training
  random_faults cluster
  is_training
  kill -TERM "$COORDINATOR"
  coordinator_has_ended 75
  COORDINATOR=
  # The metrics of 50 steps are those of exactly these, whose loss is their number, whichever process made them.
  for events in events.*; do
    jq -es '[.[] | select(.event == "start" or .event == "step")] | [range(1; length) as $i | select(.[$i - 1].event == "step") | .[$i] |
      select(.event == "step" and .step % 50 == 0)] | all(.metrics.loss == .step - 25.5)' "$events"
  done
  step=$(jq -s '.[-1] | select(.event == "end" and .reason == "interrupted") | .step' "events.$STARTS")
  [ "$(counts_in ck)" = "$step $step $step" ]
}

# ---- asynchronous workers of tfd-run

random_workers() {
  local at=$((RANDOM % 2)) kind=$((RANDOM % 4)) code=0
  echo "# $kind $at" >>faults
  case $kind in
    0) # a parameter server, for less than others wait
      freeze "$(living "ps:$((RANDOM % 2))")"
      return
      ;;
    1)
      freeze "${WORKERS[$at]}"
      return
      ;;
    2) kill -KILL "${WORKERS[$at]}" && KILLS=$((KILLS + 1)) ;;
    3) kill -TERM "${WORKERS[$at]}" ;;
  esac
  ends "${WORKERS[$at]}"
  wait "${WORKERS[$at]}" || code=$?
  case $kind$code in
    2137 | 375 | 3143) ;; # 143: it had only just been started
    *) echo "exit code $code" && cat ./*.talk && return 1 ;;
  esac
  worker "worker:$at" program.json
  WORKERS[at]=$RUN
}

@test "workers of tfd-run: random faults of chief, worker and parameter servers, and each step counts once" {
  count_steps
  cluster_of 2 2
  two_workers program.json
  WORKERS=("$CHIEF" "$OTHER") KILLS=0
  RUN=$CHIEF until_event worker:0 '.event == "step"'
  random_faults workers
  CHIEF=${WORKERS[0]} OTHER=${WORKERS[1]}
  RUN=$OTHER until_event worker:1 '.event == "step"'
  RUN=$CHIEF until_event worker:0 '.event == "step"'
  both_are_stopped
  saved_within "$KILLS"
}
