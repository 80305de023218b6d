#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Trained weights aren't lost: SIGHUP, terminals that are closed, the default of train.checkpoint.every, two trainings in one
# directory, and checkpoints that somebody has removed.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

counting() { # CHECKPOINT, JSON
  counting_program "{\"function\": \"count\", \"steps\": 1000000000, \"log_every\": 100, \"checkpoint\": $1}"
}

# tfd-run of this host in the background, as worker() does: $1.events, $1.talk, RUN. It takes SIGHUP as from a terminal.
by_itself() { # NAME ARGS…
  local name=$1
  shift
  env --default-signal=INT,HUP tfd-run "$@" --cluster none </dev/null >"$name.events" 2>"$name.talk" 5>&- 6>&- 7>&- 8>&- &
  RUN=$!
  RUNS+=("$RUN")
}

latest() { jq '.checkpoints[-1].step // -1' "$1/index.json"; }

# ---- SIGHUP

@test "saved work: SIGHUP saves and ends, as SIGTERM does, on one host, in a group, on parameter servers" {
  counting '{"dir": "ck"}'
  by_itself alone program.json
  until_event alone '.event == "step"'
  kill -HUP "$RUN"
  run_ends "$RUN" 75
  [ "$(latest ck)" = "$(last alone .step)" ]
  grep -q '^tfd-run: the same command continues from ck/step-' alone.talk

  serve --jobs worker=1,ps=2
  coordinate program.json --cluster spec.json --set train.checkpoint.dir=by-servers
  event '.event == "step"'
  kill -HUP "$COORDINATOR"
  coordinator_ends 75
  [ "$(latest by-servers)" -ge 100 ]
}

@test "saved work: tfd-launch passes SIGHUP on, and the group saves" {
  env --default-signal=INT,HUP tfd-launch -n 2 -- tfd-run "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --format json \
    --set train.steps=1000000 --set train.log_every=10 --set train.checkpoint.dir=ck </dev/null >launched 2>talk 3>&- 6>&- &
  RUN=$! RUNS+=("$!")
  timeout 60 tail -n +1 --pid="$RUN" -F launched 2>/dev/null 3>&- | grep -qm1 '"event":"step"'
  kill -HUP "$RUN"
  ends "$RUN"
  [ "$(latest ck)" -ge 10 ]
  grep -q 'the same command continues from ck/step-' talk
}

@test "saved work: without a directory SIGHUP ends the training by the signal, and it is said that nothing was saved" {
  counting_program '{"function": "count", "steps": 1000000000, "log_every": 100}'
  by_itself alone program.json
  until_event alone '.event == "step"'
  [ "$(head -n 1 alone.talk)" = 'tfd-run: nothing will be saved: --set train.checkpoint.dir=DIR keeps the trained weights' ]
  kill -HUP "$RUN"
  run_ends "$RUN" 129
  [ "$(tail -n 1 alone.talk)" = 'tfd-run: nothing was saved: --set train.checkpoint.dir=DIR keeps the trained weights' ]
  by_itself alone program.json -q
  until_event alone '.event == "step"'
  kill -INT "$RUN"
  run_ends "$RUN" 130
  [ ! -s alone.talk ]
}

@test "saved work: under nohup a training goes on after SIGHUP" {
  counting '{"dir": "ck", "every": 1000}'
  nohup tfd-run program.json --cluster none </dev/null >alone.events 2>alone.talk 5>&- 6>&- 7>&- 8>&- &
  RUN=$! RUNS+=("$!")
  until_event alone '.event == "step"'
  kill -HUP "$RUN"
  local step
  step=$(jq -s 'last.step' alone.events 2>/dev/null || echo 1000)
  until_event alone ".event == \"checkpoint\" and .step > $step + 1000"
  kill -TERM "$RUN"
  run_ends "$RUN" 75
}

# ---- terminals

closed_at() { # TEXT COMMAND…
  TFD_CLOSE_AT=$1 timeout 120 python3 "$BATS_TEST_DIRNAME/terminal.py" xterm "${@:2}"
}

@test "saved work: a terminal that is closed: what was trained is saved" {
  counting '{"dir": "ck"}'
  run -75 closed_at '500/1000000000' tfd-run program.json --cluster none
  [ "$(latest ck)" -ge 500 ]
  # The shell dies of SIGHUP, and the kernel then sends it to the processes in the foreground.
  cat >pipe.sh <<'SH'
sh -c 'echo $$ >pid; exec tfd-run program.json --cluster none --format json --set train.checkpoint.dir=piped' | cat
SH
  run closed_at '"step":500' bash pipe.sh
  ends "$(cat pid)"
  [ "$(latest piped)" -ge 500 ]
}

