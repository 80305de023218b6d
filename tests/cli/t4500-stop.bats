#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-coordinate: a training that stops by itself, and the best checkpoint.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

@test "stop: the digits stop when their accuracy gets no better, and the best checkpoint is kept" {
  serve --jobs worker=2,ps=2
  run -0 --separate-stderr timeout 120 tfd-coordinate "$EXAMPLES/digits/program.json" --cluster spec.json --keep-servers \
    --set train.steps=4000 --set train.evaluate.every=20 --set train.checkpoint.dir=ck \
    --set 'train.checkpoint.keep_best={"metric": "accuracy"}' \
    --set 'train.stop={"metric": "accuracy", "patience": 2, "min_delta": 0.01, "restore_best": true}'
  jq -es 'last | .event == "end" and .reason == "stopped" and .step < 4000 and .restored_step <= .step - 40 and .eval.accuracy > 0.5' <<<"$output"
  [ "$(ls ck/best)" = "$(jq -rs '[.[] | select(.event == "checkpoint" and .best)] | last.path' <<<"$output" | sed 's|.*/||')" ]
  # The restored state is the evaluated one: the run that continues from it begins as good.
  best=$(jq -s 'last.eval.accuracy' <<<"$output")
  steps=$(jq -s 'last.step' <<<"$output")
  run -0 --separate-stderr timeout 120 tfd-coordinate "$EXAMPLES/digits/program.json" --cluster spec.json \
    --set "train.steps=$steps" --set train.checkpoint.dir=ck
  [ "$(jq -s 'last.eval.accuracy' <<<"$output")" = "$best" ]
}

@test "stop: what it needs is said before anything runs" {
  run -65 --separate-stderr tfd-coordinate --check "$EXAMPLES/digits/program.json" --set train.evaluate=null --set 'train.stop={"metric": "accuracy"}' </dev/null
  [[ $stderr == *"train.stop: needs train.evaluate with 'every'"* ]]
  run -65 --separate-stderr tfd-coordinate --check "$EXAMPLES/digits/program.json" --set 'train.stop={"metric": "acuracy"}' </dev/null
  [[ $stderr == *"train.stop.metric: "*"did you mean 'accuracy'"* ]]
}
