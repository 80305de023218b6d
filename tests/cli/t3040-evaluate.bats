#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --evaluate, and examples that come through stdin.

load run
setup() {
  coordinate_setup
  PROGRAM=$EXAMPLES/digits/program.json
}
teardown() { run_teardown; }

trained() {
  run -0 --separate-stderr timeout 60 tfd-run "$PROGRAM" --set train.steps=100 --set train.checkpoint.dir=ck </dev/null
  trained=$(jq -c 'select(.event == "end").eval' <<<"$output")
}
evaluate=(timeout 60 tfd-run)

# A line for each row of the test data.
lines() { # [FILTER]
  awk -F, '{ printf "{\"image\": ["; for (i = 1; i <= 64; i++) printf "%s%s", $i, (i < 64 ? "," : ""); print "], \"label\": " $65 "}" }' "$EXAMPLES/digits/digits-test.csv"
}

@test "evaluate: the last line is an eval event, with what the training's last evaluation had" {
  trained
  run -0 --separate-stderr "${evaluate[@]}" --evaluate "$PROGRAM" --set train.checkpoint.dir=ck </dev/null
  jq -e --argjson trained "$trained" '.event == "eval" and .step == 100 and .path == "ck/step-00000100.safetensors" and .metrics == $trained and .seconds > 0' <<<"$output"
  [[ $stderr == 'tfd-run: weights from ck/step-00000100.safetensors' ]]
  run -0 --separate-stderr "${evaluate[@]}" "$PROGRAM" --evaluate=eval_step --checkpoint ck --format text </dev/null
  [[ $output == 'step 100  evaluation: accuracy 0.'* ]]
  # On two devices, and with the values that it begins with.
  run -0 --separate-stderr "${evaluate[@]}" "$PROGRAM" --evaluate --checkpoint ck --devices 2 </dev/null
  jq -e --argjson trained "$trained" '.metrics | (.accuracy == $trained.accuracy) and (.loss - $trained.loss | fabs) < 1e-9' <<<"$output"
  run -0 --separate-stderr "${evaluate[@]}" "$PROGRAM" --evaluate --untrained </dev/null
  jq -e '.metrics.accuracy < 0.5 and (has("step") | not)' <<<"$output"
  # Another dataset of the program, or a pipeline, in the place of its own.
  pipeline="[{\"csv\": {\"path\": \"$EXAMPLES/digits/digits-train.csv\", \"fields\": {\"image\": {\"columns\": [0, 64], \"dtype\": \"f32\"}, \"label\": {\"columns\": 64, \"dtype\": \"s32\"}}}}, {\"batch\": {\"size\": 64, \"drop_remainder\": true}}]"
  run -0 --separate-stderr "${evaluate[@]}" "$PROGRAM" --evaluate --checkpoint ck --dataset "$pipeline" </dev/null
  jq -e '.metrics.accuracy > 0.8' <<<"$output"
}

@test "evaluate: weights of no training are named as such; a directory stands for the program.json in it" {
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/cnn/program.json" --evaluate </dev/null
  jq -e '.event == "eval" and (has("step") | not)' <<<"$output"
  [ "$stderr" = "tfd-run: weights as they were exported, of no training here: --checkpoint FILE|DIR takes trained ones" ]
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/cnn" --evaluate </dev/null
  jq -e '.event == "eval" and (has("step") | not)' <<<"$output"
  run -0 tfd-run --list functions "$EXAMPLES/digits"
  [[ $output == *train_step* ]]
  mkdir empty
  run -65 --separate-stderr timeout 60 tfd-run empty </dev/null
  [ "$stderr" = "tfd-run: cannot read empty: is a directory, without program.json" ]
}

@test "evaluate: what can't be evaluated is said" {
  trained
  refused() { # CODE TEXT ARGS…
    run "-$1" --separate-stderr "${evaluate[@]}" "$PROGRAM" --checkpoint ck "${@:3}" </dev/null
    [ -z "$output" ]
    [[ $stderr == *"$2"* ]] || { echo "$stderr"; false; }
  }
  refused 65 "no function 'evil_step', did you mean 'eval_step'?" --evaluate=evil_step
  refused 65 "'train_step' updates variables, which an evaluation must not do" --evaluate=train_step
  refused 65 "--dataset: it never ends: an evaluation needs one that does" --evaluate --dataset train
  refused 65 "no dataset 'tset', did you mean 'test'?" --evaluate --dataset tset
  refused 65 "it has no field 'image', which 'eval_step' reads" --evaluate --dataset '[{"range": 4}, {"batch": {"size": 2}}]'
  refused 64 "--evaluate and --predict exclude each other" --evaluate --predict predict
  refused 64 "--evaluate is one evaluation in this process: --cluster, --jobs and --task need --strategy multi-worker-mirrored" --evaluate --cluster spec.json
  run -64 --separate-stderr "${evaluate[@]}" "$EXAMPLES/linear/program.json" --evaluate </dev/null
  [[ $stderr == *"has no train.evaluate: name the function, --evaluate=FUNCTION"* ]]
}

@test "evaluate: examples of stdin are predicted one by one, each answered before the next one comes" {
  trained
  lines | head -70 >examples
  run -0 --separate-stderr timeout 60 tfd-run "$PROGRAM" --predict predict --checkpoint ck --dataset test </dev/null
  head -70 <<<"$output" >expected
  run -0 --separate-stderr timeout 60 tfd-run "$PROGRAM" --predict predict --checkpoint ck --dataset - <examples
  diff expected - <<<"$output"
  # One at a time.
  mkfifo to from
  timeout 60 tfd-run -q "$PROGRAM" --predict predict --checkpoint ck --dataset - <to >from &
  local pid=$! line n
  exec 7>to 8<from
  for n in 1 2 3; do
    sed -n "${n}p" examples >&7
    IFS= read -r -t 30 line <&8
    [ "$line" = "$(sed -n "${n}p" expected)" ]
  done
  exec 7>&-
  wait "$pid"
  run ! read -r -t 5 line <&8
}

