#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runs of checkpoints: a directory knows its run, every user of a checkpoint says which, and none that isn't named is
# taken for the model.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

# A program that counts its steps on n0 and n1, saved in "ck" beside it, and a function "look" that returns n0.
looking_program() { # STEPS
  counting_program "{\"function\": \"count\", \"steps\": $1, \"log_every\": 1000, \"checkpoint\": {\"dir\": \"ck\", \"every\": 10}}"
  cat >look.mlir <<'MLIR'
module @look {
  func.func public @main(%n: tensor<i32>) -> tensor<i32> {
    return %n : tensor<i32>
  }
}
MLIR
  jq '.functions.look = {"module": "look.mlir", "inputs": [{"variable": "n0"}], "outputs": [{"result": 0}]}' program.json >with.json
  mv with.json program.json
}

# The value of n0 by tfd-run ARGS….
look() { timeout 60 tfd-run program.json --cluster none --function look "$@" </dev/null; }

# Either tool trains the program; its events are the output.
TOOLS=("tfd-coordinate program.json --cluster spec.json --keep-servers" "tfd-run program.json --cluster none")
by() { # TOOL ARGS…
  local tool=$1
  shift
  # shellcheck disable=SC2086
  timeout 60 $tool "$@" </dev/null
}

@test "runs: without resume a used directory is refused, --start-over moves it aside, and the latest is the new run's" {
  looking_program 40
  serve --jobs worker=1,ps=2
  local tool
  for tool in "${TOOLS[@]}"; do
    run -0 --separate-stderr by "$tool"
    [ "$(look)" = '{"0":40}' ]
    run -65 --separate-stderr by "$tool" --set train.checkpoint.resume=false --set train.steps=25
    [[ $stderr =~ ^tfd-(coordinate|run):\ ck:\ has\ checkpoints\ of\ an\ earlier\ run.*--start-over ]]
    [ "$(look)" = '{"0":40}' ]
    run -0 --separate-stderr by "$tool" --set train.steps=25 --start-over
    [[ $stderr =~ starting\ over:\ the\ earlier\ run\ is\ in\ (ck/old-[^$'\n']*) ]]
    local aside=${BASH_REMATCH[1]}
    jq -es '.[0].step == 0 and (last | .reason == "done" and .step == 25)' <<<"$output"
    [ "$(look)" = '{"0":25}' ]
    [ "$(look --checkpoint "$aside")" = '{"0":40}' ]
    # The same command without --start-over goes on from it.
    run -0 --separate-stderr by "$tool" --set train.steps=30
    [[ $stderr == *": resuming from ck/step-00000025.safetensors"* ]]
    jq -es '.[0].step == 25 and (.[0].resumed_from | endswith("ck/step-00000025.safetensors")) and last.step == 30' <<<"$output"
    [ "$(look)" = '{"0":30}' ]
    rm -r ck
    run -0 --separate-stderr by "$tool" --set train.steps=5 --start-over # nothing exists yet
    [[ $stderr != *"starting over"* ]]
    rm -r ck
  done
}

@test "runs: a coordinator that is killed again and again loses no checkpoint that it has told of" {
  looking_program 100000000
  serve --jobs worker=2,ps=2
  local step=0 i
  for i in 1 2 3 4 5; do
    coordinate program.json --cluster spec.json --keep-servers --set train.checkpoint.every=7
    event '.event == "start"'
    [ "$(jq .step <<<"$EVENT")" -ge "$step" ]
    for _ in $(seq $((i * 3))); do event '.event == "checkpoint"'; done
    step=$(jq .step <<<"$EVENT")
    kill_coordinator
    jq -e '.v == 1 and .latest == .checkpoints[-1].file and (.run | length) > 0' ck/index.json
    printf '%s\n' "$(jq -r .run ck/index.json)" >>ids
  done
  [ "$(sort -u ids | wc -l)" = 1 ]
}

@test "runs: a broken index is made anew from what the checkpoints say, with a warning" {
  looking_program 20
  run -0 --separate-stderr by "tfd-run program.json --cluster none"
  echo '{"v": 1, "run":' >ck/index.json
  run -0 --separate-stderr by "tfd-run program.json --cluster none" --set train.steps=30
  [[ $stderr == *"ck/index.json: not JSON: using the checkpoints' own metadata"* ]]
  jq -es '.[0].step == 20' <<<"$output"
  jq -e '.latest == "step-00000030.safetensors"' ck/index.json
}

