#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Trainings on pipelines of several sources and transformations: what they leave out, and where they go on.

load serve

setup() {
  cd "$BATS_TEST_TMPDIR" || exit
  cp "$BATS_TEST_DIRNAME"/../../examples/linear/step.mlir .
  printf '%s\n' -1,-1 -0.5,0.5 0.25,2.5 0.5,3.5 >p1.csv
  printf '%s\n' 1,5 oops,3 0.75,4.25 >p2.csv
  for x in -0.9 -0.3 0.1 0.4 0.8; do jq -nc --argjson x "$x" '{x: $x, y: (3 * $x + 2)}'; done | gzip >more.jsonl.gz
  jq '.datasets.points = [
    {csv: {path: "p*.csv", fields: {x: {columns: 0}, y: {columns: 1}}, on_error: "skip"}},
    {interleave: {datasets: [{jsonl: {path: "more.jsonl.gz", fields: {x: {}, y: {}}}}], block_length: 2}},
    {cache: {}}, {shuffle: {buffer: 5, seed: 7}}, {repeat: {}},
    {window: {size: 4, shift: 3, drop_remainder: true}}]' \
    "$BATS_TEST_DIRNAME/../../examples/linear/program.json" >program.json
}

train() { run -0 --separate-stderr timeout 60 tfd-run program.json --cluster none "$@" </dev/null; }
# The bytes of all tensors of checkpoint $1, behind their header.
weights() { tail -c "+$((9 + $(od -An -tu8 -N8 "$1")))" "$1" | od -An -tx4; }

@test "data: a training that is continued takes the elements that it would have taken" {
  train --set train.steps=40 --set train.checkpoint.dir=whole
  local whole
  whole=$(weights whole/step-00000040.safetensors)
  [ "$(wc -w <<<"$whole")" -ge 2 ]
  for steps in 1 7 17; do
    rm -rf ck
    train --set "train.steps=$steps" --set train.checkpoint.dir=ck
    [ "$(weights "ck/step-000000$(printf %02d "$steps").safetensors")" != "$whole" ]
    train --set train.steps=40 --set train.checkpoint.dir=ck
    [ "$(weights ck/step-00000040.safetensors)" = "$whole" ] || { echo "not so after $steps steps"; false; }
  done
}

@test "data: elements that are left out are told, however often they come" {
  train --set train.steps=40
  [ "$(grep -c "dataset 'points'" <<<"$stderr")" -ge 1 ]
  [[ $stderr == *"dataset 'points': 1 element left out so far, the last one: "*"p2.csv:2: column 0: 'oops' is not a number"* ]]
  jq '.datasets.points[0].csv.on_error = "fail"' program.json >strict.json
  run -65 --separate-stderr timeout 60 tfd-run strict.json --cluster none </dev/null
  [[ $stderr == *"p2.csv:2: column 0: 'oops' is not a number"* ]]
}

@test "data: epochs are counted behind a filter, by its function" {
  printf '%s\n' -1,-1 -0.5,0.5 0.5,3.5 1,5 >p1.csv
  jq '.functions.keep = {command: ["jq", "-c", "--unbuffered", ". > -0.7"], keep: true,
        arguments: [{dtype: "f32", shape: []}], results: [{dtype: "bool", shape: []}],
        inputs: [{arg: 0, field: "x"}], outputs: [{result: 0}]}
    | .datasets.points = [.datasets.points[0] * {csv: {path: "p1.csv"}}, {filter: {function: "keep"}}, {repeat: 4}, {batch: 4}]
    | .train = {function: "step", epochs: 2}' program.json >filtered.json
  run -0 --separate-stderr timeout 60 tfd-run filtered.json --cluster none </dev/null
  jq -es 'last.step == 6' <<<"$output" # 3 of 4 rows, 4 times, in batches of 4, twice
}

# Two steps' rows, of a command that says nothing behind them; where there is a file "more", three's.
silent_program() {
  jq '.datasets.points = [
    {command: {argv: ["sh", "-c", "seq -f 0.%02g,1 8; [ -e more ] || exec sleep 1000; seq -f 0.%02g,1 9 12"], format: "csv",
               fields: {x: {columns: 0}, y: {columns: 1}}}},
    {batch: {size: 4, drop_remainder: true}}, {prefetch: 3}]' \
    "$BATS_TEST_DIRNAME/../../examples/linear/program.json" >program.json
}

