#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The events of trainings: as JSON, as text, in a file; the metrics of a training and of its evaluations apart.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

digits=(--set train.steps=60 --set train.log_every=30 --set train.checkpoint.dir=ck)

@test "events: the end has the metrics of the training and those of the last evaluation, in every tool" {
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" "${digits[@]}" </dev/null
  jq -es '.[-1] | .event == "end" and (.metrics | keys) == ["loss"] and (.eval | keys) == ["accuracy", "loss"] and .metrics.loss != .eval.loss' <<<"$output"
  jq -es '([.[] | select(.event == "step")][-1].metrics) == .[-1].metrics and ([.[] | select(.event == "eval")][-1].metrics) == .[-1].eval' <<<"$output"
  [[ $stderr == *'tfd-run: 60 steps in '*', loss '*'; evaluation: accuracy 0.'*', loss '* ]]
  serve --jobs worker=1,ps=1
  run -0 --separate-stderr timeout 60 tfd-coordinate "$EXAMPLES/digits/program.json" --cluster spec.json "${digits[@]}" --set train.checkpoint.dir=ck2
  jq -es '.[-1] | .event == "end" and (.metrics | keys) == ["loss"] and (.eval | keys) == ["accuracy", "loss"]' <<<"$output"
  # A program without an evaluation has none.
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/linear/program.json" --set train.steps=10 </dev/null
  jq -es '.[-1] | .event == "end" and has("metrics") and (has("eval") | not)' <<<"$output"
}

@test "events: every epoch ends with an event, and evaluations may be made there" {
  local epochs=(--set train.steps=null --set train.epochs=3 --set 'datasets.train[2]={"take": 640}' --set train.log_every=10 --set train.checkpoint=null)
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" "${epochs[@]}" --set train.evaluate.every=epoch </dev/null
  jq -es '[.[] | select(.event == "epoch")] | map([.epoch, .epochs, .step]) == [[1, 3, 10], [2, 3, 20], [3, 3, 30]]' <<<"$output"
  jq -es '[.[] | select(.event == "epoch").eval] == [.[] | select(.event == "eval").metrics] and all(.[] | select(.event == "epoch"); .eval.accuracy > 0 and .metrics.loss > 0 and .learning_rate == 0.001 and .seconds > 0)' <<<"$output"
  jq -es '[.[] | select(.event == "step").learning_rate] == [0.001, 0.001, 0.001]' <<<"$output"
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" "${epochs[@]}" --format text </dev/null
  grep -Eq '^step 20/30  epoch 2/3: loss [0-9.]+; learning rate 0.001  [0-9.]+s$' <<<"$output"
  grep -Eq '^step 30/30  epoch 3/3: loss [0-9.]+; evaluation: accuracy [0-9.]+, loss [0-9.]+; learning rate 0.001  [0-9.]+s$' <<<"$output"
  # The norm of the gradients, on one device and on two workers.
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" "${epochs[@]}" --set train.gradient_norm=true </dev/null
  jq -es 'all(.[] | select(.event == "step" or .event == "epoch"); .metrics.gradient_norm > 0)' <<<"$output"
  run -0 --separate-stderr timeout 60 tfd-launch -n 2 --no-prefix -- tfd-run "$EXAMPLES/digits/program.json" "${epochs[@]}" \
    --set train.gradient_norm=true --strategy multi-worker-mirrored
  jq -es '[.[] | select(.event == "epoch").metrics.gradient_norm] | length == 3 and all(.[]; . > 0)' <<<"$output"
  # On two workers, and by a coordinator.
  run -0 --separate-stderr timeout 60 tfd-launch -n 2 --no-prefix -- tfd-run "$EXAMPLES/digits/program.json" "${epochs[@]}" --strategy multi-worker-mirrored
  jq -es '[.[] | select(.event == "epoch").step] == [5, 10, 15]' <<<"$output"
  serve --jobs worker=1,ps=1
  run -0 --separate-stderr timeout 60 tfd-coordinate "$EXAMPLES/digits/program.json" --cluster spec.json "${epochs[@]}"
  jq -es '[.[] | select(.event == "epoch") | [.epoch, .step]] == [[1, 10], [2, 20], [3, 30]] and .[-1].event == "end"' <<<"$output"
  run -65 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --set train.evaluate.every=epochs
  [[ $stderr == *'train.evaluate.every: must be a number of steps, or "epoch"'* ]]
}

