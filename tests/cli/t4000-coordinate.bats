#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-coordinate: training in a pipe, events, checkpoints, signals.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

@test "coordinate: trains in a pipe, and nothing is left running" {
  run -0 --separate-stderr timeout 60 bash -c "tfd-resolve local --jobs worker=2,ps=1 | tfd-serve | tfd-coordinate '$EXAMPLES/linear/program.json'"
  [ "$(jq -r .event <<<"$output" | uniq -c | tr -s ' \n' ' ')" = " 1 start 2 step 1 end " ]
  jq -e 'select(.event == "end") | .reason == "done" and .step == 200 and .metrics.loss < 0.01' <<<"$output"
  [[ $stderr == *"200 steps in "* ]]
}

@test "coordinate: --set overrides, and -q says nothing" {
  run -0 --separate-stderr timeout 60 bash -c "tfd-serve --jobs worker=1,ps=1 -- tfd-coordinate -q '$EXAMPLES/linear/program.json' --set train.steps=7"
  [ "$(jq -c 'select(.event == "end") | .step' <<<"$output")" = 7 ]
  [ -z "$stderr" ]
}

@test "coordinate: --trace is a timeline of what each worker did" {
  run -0 --separate-stderr timeout 60 bash -c "tfd-serve --jobs worker=2,ps=1 -- tfd-coordinate -q '$EXAMPLES/linear/program.json' --trace trace.json --set train.steps=4000 --set train.checkpoint.dir='\"$PWD/ck\"' --set train.checkpoint.every=2000"  # until both are up
  [ "$(jq -r '.[] | select(.ph == "M") | .args.name' trace.json | sort | paste -sd' ')" = 'training worker:0 worker:1' ]
  jq -e '[.[] | select(.ph == "X")] | (map(select(.name == "step")) | length) == 4000 and (map(select(.name == "save")) | length) == 2
    and all(.dur >= 0 and .ts >= 0)' trace.json
  # Entries of one task don't overlap.
  jq -e '[.[] | select(.name == "step")] | group_by(.tid) | all(. as $all | [range(1; length)] | all($all[.].ts >= $all[. - 1].ts + $all[. - 1].dur - 0.002))' trace.json
  run -0 --separate-stderr timeout 60 bash -c "tfd-serve --jobs worker=2,ps=1 -- tfd-coordinate '$EXAMPLES/counter/program.json' --closures '$EXAMPLES/counter/closures.jsonl' --trace closures.json"
  jq -e '[.[] | select(.ph == "X")] | length >= 1 and all(.name | length > 0)' closures.json
  run --separate-stderr timeout 60 bash -c "tfd-serve --jobs worker=1,ps=1 -- tfd-coordinate -q '$EXAMPLES/linear/program.json' --trace no/trace.json"
  [ "$status" != 0 ]
  [[ $stderr == *"--trace: cannot write no/trace.json"* ]]
}

@test "coordinate: --check checks, says what, and needs no cluster" {
  run -0 --separate-stderr tfd-coordinate "$EXAMPLES/linear/program.json" --check </dev/null
  [ -z "$output" ]
  [[ $stderr == *"linear/program.json: 2 variables (2 elements), 1 dataset, 1 function, train by step for 200 steps: ok" ]]
  run -65 --separate-stderr tfd-coordinate "$EXAMPLES/linear/program.json" --check --set train.function=stop </dev/null
  [[ $stderr == *"train.function"* ]]
}

@test "coordinate: checkpoints, continues from the newest, and says when nothing is left" {
  counting_program '{"function": "count", "steps": 50, "log_every": 20, "checkpoint": {"dir": "ck", "every": 20}}'
  serve --jobs worker=2,ps=2
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  [ "$(jq -c 'select(.event == "checkpoint") | .step' <<<"$output" | paste -sd' ')" = "20 40 50" ]
  [ "$(jq -c 'select(.event == "step") | [.step, .metrics.loss]' <<<"$output" | paste -sd' ')" = "[20,9.5] [40,29.5] [50,44.5]" ]
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --set train.steps=70
  [ "$(jq -c 'select(.event == "start") | .step' <<<"$output")" = 50 ]
  [ "$(jq -c 'select(.event == "end") | .step' <<<"$output")" = 70 ]
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --set train.steps=70
  [[ $stderr == *"already at step 70 of 70"* ]]
  [ "$(counts_in ck)" = "70 70 70" ]
}

@test "coordinate: SIGUSR1 checkpoints and goes on, SIGTERM checkpoints and stops with 75, and the next run continues" {
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck"}}'
  serve --jobs worker=2,ps=2
  coordinate program.json --cluster spec.json --keep-servers
  event '.event == "step"'
  kill -USR1 "$COORDINATOR"
  event '.event == "checkpoint"'
  event '.event == "step"'
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted"'
  step=$(jq .step <<<"$EVENT")
  coordinator_ends 75
  grep -q "the same command continues from ck/step-" talk
  coordinate program.json --cluster spec.json --set "train.steps=$((step + 10))"
  event ".event == \"start\" and .step == $step"
  event '.event == "end" and .reason == "done"'
  coordinator_ends 0
  [ "$(counts_in ck)" = "$((step + 10)) $((step + 10)) $((step + 10))" ]
}

