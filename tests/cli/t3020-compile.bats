#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# When tfd-run compiles what: the first step waits for its own module alone.

bats_require_minimum_version 1.5.0
load examples

setup() {
  copy_examples "$TFD_SOURCE" "$BATS_TEST_TMPDIR/examples"
  cd "$BATS_TEST_TMPDIR/examples/digits" || return
  export TFD_CACHE_DIR=$BATS_TEST_TMPDIR/cache
}

@test "compile: what can't be compiled ends a training soon, though no step has called it yet" {
  sed -i 's/stablehlo.maximum/stablehlo.no_such_operation/' predict.mlir
  run -65 --separate-stderr timeout 60 tfd-run -q program.json --set train.steps=100000000 </dev/null
  [[ $stderr == *"functions.predict: predict.mlir does not compile: line 19: custom op 'stablehlo.no_such_operation' is unknown" ]]
  jq -es 'map(select(.event == "end")) | .[0].reason == "error" and .[0].step > 0 and .[0].step < 100000000' <<<"$output"
}

@test "compile: a function that an evaluation calls is compiled once, whoever comes first" {
  run -0 --separate-stderr timeout 60 tfd-run -q program.json --set train.steps=20 --set train.evaluate.every=1 --set 'datasets.train[1].shuffle.seed=1' </dev/null
  [ "$(jq -s 'map(select(.event == "eval")) | length' <<<"$output")" = 20 ]
  [ "$(jq -s 'map(select(.event == "eval").metrics.loss) | unique | length' <<<"$output")" = 20 ]
  local first=$output
  run -0 --separate-stderr timeout 60 tfd-run -q program.json --start-over --set train.steps=20 --set train.evaluate.every=1 --set 'datasets.train[1].shuffle.seed=1' </dev/null # from the cache
  [ "$(jq -c 'select(.event == "eval").metrics' <<<"$output")" = "$(jq -c 'select(.event == "eval").metrics' <<<"$first")" ]
}

@test "compile: a function alone needs no other one" {
  sed -i 's/stablehlo.maximum/stablehlo.no_such_operation/' train_step.mlir eval_step_*.mlir
  run -0 --separate-stderr timeout 60 tfd-run -q program.json --untrained --predict predict --dataset test --output logits.npy </dev/null
  [ -s logits.npy ]
}