@test "saved work: a terminal that is closed: so it is under tfd-launch, and with servers in the same pipe" {
  local digits=("$EXAMPLES/digits/program.json" --set train.steps=1000000 --set train.log_every=10 --set train.checkpoint.every=never)
  run closed_at '10/1000000' tfd-launch -n 2 -- tfd-run "${digits[@]}" --strategy multi-worker-mirrored --set train.checkpoint.dir=group
  [ "$(latest group)" -ge 10 ]
  cat >pipe.sh <<'SH'
tfd-serve --jobs worker=1,ps=1 2>/dev/null | sh -c 'echo $$ >pid; exec tfd-coordinate "$@" --set train.checkpoint.dir=by-servers' sh "$@"
SH
  run closed_at '10/1000000' bash pipe.sh "${digits[@]}"
  ends "$(cat pid)"
  [ "$(latest by-servers)" -ge 10 ]
}

@test "saved work: a closed terminal doesn't end a training that doesn't hear of it" {
  counting '{"dir": "ck", "every": 1000}'
  cat >away.sh <<'SH'
trap '' HUP
tfd-run program.json --cluster none --format text &
echo $! >pid
wait
SH
  closed_at 'saved' bash away.sh >/dev/null &
  local bash=$!
  RUNS+=("$bash")
  timeout 60 bash -c 'until [ -s ck/index.json ] && [ -s pid ]; do sleep 0.1; done'
  RUN=$(cat pid)
  RUNS+=("$RUN")
  local before
  before=$(latest ck)
  timeout 60 bash -c "until [ \"\$(jq '.checkpoints[-1].step' ck/index.json)\" -gt $((before + 3000)) ]; do sleep 0.1; done"
  kill -TERM "$RUN"
  ends "$RUN"
}

@test "saved work: a reader that is gone: what was trained is saved" {
  counting '{"dir": "ck"}'
  run -0 bash -c 'tfd-run program.json --cluster none --format json 2>talk | head -n 3; exit $((PIPESTATUS[0] == 75 ? 0 : 1))'
  [ "$(latest ck)" -ge 1 ]
  run -0 bash -c 'tfd-run program.json --cluster none --set train.checkpoint=null 2>/dev/null | head -n 1; exit $((PIPESTATUS[0] == 141 ? 0 : 1))'
}

# ---- how often

@test "saved work: the first lines say where it is saved, and how often: five minutes unless the program says otherwise" {
  local said
  while IFS='|' read -r checkpoint said; do
    counting_program "{\"function\": \"count\", \"steps\": 5, \"checkpoint\": $checkpoint}"
    run -0 --separate-stderr tfd-run program.json --cluster none
    [ "${stderr_lines[0]}" = "tfd-run: $said" ]
  done <<'TABLE'
{"dir": "a"}|saving to a every 5m, and at the end
{"dir": "b", "every": "2s"}|saving to b every 2s, and at the end
{"dir": "c", "every": 100}|saving to c every 100 steps, and at the end
{"dir": "d", "every": "never"}|saving to d at the end
TABLE
  serve --jobs worker=1,ps=1
  run -0 --separate-stderr tfd-coordinate program.json --cluster spec.json --set 'train.checkpoint={"dir": "e"}'
  [ "${stderr_lines[0]}" = 'tfd-coordinate: saving to e every 5m, and at the end' ]
  run -65 --separate-stderr tfd-run program.json --cluster none --set train.checkpoint.every=sometimes
  [[ $stderr == *train.checkpoint.every* ]]
}

@test "saved work: the directory is said as this shell finds it, beside the program or here" {
  mkdir mine
  counting_program '{"function": "count", "steps": 5, "checkpoint": {"dir": "checkpoints"}}'
  mv program.json count.mlir mine
  run -0 --separate-stderr tfd-run mine/program.json --cluster none
  [[ ${stderr_lines[0]} == 'tfd-run: saving to mine/checkpoints every '* ]]
  run -0 --separate-stderr tfd-run mine/program.json --cluster none --set train.checkpoint.dir=here
  [[ ${stderr_lines[0]} == 'tfd-run: saving to here every '* ]]
  [ -d mine/checkpoints ]
  [ -d here ]
}

@test "saved work: kill -9 after a periodic checkpoint" {
  counting '{"dir": "ck", "every": "300ms"}'
  by_itself alone program.json
  until_event alone '.event == "checkpoint" and .step > 100'
  kill -KILL "$RUN"
  ends "$RUN"
  by_itself next program.json
  until_event next '.event == "start" and .resumed_from'
  kill -TERM "$RUN"
  run_ends "$RUN" 75
}

# ---- one training in a directory