@test "coordinate: Ctrl-C without a checkpoint ends as SIGINT does" {
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100}'
  serve --jobs worker=1,ps=2
  coordinate program.json --cluster spec.json
  event '.event == "step"'
  kill -INT "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted"'
  coordinator_ends 130
}

@test "coordinate: a reader of the events that goes away ends it" {
  counting_program '{"function": "count", "steps": 100000000, "log_every": 10}'
  run -0 --separate-stderr timeout 60 bash -c "tfd-resolve local --jobs worker=1,ps=2 | tfd-serve | tfd-coordinate -q program.json | head -n3"
  [ "${#lines[@]}" = 3 ]
}

@test "coordinate: at the end the tasks are told to stop, unless --keep-servers" {
  counting_program '{"function": "count", "steps": 5}'
  serve --task ps:0 --cluster <(echo '{"cluster": {"ps": ["127.0.0.1:0"]}}')
  ps=$(jq -r '.cluster.ps[0]' <<<"$SPEC") one=$SERVE
  rm spec.json
  serve --task worker:0 --cluster <(echo '{"cluster": {"worker": ["127.0.0.1:0"]}}')
  worker=$(jq -r '.cluster.worker[0]' <<<"$SPEC")
  echo "{\"cluster\": {\"worker\": [\"$worker\"], \"ps\": [\"$ps\"]}}" >both.json
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster both.json --keep-servers
  kill -0 "$SERVE" "$one"
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster both.json
  serve_ends 0
  SERVE=$one
  serve_ends 0
}

@test "coordinate: bad input is one line and its exit code" {
  counting_program '{"function": "count", "steps": 5}'
  bad() { # CODE PATTERN ARGS…
    local code=$1 pattern=$2
    shift 2
    run "-$code" --separate-stderr timeout 30 tfd-coordinate "$@" </dev/null
    echo "$stderr"
    [ -z "$output" ]
    [ "$(grep -vc '^hint: ' <<<"$stderr")" = 1 ]
    [[ $stderr =~ $pattern ]]
  }
  bad 64 'PROGRAM is missing'
  bad 64 'spec' program.json
  bad 64 "--max-failures: 'two' is not a whole number" program.json --max-failures two
  bad 64 '--max-failures: -1 is out of range' program.json --max-failures -1
  bad 64 "--join: 'soon' is not a duration" program.json --max-failures 1 --join soon
  bad 64 '--join only applies with --max-failures' program.json --join 5s
  bad 64 '--max-failures only applies to a training: what closures have changed' program.json --closures - --max-failures 1
  bad 64 '--max-failures only applies to a training, not to --follow-checkpoints' program.json --follow-checkpoints --max-failures 1
  bad 65 'nowhere.json' nowhere.json
  echo '{' >broken.json
  bad 65 'broken.json' broken.json
  bad 65 'train.stepz' program.json --set train.stepz=3
  bad 65 'nothing to do' <(jq 'del(.train)' program.json | sed "s|count.mlir|$T/count.mlir|")
  bad 65 'broken.json' program.json --cluster broken.json
  echo '{"cluster": {"worker": ["127.0.0.1:0"], "ps": ["127.0.0.1:0"]}}' >unserved.json
  bad 65 'cannot connect to port 0' program.json --cluster unserved.json
  echo '{"cluster": {"worker": ["127.0.0.1:7000000"], "ps": ["127.0.0.1:1"]}}' >port.json
  bad 65 '7000000' program.json --cluster port.json
  echo '{"cluster": {"worker": ["127.0.0.1:1"]}}' >no-ps.json
  bad 65 'no ps, but the program has 2 variables' program.json --cluster no-ps.json
  echo '{"cluster": {"ps": ["127.0.0.1:1"]}}' >no-worker.json
  bad 65 'no worker' program.json --cluster no-worker.json
}

@test "coordinate: a spec whose tasks are gone ends within --timeout, naming them" {
  counting_program '{"function": "count", "steps": 5}'
  serve --jobs worker=1,ps=2
  kill -TERM "$SERVE"
  kill -TERM "$SERVE" || true  # it may have ended already
  ends "$SERVE"
  run --separate-stderr timeout 30 tfd-coordinate program.json --cluster spec.json --timeout 500ms
  [ "$status" = 75 ] || [ "$status" = 69 ]
  [[ $stderr == *ps:0* && $stderr == *ps:1* ]]
  SERVE=
}

@test "coordinate: a module that doesn't compile is its own error, with the function and the line" {
  counting_program '{"function": "count", "steps": 5}'
  sed -i 's/stablehlo.convert/stablehlo.convort/' count.mlir
  serve --jobs worker=1,ps=2
  run -65 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json
  [[ $stderr == *functions.count* ]]
}

