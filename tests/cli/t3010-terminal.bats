#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Events on stdout and progress on stderr, both on one terminal.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

on_terminal() { # TERM ARGS…
  timeout 120 python3 "$BATS_TEST_DIRNAME/terminal.py" "$1" tfd-run program.json "${@:2}"
}

@test "terminal: the bar is gone before an event is printed, and is there again after it" {
  counting_program '{"function": "count", "steps": 400, "log_every": 20}'
  run -0 on_terminal xterm --format json
  local line events=0 bars=0
  while IFS= read -r line; do
    case $line in
      '{'*) jq -e .event <<<"$line" >/dev/null && events=$((events + 1)) ;;
      'tfd-run [####################] 400/400'*) bars=$((bars + 1)) ;;
      'tfd-run: '* | '') ;;
      *) echo "neither event nor talk: $line"; false ;;
    esac
  done <<<"$output"
  [ "$events" = 22 ]  # start, 20 steps, end
  [ "$bars" = 1 ]
  # The events are what a pipe gets.
  TFD_RAW=1 run -0 on_terminal xterm --format json
  [[ $output == *$'\r\e[K{"event":"step"'* && $output == *$'}\r\n\rtfd-run ['* ]]
}

@test "terminal: events are lines for people there, each once, and JSON beside them in --events" {
  counting_program '{"function": "count", "steps": 400, "log_every": 200}'
  run -0 on_terminal xterm --events seen.jsonl
  [[ $output == *$'step   0/400  training program.json, 1 worker, 1 replica\n'* ]]
  grep -Eq '^step 200/400  loss [0-9.e+]+  [0-9. ]+/s$' <<<"$output"
  grep -Eq '^tfd-run: 400 steps in .*, loss [0-9.e+]+$' <<<"$output"
  [[ $output != *'{'* && $output != *done* ]]  # the end is what stderr says
  jq -es 'map(.event) == ["start", "step", "step", "end"]' seen.jsonl
  # A second run's come behind them.
  run -0 on_terminal dumb --events seen.jsonl
  jq -es 'length == 8' seen.jsonl
}

# A module on which XLA works for seconds: 9000 products of matrices, each by another constant.
slow_program() {
  {
    echo 'module @slow { func.func public @main(%x: tensor<f32>) -> tensor<f32> {'
    echo "%b = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<8x8xf32>"
    local i before=b
    for ((i = 0; i < 9000; i++)); do
      echo "%c$i = stablehlo.constant dense<0.$i> : tensor<8x8xf32>"
      echo "%d$i = stablehlo.dot_general %$before, %c$i, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>"
      before=d$i
    done
    echo "%i = stablehlo.constant dense<0> : tensor<i32>"
    echo "%s = stablehlo.dynamic_slice %$before, %i, %i, sizes = [1, 1] : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>"
    echo '%r = stablehlo.reshape %s : (tensor<1x1xf32>) -> tensor<f32> return %r : tensor<f32> } }'
  } >slow.mlir
  cat >program.json <<'JSON'
{"v": 1, "variables": {}, "datasets": {"ones": [{"tensor_slices": {"fields": {"x": [0.5]}}}]},
 "functions": {"slow": {"module": "slow.mlir", "inputs": [{"dataset": "ones", "field": "x"}], "outputs": [{"metric": "loss"}]},
               "unused": {"module": "slow.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]}},
 "train": {"function": "slow", "steps": 1}}
JSON
}

@test "terminal: what is compiling for long is said, and how many modules there are" {
  slow_program
  export TFD_CACHE_DIR=
  run -0 on_terminal dumb --format json
  [[ $output == *'tfd-run: compiling slow (1 of 1)'* ]]
  TFD_RAW=1 run -0 on_terminal xterm --format json
  [[ $output == *$'\rtfd-run compiling slow (1 of 1)\e[K'* ]]
  run -0 --separate-stderr timeout 120 tfd-run program.json </dev/null
  [[ $stderr != *compiling* ]]
}

@test "terminal: one that can't rewrite its line gets lines, and no escape sequences" {
  counting_program '{"function": "count", "steps": 400, "log_every": 200}'
  for kind in dumb -; do
    TFD_RAW=1 run -0 on_terminal "$kind"
    [[ $output != *$'\e'* ]]
    [[ $output == *$'tfd-run: 0/400'* && $output == *$'tfd-run: 400/400'* ]]
    [ "$(tr -d '\r' <<<"$output" | grep -c '^step [ 0-9]*/400  ')" = 3 ]  # start and two steps
  done
}
