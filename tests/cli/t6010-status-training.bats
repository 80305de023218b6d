#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-status: where a training is, on terminals of several widths; the logs of tasks.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

TERMINAL=$BATS_TEST_DIRNAME/terminal.py

# A training that goes on, with one checkpoint.
train_on() {
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 100}}'
  serve --jobs worker=2,ps=2
  coordinate program.json --cluster spec.json --keep-servers
  event '.event == "checkpoint"'
  # It is told once a second: until it says the checkpoint, too.
  wait_until status_has checkpoint
}
status_has() { timeout 30 tfd-status --cluster spec.json --json | jq -e ".training.$1 != null" >/dev/null; }
is_old() { timeout 30 tfd-status --cluster spec.json | grep -Eq '^step [0-9]+ of 100000000 .* steps/s  [0-9]+s ago$'; }
wait_until() {
  local deadline=$((SECONDS + 60))
  until "$@"; do [ "$SECONDS" -lt "$deadline" ] || { echo "not within a minute: $*"; return 1; }; done
}

@test "status: a training has its step, of how many, metrics, rate, time left and newest checkpoint, in columns and in JSON" {
  train_on
  run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json --json
  jq -e '.training | .step > 0 and .steps == 100000000 and .metrics.loss > 0 and .steps_per_second > 0 and .seconds_left > 0' <<<"$output"
  [[ "$(jq -r .training.checkpoint <<<"$output")" == ck/step-*.safetensors ]]
  [ "$(jq -c keys_unsorted <<<"$output")" = '["ready","training","tasks"]' ]
  run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json
  [[ ${lines[0]} =~ ^step\ [0-9]+\ of\ 100000000\ \ loss\ [0-9.e+]+\ \ [0-9.\ ]+\ steps/s\ \ ETA ]]
  [[ $output == *"checkpoint ck/step-"* ]]
  [ "$(grep -Ec '^(worker|ps):[01] +up' <<<"$output")" = 4 ]  # in a pipe each task has one line, however long
  [[ $output != *ADDRESS* ]]
  COLUMNS=200 run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json
  [[ ${lines[0]} == *"checkpoint ck/step-"* && $output == *ADDRESS* ]]
  run -0 env TFD_COLUMNS=80 "$TERMINAL" xterm timeout 30 tfd-status --cluster spec.json
  for line in "${lines[@]}"; do [ "${#line}" -le 80 ] || { echo "$line"; false; }; done
  [[ $output == *"step "*" of 100000000"* ]]
  run -0 env TFD_COLUMNS=200 "$TERMINAL" xterm timeout 30 tfd-status --cluster spec.json
  [[ ${lines[0]} == *"checkpoint ck/step-"* ]]  # all in one line
  [[ $output == *ADDRESS* ]]
  run -0 env TFD_COLUMNS=40 "$TERMINAL" xterm timeout 30 tfd-status --cluster spec.json
  [[ $output == *"worker:1  up"* ]]
  for kind in dumb -; do  # no escape sequences, but one table after the other
    TFD_RAW=1 run env "$TERMINAL" "$kind" timeout -s INT 2 tfd-status --cluster spec.json --watch --interval 200ms
    [[ $output == *"worker:0  up"*"worker:0  up"* && $output != *$'\e'* ]]
  done
  TFD_RAW=1 run env "$TERMINAL" xterm timeout -s INT 2 tfd-status --cluster spec.json --watch --interval 200ms
  [[ $output == *$'\e[H\e[2J'* ]]
  kill -KILL "$COORDINATOR"
  coordinator_ends 137
  wait_until is_old # the servers say what they were told, and since when that is
  run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json --json
  jq -e '.training | .age_s > 5 and .steps_per_second > 0 and .seconds_left == null' <<<"$output"
}

