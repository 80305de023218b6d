#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-coordinate --max-failures: parameter servers that die or freeze under a training, which goes on by itself. Its counts, and
# the data seen, are those of a training that nothing happened to.
# bats file_tags=long

load ../cli/group
load ../cli/http
load seen
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# A training of $1 steps in the background; a line and a checkpoint every so often.
train() { # STEPS ARGS…
  counting_program "{\"function\": \"count\", \"steps\": $1, \"log_every\": 100, \"checkpoint\": {\"dir\": \"ck\", \"every\": 1000}}"
  coordinate program.json --cluster spec.json "${@:2}"
}
lost_and_back() { # TASK FAILURE
  event ".event == \"server\" and .task == \"$1\" and .state == \"lost\" and .failure == $2"
  event '.event == "start"'
}
# In status.json, how many closures a task has run.
done_by() { # TASK
  echo "(.tasks[] | select(.task == \"$1\") | .closures_done // 0)"
}
# Whether every `step` event of 100 steps has the metrics of exactly these, whose loss is their number.
are_exact() { # EVENTS
  jq -es 'map(select(.event == "step" and .step % 100 == 0)) | all(.metrics.loss == .step - 50.5)' "$1"
}

@test "lost servers: killed again and again, at any step, and the counts are exact" {
  serve --jobs worker=2,ps=2
  train 100000000 --max-failures 100 --events all
  local kills=5 i ps
  for ((i = 1; i <= kills; ++i)); do
    event ".event == \"step\""
    ps=$((RANDOM % 2))
    # When it is killed is what differs.
    sleep "$(tee -a delays <<<"0.$((RANDOM % 5))$((RANDOM % 10))")"
    kill -KILL "$(task_pid "ps:$ps")"
    lost_and_back "ps:$ps" "$i"
  done
  cat delays
  stops_with_each_step_once
  are_exact all
  grep -q '^tfd-coordinate: parameter server ps:[01] is gone: .*; failure 1, at most 100: waiting up to 10m for it (--join)$' talk
}

@test "lost servers: all of them and a worker at once, in one pipe with tfd-serve" {
  counting_program '{"function": "count", "steps": 20000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 1000}}'
  tfd-resolve local --jobs worker=2,ps=2 3>&- | tfd-serve 2>served 3>&- 6>&- | tfd-coordinate program.json --max-failures 3 >"$T/events" 2>"$T/talk" 3>&- 6>&- &
  COORDINATOR=$!
  event '.event == "checkpoint" and .step >= 2000'
  SERVE=$(marked | xargs -n 1 -I{} sh -c 'grep -qsz -- --serve-task /proc/{}/cmdline || echo {}')
  kill -KILL "$(task_pid ps:0)" "$(task_pid ps:1)" "$(task_pid worker:1)"
  event '.event == "server" and .failure == 1'
  event '.event == "start" and .step >= 2000 and .step % 1000 == 0 and .resumed_from != null'
  event '.event == "end" and .reason == "done" and .step == 20000'
  coordinator_ends 0
  ends "$SERVE"
  SERVE=
  [ "$(counts_in ck)" = "20000 20000 20000" ]
}

@test "lost servers: frozen for longer than --rejoin they still have everything, and no step is lost" {
  serve --jobs worker=2,ps=2
  train 30000 --max-failures 3 --rejoin 1s
  event '.event == "checkpoint"'
  local pid step
  pid=$(task_pid ps:1)
  kill -STOP "$pid"
  event '.event == "server" and .task == "ps:1"'
  step=$(jq .step <<<"$EVENT")
  [ "$(jq -r .reason <<<"$EVENT" | grep -c 'no heartbeat')" = 1 ]
  kill -CONT "$pid"
  event ".event == \"start\" and .adopted and .step >= $step"
  grep -q 'the parameter servers still hold its state' talk
  is_done_with_each_step_once 30000
}

@test "lost servers: a frozen one that thaws when another one was killed meanwhile is restored with it" {
  serve --jobs worker=2,ps=2
  train 30000 --max-failures 5 --rejoin 1s
  event '.event == "checkpoint"'
  local frozen step
  frozen=$(task_pid ps:1)
  kill -STOP "$frozen" # with updates under way to it, which ps:0 has
  event '.event == "server" and .task == "ps:1"'
  step=$(jq .step <<<"$EVENT")
  kill -KILL "$(task_pid ps:0)"
  kill -CONT "$frozen"
  event ".event == \"start\" and .step <= $step"
  jq -e '.adopted == null and .resumed_from != null and .step % 1000 == 0' <<<"$EVENT"
  [ "$(task_pid ps:1)" = "$frozen" ] # the same process, with the variables that it had
  is_done_with_each_step_once 30000
}