@test "runs: a function says which checkpoint its variables are from, wherever it is run" {
  looking_program 20
  run -65 --separate-stderr look
  [ "$stderr" = "tfd-run: function 'look' needs trained variables, but there is no checkpoint in ck: give --checkpoint FILE|DIR, or --untrained to use the initial values" ]
  run -0 --separate-stderr look --untrained
  [ "$output" = '{"0":0}' ]
  run -0 --separate-stderr by "tfd-run program.json --cluster none"
  run -0 --separate-stderr look
  [ "$output" = '{"0":20}' ]
  [ "$stderr" = "tfd-run: weights from ck/step-00000020.safetensors" ]
  run -0 --separate-stderr look --untrained
  [ "$output" = '{"0":0}' ]
  run -0 --separate-stderr look --set train.checkpoint.resume=false # which is about training
  [ "$output" = '{"0":20}' ]
  run -0 --separate-stderr look --checkpoint ck/step-00000010.safetensors
  [ "$output" = '{"0":10}' ]
  [ "$stderr" = "tfd-run: weights from ck/step-00000010.safetensors" ]
  run -65 --separate-stderr look --set train.checkpoint.dir=typo
  [[ $stderr == *"there is no checkpoint in typo: "* ]]
  run -65 --separate-stderr look --checkpoint typo
  [[ $stderr == "tfd-run: --checkpoint: "*typo* ]]
  run -65 --separate-stderr look --set train=null --checkpoint ck/index.json
  [[ $stderr == "tfd-run: --checkpoint: "* ]]
  run -64 --separate-stderr look --checkpoint ck --untrained
  run -64 --separate-stderr timeout 20 tfd-run program.json --cluster none --untrained </dev/null
  # The directory is beside the program, and not where somebody stands.
  mkdir elsewhere
  cd elsewhere
  run -0 --separate-stderr timeout 60 tfd-run ../program.json --cluster none --function look </dev/null
  [ "$output" = '{"0":20}' ]
  [ "$stderr" = "tfd-run: weights from $T/ck/step-00000020.safetensors" ]
}

@test "runs: a function needs no checkpoint where the program names a file of weights, or where it reads no variable" {
  looking_program 20
  run -0 --separate-stderr by "tfd-run program.json --cluster none"
  jq '.train.checkpoint = null | del(.train.checkpoint)' program.json >plain.json
  run -65 --separate-stderr timeout 60 tfd-run plain.json --cluster none --function look </dev/null
  [[ $stderr == *"function 'look' needs trained variables, but the program has no train.checkpoint: give --checkpoint FILE|DIR"* ]]
  run -0 --separate-stderr timeout 60 tfd-run plain.json --cluster none --function look --set weights=ck/step-00000020.safetensors </dev/null
  [ "$output" = '{"0":20}' ]
  rm -r ck
  jq '.functions.none = {"module": "none.mlir", "inputs": [], "outputs": [{"result": 0}]}' program.json >with.json
  cat >none.mlir <<'MLIR'
module @none {
  func.func public @main() -> tensor<i32> {
    %one = stablehlo.constant dense<1> : tensor<i32>
    return %one : tensor<i32>
  }
}
MLIR
  run -0 --separate-stderr timeout 60 tfd-run with.json --cluster none --function none </dev/null
  [ "$output" = '{"0":1}' ]
  [ -z "$stderr" ]
}

@test "runs: closures and a new training begin with the checkpoint that is named; a training that goes on doesn't" {
  looking_program 20
  serve --jobs worker=1,ps=2
  run -0 --separate-stderr by "tfd-run program.json --cluster none" --set train.checkpoint.dir=first
  echo '{"op": "read", "variable": "n0"}' >closures
  run -0 --separate-stderr by "${TOOLS[0]}" --closures closures --checkpoint first
  jq -e '.value == 20' <<<"$output"
  [[ $stderr == *"weights from first/step-00000020.safetensors"* ]]
  run -0 --separate-stderr by "${TOOLS[0]}" --closures closures
  jq -e '.value == 0' <<<"$output"
  local tool
  for tool in "${TOOLS[@]}"; do
    run -0 --separate-stderr by "$tool" --checkpoint first/step-00000010.safetensors --set train.steps=7
    [[ $stderr == *"weights from first/step-00000010.safetensors"* ]]
    jq -es '.[0].step == 0 and .[0].started_from == "first/step-00000010.safetensors" and last.step == 7' <<<"$output"
    [ "$(look)" = '{"0":17}' ]
    run -0 --separate-stderr by "$tool" --checkpoint first --set train.steps=9
    [[ $stderr == *"--checkpoint first is ignored: the training continues"*"resuming from ck/step-00000007.safetensors"* ]]
    [ "$(look)" = '{"0":19}' ]
    # A named checkpoint may be the one that is moved aside.
    run -0 --separate-stderr by "$tool" --checkpoint ck --set train.steps=1 --start-over
    [ "$(look)" = '{"0":20}' ]
    rm -r ck
  done
  run -64 --separate-stderr by "${TOOLS[0]}" --closures closures --start-over
  run -64 --separate-stderr by "${TOOLS[0]}" --follow-checkpoints --checkpoint first
}