@test "evaluate: who waits for an example of stdin ends by a signal at once" {
  trained
  mkfifo silent
  exec 7<>silent
  tfd-run "$PROGRAM" --predict predict --checkpoint ck --dataset - --grace 60s <&7 >answers 2>talk &
  local pid=$!
  lines | sed -n 1p >&7
  until [ -s answers ]; do kill -0 "$pid"; sleep 0.05; done
  kill -TERM "$pid"
  timeout 20 tail --pid="$pid" -f /dev/null
  local status=0
  wait "$pid" || status=$?
  [ "$status" = 75 ]
  run ! grep 'grace period' talk
}

@test "evaluate: --check looks at what --evaluate asks for" {
  run -65 --separate-stderr timeout 60 tfd-run "$PROGRAM" --evaluate=nosuch --check </dev/null
  [[ $stderr == *"no function 'nosuch'"* ]]
  run -0 --separate-stderr timeout 60 tfd-run "$PROGRAM" --evaluate --check </dev/null
  run -64 --separate-stderr timeout 60 tfd-run "$PROGRAM" --predict predict --dataset test --events seen </dev/null
  [[ $stderr == *'--events: only trainings and evaluations have events, not --predict'* ]]
  [ ! -e seen ]
}

@test "evaluate: a bad line of stdin is named by its number, and what came before it is answered" {
  trained
  { lines | head -2; echo '{"image": [1, 2]}'; } >examples
  run -65 --separate-stderr timeout 60 tfd-run "$PROGRAM" --predict predict --checkpoint ck --dataset - <examples
  [[ $stderr == *'stdin:3: image: '* ]]
  [ "$(wc -l <<<"$output")" = 2 ]
  { lines | head -1; echo; echo 'x'; } >examples
  run -65 --separate-stderr timeout 60 tfd-run "$PROGRAM" --predict predict --checkpoint ck --dataset - <examples
  [[ $stderr == *'stdin:3: not a JSON object: an example is {"image": f32[64]}'* ]]
  [ -n "$output" ]
  [ "$(wc -l <<<"$output")" = 1 ]
  run -65 --separate-stderr timeout 60 tfd-run "$PROGRAM" --predict predict --checkpoint ck --dataset - <<<'{"picture": 1}'
  [[ $stderr == *"stdin:1: 'image' is missing: an example is {\"image\": f32[64]}"* ]]
  run -0 --separate-stderr timeout 60 tfd-run "$PROGRAM" --predict predict --checkpoint ck --dataset - </dev/null
  [ -z "$output" ]
}

@test "evaluate: an evaluation of stdin answers at the end" {
  trained
  lines >examples  # 355: five batches of 64, and 35
  run -0 --separate-stderr timeout 60 bash -c 'tfd-run "$1" --evaluate --checkpoint ck --dataset - < <(cat examples)' - "$PROGRAM"
  jq -e --argjson trained "$trained" '.event == "eval" and .metrics == $trained' <<<"$output"
  { head -63 examples; echo '{"image": 3, "label": 1}'; } >wrong
  run -65 --separate-stderr timeout 60 tfd-run "$PROGRAM" --evaluate --checkpoint ck --dataset - <wrong
  [[ $stderr == *'stdin:64: image: '* ]]
  # From where stdin stands, whatever it is.
  run -0 --separate-stderr timeout 60 bash -c '{ read -r line; tfd-run "$1" --evaluate --checkpoint ck --dataset -; } < <(echo; cat examples)' - "$PROGRAM"
  jq -e --argjson trained "$trained" '.metrics == $trained' <<<"$output"
  run -64 --separate-stderr timeout 60 tfd-run "$PROGRAM" --function predict --checkpoint ck --dataset - <examples
  [[ $stderr == *'--dataset - is for --predict and --evaluate'* ]]
}

@test "evaluate: stdin has as many lines as its modules' batches add up to, and the nearest such numbers are named" {
  trained
  lines >examples  # batches of 64, and of 35
  evaluated() { # FROM COUNT
    tail -n "+$1" examples | head -n "$2" | timeout 60 tfd-run -q "$PROGRAM" --evaluate --checkpoint ck --dataset -
  }
  evaluated 1 35 >first
  evaluated 36 35 >second
  evaluated 71 64 >third
  evaluated 1 70 >both
  jq -se '(.[0].metrics.loss + .[1].metrics.loss) / 2 - .[2].metrics.loss | fabs < 1e-9' first second both
  evaluated 1 134 >all
  jq -se '(.[0].metrics.loss * 70 + .[1].metrics.loss * 64) / 134 - .[2].metrics.loss | fabs < 1e-6' both third all
  refused() { # COUNT TEXT
    run -65 --separate-stderr evaluated 1 "$1"
    [ -z "$output" ]
    [[ $stderr == "tfd-run: --dataset -: $2"* ]] || { echo "$stderr"; false; }
  }
  refused 1 "stdin has 1 line, and 'eval_step' takes batches of 64 or 35, which don't add up to that: 35 lines would do (for any number, "
  refused 65 "stdin has 65 lines, and 'eval_step' takes batches of 64 or 35, which don't add up to that: 64 or 70 lines would do (for any number, "
  refused 0 'stdin is empty: there is nothing to evaluate'
}