@test "saved work: a second training in a directory in use is refused, the first one goes on; --take-over ends the first one" {
  counting '{"dir": "ck", "every": 1000}'
  by_itself first program.json
  local first=$RUN step
  until_event first '.event == "checkpoint"'
  run -77 --separate-stderr timeout 60 tfd-run program.json --cluster none
  [[ $stderr == *"ck is in use by process $first on $(uname -n), which trains there and goes on; --take-over takes the directory from it"* ]]
  [ -z "$output" ]
  serve --jobs worker=1,ps=1
  run -77 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json
  [[ $stderr == *"ck is in use by process $first on "* ]]
  step=$(latest ck)
  RUN=$first until_event first ".event == \"checkpoint\" and .step > $step"
  by_itself second program.json --take-over
  run_ends "$first" 75
  until_event second '.event == "checkpoint"'
  kill -KILL "$RUN"
  ends "$RUN"
  # Nobody holds it now, so nobody waits.
  run -0 --separate-stderr timeout 60 tfd-run program.json --cluster none --set train.steps=1
  [[ $stderr != *watching* ]]
}

# ---- checkpoints that are gone

@test "saved work: where all checkpoints of the index are gone, that is an error, which --start-over overrides" {
  counting_program '{"function": "count", "steps": 30, "checkpoint": {"dir": "ck", "every": 10}}'
  run -0 tfd-run -q program.json --cluster none
  rm ck/step-*
  run -65 --separate-stderr tfd-run program.json --cluster none --set train.steps=35
  [[ $stderr == 'tfd-run: ck: all checkpoints that its index.json names are gone (step-00000010.safetensors, step-00000020.safetensors, step-00000030.safetensors): '*'--start-over'* ]]
  run -0 --separate-stderr tfd-run program.json --cluster none --set train.steps=35 --start-over
  [ "$(jq -s 'map(select(.event == "start"))[0].step' <<<"$output")" = 0 ]
}

@test "saved work: where the newest checkpoint is gone, a line says which one is used" {
  counting_program '{"function": "count", "steps": 30, "checkpoint": {"dir": "ck", "every": 10}}'
  run -0 tfd-run -q program.json --cluster none
  rm ck/step-00000030.safetensors
  run -0 --separate-stderr tfd-run program.json --cluster none
  [[ $stderr == *'ck/step-00000030.safetensors is gone: using ck/step-00000020.safetensors instead'* ]]
  rm ck/step-00000020.safetensors
  run -0 --separate-stderr tfd-run program.json --cluster none --set train.steps=40
  [[ $stderr != *'is gone'* ]]
}

# ---- what is said

@test "saved work: a line says that the program has changed since the checkpoints were made" {
  cp -r "$EXAMPLES/linear" mine
  run -0 --separate-stderr timeout 60 tfd-run mine --set train.steps=10 --set train.checkpoint.dir=ck </dev/null
  run -0 --separate-stderr timeout 60 tfd-run mine --set train.steps=20 --set train.checkpoint.dir=ck </dev/null
  [[ $stderr != *'has changed'* ]]
  sed -i 's/"learning_rate": [0-9.]*/"learning_rate": 0.125/' mine/program.json
  run -0 --separate-stderr timeout 60 tfd-run mine --set train.steps=30 --set train.checkpoint.dir=ck </dev/null
  [[ $stderr == *'the program has changed since it last trained here (ck/settings-0002.json): the training continues with the new one'* ]]
  run -0 --separate-stderr timeout 60 tfd-run mine --set train.steps=30 --set train.checkpoint.dir=ck </dev/null
  [[ $stderr != *'has changed'* ]]
  sed -i 's/"learning_rate": [0-9.]*/"learning_rate": 0.25/' mine/program.json
  run -0 --separate-stderr timeout 60 tfd-run mine --set train.steps=30 --set train.checkpoint.dir=ck </dev/null
  [[ $stderr == *'(ck/settings-0003.json): --start-over trains the new one from the beginning'* ]]
}

@test "saved work: a training that stops early says once what it saved" {
  falling_program 10 2
  run -0 --separate-stderr timeout 60 tfd-run program.json --cluster none --format text --set train.checkpoint.every=never
  [ "$(grep -c '  saved ck/step-' <<<"$output")" = 1 ]
}

@test "saved work: the bar of a training that is interrupted is gone from the terminal" {
  counting '{"dir": "ck"}'
  cat >stop.sh <<'SH'
tfd-run program.json --cluster none --events events &
until grep -qs '"event":"step"' events; do sleep 0.1; done
kill -INT $!
wait $!
SH
  run -75 timeout 60 python3 "$BATS_TEST_DIRNAME/terminal.py" xterm env --default-signal=INT bash -m stop.sh
  [[ $output != *'tfd-run ['* ]]
}

@test "saved work: tfd-checkpoint list of nothing prints no heading" {
  run -65 --separate-stderr tfd-checkpoint list nosuch
  [ -z "$output" ]
}