@test "events: --format text and TFD_FORMAT print lines for people, whatever stdout is" {
  local line='^step [ 0-9]*/60  '
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" "${digits[@]}" --format text --events seen </dev/null
  grep -Eq "${line}training .*program.json, 1 worker, 1 replica$" <<<"$output"
  grep -Eq "${line}loss [0-9.]+  [0-9. ]+/s$" <<<"$output"
  grep -Eq "${line}evaluation: accuracy 0\.[0-9]+, loss [0-9.]+  [0-9.]+s$" <<<"$output"
  grep -Eq "${line}saved ck/step-00000060.safetensors$" <<<"$output"
  grep -Eq "${line}done: loss [0-9.]+; evaluation: accuracy .*s$" <<<"$output"  # nobody reads stderr here
  run ! grep -v "$line" <<<"$output"
  jq -es '.[-1].event == "end"' seen
  TFD_FORMAT=text run -0 --separate-stderr timeout 60 tfd-coordinate "$EXAMPLES/linear/program.json" --cluster none --check </dev/null
  run -64 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --format yaml
  [[ $stderr == "tfd-run: --format: invalid value 'yaml' (one of auto, text and json) (see tfd-run --help)" ]]
}

@test "events: --events that can't be opened is an error, a full disk under it isn't" {
  run -71 --separate-stderr timeout 60 tfd-run "$EXAMPLES/linear/program.json" --events /proc/none </dev/null
  [[ $stderr == 'tfd-run: --events: cannot open /proc/none: '* ]]
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/linear/program.json" --set train.steps=10 --events /dev/full </dev/null
  [[ $stderr == *'--events: /dev/full: '*': the training goes on without it'* ]]
  jq -es '.[-1].event == "end"' <<<"$output"
}

@test "events: tfd-launch on a terminal has its tasks print lines for people, with the tasks' names once" {
  printf '%s\n' '#!/bin/sh' 'exec tfd-launch -n 2 -- tfd-run "$@" --strategy multi-worker-mirrored' >launch.sh
  chmod +x launch.sh
  run -0 timeout 60 python3 "$BATS_TEST_DIRNAME/terminal.py" xterm ./launch.sh "$EXAMPLES/digits/program.json" "${digits[@]}"
  grep -Eq '^worker:0: step 60/60  evaluation: accuracy' <<<"$output"
  [[ $output != *'{'* ]]
  # The chief says what to type next, and a second start that nothing is left.
  [ "$(grep -c 'next: ' <<<"$output")" = 1 ]
  grep -Eq '^worker:0: tfd-run: next: tfd-run .*/program.json --evaluate --checkpoint ck/step-00000060.safetensors$' <<<"$output"
  run -0 timeout 60 python3 "$BATS_TEST_DIRNAME/terminal.py" xterm ./launch.sh "$EXAMPLES/digits/program.json" "${digits[@]}"
  grep -qx 'worker:0: tfd-run: --set train.steps=N, or train.epochs, trains further; --start-over begins anew' <<<"$output"
  [ "$(grep -c 'next: ' <<<"$output")" = 1 ]
  # Without an evaluation, it is a look at the trained weights.
  run -0 timeout 60 python3 "$BATS_TEST_DIRNAME/terminal.py" xterm tfd-run "$EXAMPLES/linear/program.json" --set train.steps=5 --set 'train.checkpoint.dir=a line'
  grep -x "tfd-run: next: tfd-checkpoint show 'a line/step-00000005.safetensors'" <<<"$output"
  tfd-checkpoint show 'a line/step-00000005.safetensors'
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" "${digits[@]}" --format text </dev/null
  [[ $output == *'nothing is left to do; evaluation: accuracy '* ]]
  [[ $stderr != *'next: '* && $stderr != *'--start-over'* ]] # nobody is at a terminal
  run -0 --separate-stderr timeout 60 ./launch.sh "$EXAMPLES/digits/program.json" "${digits[@]}" --set train.checkpoint.dir=ck3
  grep -q '^worker:0: {"event":"end"' <<<"$output"
  # Output that a task's own shell redirects is JSON there, too.
  printf '%s\n' '#!/bin/sh' 'exec tfd-launch -n 1 -- sh -c "tfd-run \"\$@\" >seen; tfd-run \"\$@\" | jq -c .event" - "$@" --strategy one-device' >launch.sh
  run -0 timeout 60 python3 "$BATS_TEST_DIRNAME/terminal.py" xterm ./launch.sh "$EXAMPLES/digits/program.json" "${digits[@]}" --set train.checkpoint.dir=ck4
  jq -es '.[-1].event == "end"' seen
  [[ $output == *'worker:0: "end"'* ]]
  TFD_FORMAT=text run -0 --separate-stderr timeout 60 tfd-launch --format json -n 1 -- tfd-run "$EXAMPLES/digits/program.json" "${digits[@]}" --strategy one-device --set train.checkpoint.dir=ck5
  grep -q '^worker:0: {"event":"end"' <<<"$output"
}
