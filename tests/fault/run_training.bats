#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Asynchronous workers of tfd-run, their chief and their parameter servers that die or freeze: counts, messages,
# continuations.
# bats file_tags=long

load ../cli/run
setup() { coordinate_setup; }
teardown() { run_teardown; }

# A training without an end, or of $1 steps, that counts on two parameter servers.
counting() {
  counting_program "{\"function\": \"count\", \"steps\": ${1:-100000000}, \"log_every\": 100, \"checkpoint\": {\"dir\": \"ck\", \"every\": 1000}}"
}

# Waits until task $1 has said a step beyond $2, which RUN may still print.
step_beyond() { until_event "$1" ".event == \"step\" and .step > $2"; }
newest_step() { jq -s 'map(.step // 0) | max' "$1.events"; }

@test "fault: a killed chief stops nobody, joins the training as it stands, and saves all of it" {
  counting
  cluster_of 2 2
  local step
  two_workers program.json
  until_event worker:0 '.event == "checkpoint"'
  kill -KILL "$CHIEF"
  ends "$CHIEF"
  step=$(newest_step worker:1)
  RUN=$OTHER step_beyond worker:1 "$step"
  worker worker:0 program.json
  CHIEF=$RUN
  until_event worker:0 ".event == \"start\" and .joined and .step > $step"
  until_event worker:0 '.event == "checkpoint"'
  both_are_stopped
  saved_within 1
}

@test "fault: a chief in whose place another one has come ends with 77, and neither saves nor ends anything more" {
  counting
  cluster_of 2 2
  two_workers program.json
  until_event worker:0 '.event == "checkpoint"'
  local first=$CHIEF
  env --default-signal=INT tfd-run program.json --cluster cluster.json --task worker:0 --take-over >second.events 2>second.talk </dev/null 5>&- 6>&- 7>&- 8>&- &
  CHIEF=$! RUN=$!
  RUNS+=("$RUN")
  until_event second '.event == "start" and .joined'
  run_ends "$first" 77
  grep -q "another worker:0 has taken the training over: the one on .* (process $CHIEF)" worker:0.talk
  until_event second '.event == "checkpoint"'
  both_are_stopped
  saved_within 1
}

@test "fault: a worker killed again and again costs nobody a step, and ends with the others" {
  counting 100000000
  cluster_of 2 2
  worker worker:0 program.json
  CHIEF=$RUN
  local kills=3 round
  for ((round = 0; round < kills; round++)); do
    worker worker:1 program.json
    until_event worker:1 '.event == "step"'
    kill -KILL "$RUN"
    ends "$RUN"
  done
  worker worker:1 program.json
  until_event worker:1 '.event == "start" and .joined'
  until_event worker:1 '.event == "step"'
  OTHER=$RUN
  both_are_stopped
  saved_within "$kills"
}

@test "fault: a killed parameter server is exit 69 for every worker, which say what to do, and that continues" {
  counting
  cluster_of 2 2
  local step
  two_workers program.json
  until_event worker:0 '.event == "checkpoint" and .step >= 1000'
  kill -KILL "$(task_pid ps:1)"
  run_ends "$CHIEF" 69
  run_ends "$OTHER" 69
  [[ $(tail -n 1 worker:0.talk) =~ ^'tfd-run: parameter server ps:1 is gone: '.*'; once it serves again, the same command continues from ck/step-'0*([0-9]+)'.safetensors (step '([0-9]+)')'$ ]]
  step=${BASH_REMATCH[2]}
  [[ $(tail -n 1 worker:1.talk) =~ ^'tfd-run: parameter server ps:1 is gone: '.*'; once it serves again, the same command joins worker:0, which continues from its newest checkpoint'$ ]]
  # tfd-serve has started it again.
  two_workers program.json --set "train.steps=$((step + 500))"
  # The other one may go on before the chief says so.
  until_event worker:0 ".event == \"start\" and .step >= $step and (.resumed_from | endswith(\"$step.safetensors\"))"
  both_end
  local saved n0 n1
  read -r saved n0 n1 <<<"$(counted ck)"
  [ "$saved" -ge $((step + 500)) ]
  [ "$saved" -le $((step + 501)) ]
}