# tfd-run in the background until stdout has $1 lines; then SIGTERM, and it is to end with 75.
is_stopped_behind() { # LINES ARGS…
  local lines=$1 code=0 pid
  shift
  tfd-run program.json "$@" >lines 2>talk </dev/null 3>&- &
  pid=$!
  until_true has_lines lines "$lines"
  kill -TERM "$pid"
  LIMIT=20 ends "$pid" || { kill -KILL "$pid"; cat talk; return 1; }
  wait "$pid" || code=$?
  [ "$code" = 75 ] || { echo "exit code $code"; cat talk; return 1; }
}

@test "data: a command that says nothing any more doesn't keep a training from its end" {
  silent_program
  local strategy
  for strategy in mirrored central-storage; do
    run -0 --separate-stderr timeout 60 tfd-run program.json --strategy "$strategy" --set train.steps=2 </dev/null
    jq -es 'last.reason == "done"' <<<"$output"
  done
}

@test "data: a training that waits for a command saves where it is when it is told to stop, and goes on from there" {
  silent_program
  local strategy
  for strategy in mirrored central-storage; do
    rm -rf ck whole
    touch more
    run -0 --separate-stderr timeout 60 tfd-run program.json --strategy "$strategy" --set train.steps=3 --set train.checkpoint.dir=whole </dev/null
    rm more
    is_stopped_behind 2 --strategy "$strategy" --set train.steps=3 --set train.log_every=1 --set train.checkpoint.dir=ck
    jq -es 'map(select(.event == "checkpoint")) | last.step == 2' lines
    touch more
    run -0 --separate-stderr timeout 60 tfd-run program.json --strategy "$strategy" --set train.steps=3 --set train.checkpoint.dir=ck </dev/null
    jq -es 'first.step == 2 and last.step == 3' <<<"$output"
    [ "$(weights ck/step-00000003.safetensors)" = "$(weights whole/step-00000003.safetensors)" ]
  done
}

@test "data: a function that waits for a command's data ends when it is told to stop" {
  silent_program
  jq '.datasets.numbers = [{command: {argv: ["sh", "-c", "seq 3; exec sleep 1000"], format: "csv", fields: {x: {columns: 0}}}}]
    | .functions.same = {command: ["jq", "-c", "--unbuffered", "."], keep: true, arguments: [{dtype: "f32", shape: []}],
        results: [{dtype: "f32", shape: []}], inputs: [{arg: 0, field: "x"}], outputs: [{result: 0}]}' program.json >with.json
  mv with.json program.json
  is_stopped_behind 3 --cluster none --function same --dataset numbers
}

@test "data: what is wrong with the data of an epoch is said, without advice that does not help" {
  epochs() { # DATASET
    jq --argjson points "$1" '.datasets.points = $points | del(.train.steps) | .train.epochs = 2' program.json >epochs.json
    run -65 --separate-stderr timeout 60 tfd-run epochs.json --cluster none </dev/null
  }
  local csv='{"csv": {"path": "p*.csv", "fields": {"x": {"columns": 0}, "y": {"columns": 1}}}}'
  local batch='{"batch": {"size": 4, "drop_remainder": true}}'
  epochs "[$csv, $batch]"
  [[ $stderr == *"train.epochs: can't count the elements of dataset 'points' ("*"p2.csv:2: column 0: 'oops' is not a number"* ]]
  [[ $stderr != *"set train.steps"* ]]
  epochs "[$csv, {\"take\": 3}, $batch]"
  [[ $stderr == *"dataset 'points' has no elements: 3 rows make no batch of 4 with drop_remainder" ]]
  epochs "[{\"tensor_slices\": {\"fields\": {\"x\": [1.5], \"y\": [2.5]}}}, $batch]"
  [[ $stderr == *"dataset 'points' has no elements: 1 row makes no batch of 4 with drop_remainder" ]]
}

@test "data: a model that is given for a program is named as one" {
  printf 'PK\3\4 and more' | tee trained.keras >model.pt
  run -65 --separate-stderr tfd-run trained.keras
  [ "$stderr" = "tfd-run: trained.keras is a Keras model, not a program: python -m tfd_export trained.keras --data FILE makes one" ]
  run -65 --separate-stderr tfd-run model.pt
  [[ $stderr == "tfd-run: model.pt is a zip file"* ]]
}