@test "runs: a checkpoint of another program is an error, also where no steps are left" {
  looking_program 20
  serve --jobs worker=1,ps=2
  run -0 --separate-stderr by "tfd-run program.json --cluster none"
  jq '.variables.w = {"shape": [], "init": {"zeros": {}}}' program.json >with.json && mv with.json program.json
  local tool
  for tool in "${TOOLS[@]}" "tfd-run program.json --cluster none --function look" "${TOOLS[0]} --checkpoint ck --set train.checkpoint.dir=new"; do
    run -65 --separate-stderr by "$tool"
    [[ $stderr == *"ck/step-00000020.safetensors has no variable 'w': it belongs to another program"* ]] || { echo "$tool: $stderr"; false; }
  done
  run -65 --separate-stderr by "${TOOLS[0]}" --set variables.w=null --set variables.n0.shape=[2] --set variables.n0.aggregation=sum --set functions.look=null --set functions.count=null --set train=null --closures /dev/null --checkpoint ck
  [[ $stderr == *"ck/step-00000020.safetensors: variable 'n0' is s32[], but s32[2] in program.json: it belongs to another program"* ]]
}

@test "runs: paths in a program are relative to it, those that are typed to the working directory" {
  mkdir there
  (T=$T/there && cd there && looking_program 10)
  cp there/look.mlir seen.mlir
  rm there/look.mlir
  run -0 --separate-stderr timeout 60 tfd-run there/program.json --cluster none --set functions.look.module=seen.mlir </dev/null
  [ -e there/ck/step-00000010.safetensors ]
  [ ! -e ck ]
  [ "$(jq -r 'select(.event == "checkpoint").path' <<<"$output")" = there/ck/step-00000010.safetensors ]
  run -0 --separate-stderr timeout 60 tfd-run there/program.json --cluster none --set functions.look.module=seen.mlir --set 'train.checkpoint={"dir": "ck"}' </dev/null
  [ "$(jq -r 'select(.event == "checkpoint").path' <<<"$output")" = ck/step-00000010.safetensors ]
  run -0 --separate-stderr timeout 60 tfd-run there/program.json --cluster none --function look --checkpoint ck --set functions.look.module=seen.mlir </dev/null
  [ "$output" = '{"0":10}' ]
}

# The loss is 1, and from the third step on it is not a number.
diverging_program() { # TRAIN, JSON
  cat >loss.mlir <<'MLIR'
module @loss {
  func.func public @main(%step: tensor<i32> loc("step")) -> tensor<f32> {
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %now = stablehlo.convert %step : (tensor<i32>) -> tensor<f32>
    %0 = stablehlo.subtract %two, %now : tensor<f32>
    %1 = stablehlo.maximum %0, %zero : tensor<f32>
    %2 = stablehlo.divide %1, %1 : tensor<f32>
    return %2 : tensor<f32>
  }
}
MLIR
  echo "{\"v\": 1, \"functions\": {\"see\": {\"module\": \"loss.mlir\", \"inputs\": [\"step\"], \"outputs\": [{\"metric\": \"loss\"}]}}, \"train\": $1}" >program.json
}

@test "runs: a loss that isn't finite ends a training, or is a warning and in the end event" {
  diverging_program '{"function": "see", "steps": 6, "log_every": 2}'
  serve --jobs worker=1,ps=2
  local tool
  for tool in "${TOOLS[@]}"; do
    run -70 --separate-stderr by "$tool"
    [[ $stderr == *"metric 'loss' of replica 0 is NaN at step 3 (train.on_nonfinite=continue goes on with it)"* ]]
    jq -es 'last | .reason == "error" and .step == 2 and .error.code == "INTERNAL"' <<<"$output"
    run -0 --separate-stderr by "$tool" --set train.on_nonfinite=continue
    [ "$(grep -c "metric 'loss' is NaN at step 3: the training goes on" <<<"$stderr")" = 1 ]
    [ "$(grep -c "metric 'loss' is" <<<"$stderr")" = 1 ]
    jq -es 'last | .reason == "done" and .nonfinite == {"metric": "loss", "step": 3}' <<<"$output"
    run -0 --separate-stderr by "$tool" --set train.steps=2
    [[ $stderr != *"metric 'loss'"* ]]
    jq -es 'last | has("nonfinite") | not' <<<"$output"
  done
}