@test "fault: under tfd-launch --workers MIN:MAX a killed parameter server starts all again, from the newest checkpoint" {
  counting 40000
  env --default-signal=INT tfd-launch --no-prefix --jobs ps=2,worker=2 --workers 2:2 --max-failures 3 -- tfd-run program.json --key-file none \
    >launched.events 2>launched.talk </dev/null 3>&- 6>&- 7>&- 8>&- &
  RUN=$! RUNS+=("$!")
  until_event launched '.event == "checkpoint" and .step >= 2000'
  SERVE=$(pgrep -P "$RUN" -f -- '--task ps:1 ')
  kill -KILL "$(task_pid ps:1)"
  SERVE=
  until_talk launched 'parameter server ps:1 is gone: .*; starting all again in 1s (failure 1, at most 3)'
  until_talk launched 'tfd-run: resuming from ck/step-'
  run_ends "$RUN" 0
  [ "$(counted ck | cut -d ' ' -f 1)" -ge 40000 ]
  saved_within 1  # the checkpoint that it began with may have been made in the middle of the other worker's update
}

@test "fault: a parameter server that is frozen for a moment costs nothing, one that stays frozen is named" {
  counting
  cluster_of 1 2
  worker worker:0 program.json --rejoin 2s
  until_event worker:0 '.event == "step"'
  local pid step
  pid=$(task_pid ps:1)
  step=$(newest_step worker:0)
  kill -STOP "$pid"
  kill -CONT "$pid"
  step_beyond worker:0 "$step"
  kill -STOP "$pid"
  run_ends "$RUN" 69
  kill -CONT "$pid"
  grep -q 'parameter server ps:1 is gone: .*; once it serves again, the same command continues from' worker:0.talk ||
    grep -q 'parameter server ps:1 is gone: .*; there is no checkpoint to continue from' worker:0.talk
  jq -e 'select(.event == "end") | .reason == "error" and .error.task == "ps:1"' worker:0.events
}

@test "fault: a parameter server that is frozen from the beginning is waited for until the deadline, which names it" {
  counting
  cluster_of 1 2
  local pid
  pid=$(task_pid ps:1)
  kill -STOP "$pid"
  worker worker:0 program.json --timeout 2s
  run_ends "$RUN" 75
  kill -CONT "$pid"
  grep -q 'ps:1' worker:0.talk
  run ! grep 'ps:0' worker:0.talk
}

@test "fault: chief, workers and parameter servers all killed: the same commands continue from the newest checkpoint" {
  counting
  cluster_of 2 2
  local step
  two_workers program.json
  until_event worker:0 '.event == "checkpoint" and .step >= 1000'
  kill -KILL "$CHIEF" "$OTHER" "$(task_pid ps:0)" "$(task_pid ps:1)"
  ends "$CHIEF" "$OTHER"
  step=$(basename "$(ls ck | tail -n 1)" .safetensors)
  step=$((10#${step#step-}))
  two_workers program.json --set "train.steps=$((step + 200))"
  # The other one may have gone on from there before the chief says so.
  until_event worker:0 ".event == \"start\" and .step >= $step and (.resumed_from | endswith(\"$step.safetensors\"))"
  both_end
}

@test "fault: the chief doesn't wait at its end for a worker that was killed, and says that it is gone" {
  counting
  cluster_of 2 2
  two_workers program.json --timeout 120s
  until_event worker:1 '.event == "step"'
  kill -KILL "$OTHER"
  ends "$OTHER"
  local step
  step=$(newest_step worker:0)
  kill -KILL "$CHIEF"
  ends "$CHIEF"
  SECONDS=0
  worker worker:0 program.json --timeout 120s --set "train.steps=$((step + 200))"
  run_ends "$RUN" 0
  [ "$SECONDS" -lt 50 ]
  grep -q 'waiting for worker:1 to end' worker:0.talk
  grep -q "worker:1 is gone: it ended without a goodbye, and hasn't come back within 5s: ending without it" worker:0.talk
}

@test "fault: a worker that is started again while the chief waits for it is waited for" {
  counting
  cluster_of 2 2
  two_workers program.json --timeout 120s --set train.steps=2000
  until_event worker:1 '.event == "step"'
  kill -STOP "$OTHER"
  RUN=$CHIEF
  until_talk worker:0 'waiting for worker:1 to end'
  kill -KILL "$OTHER"
  worker worker:1 program.json --timeout 120s --set train.steps=2000
  OTHER=$RUN
  both_end
  run ! grep 'is gone' worker:0.talk
}