@test "coordinate: a run with nothing left still states the metrics of the end" {
  local program=$EXAMPLES/digits/program.json
  serve --jobs worker=1,ps=1
  run -0 --separate-stderr timeout 60 tfd-coordinate "$program" --cluster spec.json --keep-servers --set train.steps=100 --set train.checkpoint.dir=ck
  local first
  first=$(jq -c 'select(.event == "end") | .eval.accuracy' <<<"$output")
  run -0 --separate-stderr timeout 60 tfd-coordinate "$program" --cluster spec.json --set train.steps=100 --set train.checkpoint.dir=ck
  [ "$(jq -c 'select(.event == "end") | [.reason, .eval.accuracy]' <<<"$output")" = "[\"nothing_left\",$first]" ]
}

@test "coordinate: --check says everything that is wrong, and nothing that comes of it" {
  counting_program '{"function": "cuont", "steps": 30}'
  run -65 --separate-stderr tfd-coordinate program.json --check --set variables.n0.shape=3 --set seed=-1 \
    --set 'datasets.x=[{"csv": {"path": "nope.csv", "fields": {"x": {"columns": 0}}}}]'
  # The function isn't blamed for n0.
  [ "$stderr" = "tfd-coordinate: program.json: seed: must be at least 0, not -1
tfd-coordinate: program.json: variables.n0.shape: must be a list of dimensions, not a number
tfd-coordinate: program.json: datasets.x[0].csv.path: cannot open $PWD/nope.csv: no such file or directory
tfd-coordinate: program.json: train.function: function 'cuont' is unknown, did you mean 'count'?" ] || { echo "$stderr"; false; }
  run -65 --separate-stderr tfd-run program.json --check --set seed=-1 </dev/null
  [ "${#stderr_lines[@]}" = 2 ]
}

@test "coordinate: variables that don't fit into memory are 71 and named, whoever holds them" {
  counting_program '{"function": "count", "steps": 30}'
  huge=(--set 'variables.v={"shape": [20000000000000], "init": {"zeros": {}}}')
  serve --jobs worker=1,ps=2
  run -71 --separate-stderr timeout 60 tfd-coordinate program.json "${huge[@]}" --cluster spec.json --keep-servers
  [[ $stderr == *"variable 'v' needs 80 TB on ps:0, where "*" are free"* ]]
  # The server lives on, for a program that fits.
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  run -71 --separate-stderr timeout 60 tfd-run program.json "${huge[@]}" </dev/null
  [[ $stderr == *"variable 'v' needs 80 TB here, where "* ]]
  run -71 --separate-stderr tfd-coordinate program.json "${huge[@]}" --check
  [[ $stderr == *"variable 'v' needs 80 TB here, where "* ]]
  huge=(--set 'variables.v={"shape": [20000000000000], "init": {"zeros": {}}, "per_worker": true}')
  run -71 --separate-stderr timeout 60 tfd-coordinate program.json "${huge[@]}" --cluster spec.json
  [[ $stderr == *"variable 'v' needs 80 TB on every worker, where "* ]]
  # A limit by `ulimit -v` counts too.
  if [ -z "${TFD_SANITIZED:-}" ]; then
    run -71 --separate-stderr sh -c "ulimit -v 500000; exec timeout 60 tfd-run program.json \
      --set 'variables.v={\"shape\": [100000000], \"init\": {\"zeros\": {}}}'" </dev/null
    [[ $stderr == *"variable 'v' needs 400 MB here, where "* ]]
  fi
  # Somewhere else it may fit: -v says who gets how much.
  echo '{"cluster": {"worker": ["192.0.2.1:1"], "ps": ["192.0.2.1:2", "192.0.2.1:3"]}}' >elsewhere.json
  run -0 --separate-stderr tfd-coordinate program.json --check -v --cluster elsewhere.json \
    --set 'variables.v={"shape": [20000000000000], "init": {"zeros": {}}}'
  [[ $stderr == *"ps:0: 2 variables, 80 TB"*"ps:1: 1 variable, 4 bytes"* ]]
}

@test "coordinate: more tasks than a process may have connections are an error; a command has the limit it would have" {
  counting_program '{"function": "count", "steps": 1}'
  jq -n '{cluster: {ps: ["127.0.0.1:1"], worker: [range(300) | "127.0.0.\(. % 250 + 1):\(. + 1000)"]}}' >wide.json
  run -71 --separate-stderr timeout 60 sh -c 'ulimit -n 128; exec tfd-coordinate program.json --cluster wide.json'
  [ "$stderr" = "tfd-coordinate: 301 tasks need as many connections, but this process may have only 128 files open; raise the limit (ulimit -Hn, LimitNOFILE=)" ]
  run -0 --separate-stderr timeout 60 sh -c 'ulimit -Sn 200; exec tfd-resolve local --jobs worker=1 -- sh -c "ulimit -Sn"'
  [ "$output" = 200 ]
}