@test "lost servers: a worker that was frozen before the loss, and goes on after it, changes nothing" {
  serve --jobs worker=2,ps=2
  train 100000000 --max-failures 100 --events all --http 0
  page_in talk
  local i worker step closures
  closures=$(until_shown "$(done_by worker:1) > 0" && body /status.json | jq "$(done_by worker:1)")
  for i in 1 2 3; do
    event '.event == "step"'
    worker=$(task_pid worker:1)
    kill -STOP "$worker" # with a step of its own, which is another worker's later
    kill -KILL "$(task_pid "ps:$((i % 2))")"
    lost_and_back "ps:$((i % 2))" "$i"
    step=$(jq .step <<<"$EVENT")
    event ".event == \"step\" and .step > $step"
    kill -CONT "$worker"
    until_shown "$(done_by worker:1) > $((closures + 100))"
    closures=$(body /status.json | jq "$(done_by worker:1)")
  done
  stops_with_each_step_once
  are_exact all
}

@test "lost servers: the data that come next are those of an undisturbed training" {
  serve --jobs worker=1,ps=1
  seeing_program '{"shuffle": {"buffer": 300}}, {"repeat": {}}' \
    '{"function": "see", "steps": 20000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 500}}'
  coordinate program.json --cluster spec.json --max-failures 3
  local i
  for i in 1 2; do
    event ".event == \"step\" and .step >= 700"
    kill -KILL "$(task_pid ps:0)"
    lost_and_back ps:0 "$i"
  done
  event '.event == "end" and .reason == "done" and .step == 20000'
  coordinator_ends 0
  [ "$(seen_in ck/step-00020000.safetensors)" = 20 ]
}

@test "lost servers: the weights have the bits of an undisturbed training" {
  local digits=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --set train.steps=3000 --set train.log_every=50 --set train.checkpoint.every=150)
  serve --jobs worker=1,ps=2
  coordinate "${digits[@]}" --set train.checkpoint.dir=undisturbed --cluster spec.json --keep-servers
  event '.event == "end" and .reason == "done"'
  coordinator_ends 0
  coordinate "${digits[@]}" --set train.checkpoint.dir=ck --cluster spec.json --max-failures 3
  event '.event == "step" and .step >= 250'
  kill -KILL "$(task_pid ps:1)"
  lost_and_back ps:1 1
  event '.event == "step" and .step >= 800'
  kill -KILL "$(task_pid ps:0)"
  lost_and_back ps:0 2
  event '.event == "end" and .reason == "done"'
  coordinator_ends 0
  [ "$(weights ck/step-00003000.safetensors)" = "$(weights undisturbed/step-00003000.safetensors)" ]
}

@test "lost servers: one that is lost before the first checkpoint, or without any, starts it from the beginning" {
  serve --jobs worker=2,ps=2
  counting_program '{"function": "count", "steps": 20000, "log_every": 100}'
  coordinate program.json --cluster spec.json --max-failures 1 --events all
  event '.event == "step" and .step >= 500'
  kill -KILL "$(task_pid ps:0)"
  event '.event == "server" and .step >= 500'
  event '.event == "start" and .step == 0'
  grep -q 'nothing was saved: the training starts from the beginning' talk
  event '.event == "end" and .reason == "done" and .step == 20000'
  coordinator_ends 0
  are_exact all
}

@test "lost servers: more than --max-failures are too many, which is 69 as without it" {
  serve --jobs worker=2,ps=2
  train 100000000 --max-failures 1
  event '.event == "checkpoint"'
  kill -KILL "$(task_pid ps:0)"
  lost_and_back ps:0 1
  event '.event == "step"'
  kill -KILL "$(task_pid ps:1)"
  event '.event == "end" and .reason == "error" and .error.task == "ps:1"'
  coordinator_ends 69
  [[ $(tail -n 1 talk) =~ 'tfd-coordinate: parameter server ps:1 is gone: '.*'; 2 failures in 10m are too many (--max-failures 1); once it serves again, the same command continues from ck/step-' ]]
}

@test "lost servers: one that doesn't come back is named, and ends it when --join is over, or at once when it is told to" {
  serve --jobs worker=1,ps=2
  train 100000000 --max-failures 3 --rejoin 1s --join 1s
  event '.event == "checkpoint"'
  kill -STOP "$SERVE" # nobody starts it again
  kill -KILL "$(task_pid ps:1)"
  event '.event == "server" and .task == "ps:1"'
  event '.event == "end" and .reason == "error" and .error.code == "DEADLINE_EXCEEDED"'
  coordinator_ends 75
  [[ $(tail -n 1 talk) =~ 'ps:1'.*'the same command continues from ck/step-' ]]
  kill -CONT "$SERVE"
  coordinate program.json --cluster spec.json --max-failures 3 --rejoin 1s --http 0
  page_in talk
  event '.event == "checkpoint"'
  until_status /readyz 200
  kill -STOP "$SERVE"
  kill -KILL "$(task_pid ps:0)"
  event '.event == "server" and .task == "ps:0"'
  timeout 60 tail -n +1 --pid="$COORDINATOR" -F talk 2>/dev/null 3>&- | grep -qm1 'still connecting: waited .* for ps:0'
  until_status /readyz 503
  [ "$(body /readyz)" = "waits for ps:0" ]
  body /metrics | grep -qxF 'tfd_servers_lost_total 1'
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted"'
  local step
  step=$(jq .step <<<"$EVENT")
  coordinator_ends 75
  grep -q "the same command continues from ck/step-$(printf %08d "$step").safetensors" talk
  kill -CONT "$SERVE"
}