@test "status: a run that is over leaves where it ended with its servers; another run begins without" {
  counting_program '{"function": "count", "steps": 50, "log_every": 10}'
  serve --jobs worker=1,ps=1
  run -0 timeout 60 tfd-coordinate -q program.json --cluster spec.json --keep-servers
  run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json --json
  [ "$(jq -c '.training | [.step, .steps, .seconds_left]' <<<"$output")" = '[50,50,null]' ]
  run -0 timeout 60 tfd-coordinate -q program.json --cluster spec.json --keep-servers --closures <(echo '{"op": "read", "variable": "n0"}')
  run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json --json
  jq -e 'has("training") | not' <<<"$output"
}

@test "status: workers that make each step together tell it by their chief, and v1's by their parameter server" {
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100}'
  for strategy in multi-worker-mirrored parameter-server; do
    if [ "$strategy" = parameter-server ]; then
      serve --jobs worker=1,ps=1
    else
      SPEC="{\"cluster\": {\"worker\": [\"127.0.0.1:$(ports 1)\"]}}"
      printf '%s\n' "$SPEC" >spec.json
    fi
    tfd-run -q program.json --strategy "$strategy" --cluster spec.json --task worker:0 >/dev/null 2>err 5>&- 6>&- 7>&- 8>&- &
    COORDINATOR=$!
    wait_until status_has metrics.loss
    kill -TERM "$COORDINATOR"
    ends "$COORDINATOR"
    wait "$COORDINATOR" || true
    COORDINATOR=
  done
}

@test "status: --logs prints what a task has written; -f goes on until the task is gone" {
  mkdir elsewhere
  serve --log-dir elsewhere/logs --jobs worker=2,ps=1
  [ "$(ls elsewhere/logs)" = "$(printf '%s\n' ps-0.log worker-0.log worker-1.log)" ]
  run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json --logs worker:1
  [ -z "$output" ]  # nothing is worth a word
  local before
  before=$(task_pid worker:1)
  kill -KILL "$before"
  said 'worker:1 died of signal 9'
  run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json --wait --timeout 20s
  run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json --logs worker:1
  [[ ${lines[0]} == "tfd-serve: worker:1 died of signal 9"*"; restarting in "* ]]
  [ ! -s elsewhere/logs/worker-0.log ]
  [[ "$(tfd-status --cluster spec.json --json | jq -r '.tasks[1].log')" == "$T"/elsewhere/logs/worker-1.log ]]
  timeout 60 tfd-status --cluster spec.json --logs worker:1 -f >followed 2>talk 5>&- 6>&- 7>&- 8>&- &
  local following=$!
  wait_until test -s followed
  timeout 60 tfd-coordinate -q "$EXAMPLES/linear/program.json" --cluster spec.json --set train.steps=5  # and a goodbye
  wait_until grep -q "was told to end" followed
  kill "$SERVE"
  ends "$following"
  wait "$following"
  [ ! -s talk ]
  cmp followed elsewhere/logs/worker-1.log
}

@test "status: --logs of a task without a log, elsewhere, or unknown" {
  serve --jobs worker=1,ps=1
  run -1 --separate-stderr timeout 30 tfd-status --cluster spec.json --logs worker:0
  [ "$stderr" = "tfd-status: worker:0 keeps no log: tfd-serve --log-dir DIR keeps one of each task" ]
  [ -z "$output" ]
  run -65 --separate-stderr timeout 30 tfd-status --cluster spec.json --logs worker:7
  [[ $stderr == *"task worker:7: job 'worker' has 1 task, but none with index 7" ]]
  run -64 --separate-stderr timeout 30 tfd-status --cluster spec.json --logs worker:0 --json
  run -64 --separate-stderr timeout 30 tfd-status --cluster spec.json -f
  echo '{"cluster": {"worker": ["127.0.0.1:1"]}}' >dead.json
  run -69 --separate-stderr timeout 30 tfd-status --cluster dead.json --key-file none --logs worker:0 --timeout 200ms
  [[ $stderr == "tfd-status: worker:0 can't say where its log is: no answer within 200ms"* ]]
}

@test "serve: a --log-dir that can't be written is 71" {
  run -71 --separate-stderr timeout 30 tfd-serve --log-dir /proc/none --jobs worker=1
  [[ $stderr == "tfd-serve: --log-dir: cannot write /proc/none/worker-0.log"* ]]
}
