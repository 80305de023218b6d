#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# examples/recommender: embedding tables on three parameter servers learn as they do in Keras.

load coordinate
setup() {
  coordinate_setup
  PROGRAM=$EXAMPLES/recommender/program.json
  KERAS=$EXAMPLES/recommender/keras-losses.json
}
teardown() { coordinate_teardown; }

# The lines of the file one after the other, and the loss of every step.
IN_ORDER=(--set 'datasets.interactions[1].shuffle.buffer=1' --set train.log_every=1)

# Whether the losses of the events in $output are those of Keras, whose first is that of step $1 + 1; there are $2.
losses_follow_keras() { # FIRST COUNT KEY
  jq -es --slurpfile keras "$KERAS" --argjson first "$1" --argjson count "$2" --arg key "${3:-losses}" '
    [.[] | select(.event == "step").metrics.loss] as $ours | $keras[0][$key][$first:$first + $count] as $theirs |
    [range($count) | ($ours[.] - $theirs[.]) / $theirs[.] | fabs] | {steps: ($ours | length), furthest: max} |
    if .steps == $count and ($theirs | length) == $count and .furthest < 1e-5 then . else error(tostring) end' <<<"$output"
}

bytes_of() { jq -c --arg task "$1" '.tasks[] | select(.task == $task) | [.variables, .variable_bytes]' <<<"$output"; }

@test "recommender: one worker has the losses of Keras, step for step, and its hit rates" {
  serve --jobs worker=1,ps=3
  run -0 --separate-stderr timeout 120 tfd-coordinate -q "$PROGRAM" --cluster spec.json "${IN_ORDER[@]}"
  losses_follow_keras 0 800
  rates=$(jq -c 'select(.event == "eval").metrics.hit_rate' <<<"$output" | paste -sd' ')
  [ "$rates" = "$(jq -c '.hit_rate["200", "400", "600", "800"]' "$KERAS" | paste -sd' ')" ]
}

@test "recommender: with Adam, whose moments decay in the rows that are not used too, it has the losses of Keras" {
  serve --jobs worker=1,ps=3
  run -0 --separate-stderr timeout 60 tfd-coordinate -q "$PROGRAM" --cluster spec.json "${IN_ORDER[@]}" --set train.evaluate=null \
    --set 'optimizer={"adam": {"learning_rate": 0.01}}' --set train.steps=200
  losses_follow_keras 0 200 adam_losses
}

@test "recommender: over three parameter servers an optimizer does what it does in one process, to the last bit" {
  serve --jobs worker=1,ps=3
  while read -r optimizer; do
    local all=("${IN_ORDER[@]}" --set train.evaluate=null --set train.steps=30 --set "optimizer=$optimizer")
    timeout 60 tfd-run -q "$PROGRAM" "${all[@]}" </dev/null | jq -c 'select(.event == "step").metrics.loss' >one
    timeout 60 tfd-coordinate -q "$PROGRAM" --cluster spec.json --keep-servers "${all[@]}" | jq -c 'select(.event == "step").metrics.loss' >three
    [ "$(wc -l <one)" = 30 ] && diff one three || { echo "$optimizer"; false; }
  done <<'OPTIMIZERS'
{"adamw": {"learning_rate": 0.01, "global_clipnorm": 0.01, "exclude_from_weight_decay": ["*bias"]}}
{"rmsprop": {"learning_rate": 0.01, "centered": true, "momentum": 0.5, "gradient_accumulation_steps": 4}}
{"adam": {"learning_rate": 0.01, "amsgrad": true, "lazy_rows": true, "groups": {"item_table*": {"learning_rate": 0.1}}}}
{"sgd": {"learning_rate": 0.5, "momentum": 0.9, "nesterov": true, "use_ema": true, "ema_momentum": 0.5, "ema_overwrite_frequency": 3}}
OPTIMIZERS
}

@test "recommender: in one process it has the same losses" {
  run -0 --separate-stderr timeout 60 tfd-run -q "$PROGRAM" "${IN_ORDER[@]}" </dev/null
  losses_follow_keras 0 800
}

@test "recommender: three asynchronous workers end where Keras does, and the tables lie on three parameter servers" {
  serve --jobs worker=3,ps=3
  run -0 --separate-stderr timeout 120 tfd-coordinate "$PROGRAM" --cluster spec.json --keep-servers
  # The mean loss of the last hundred steps; the hit rate began at 0.32, and three of ten by chance are 0.3.
  jq -es --slurpfile keras "$KERAS" '
    ($keras[0].losses[700:] | add / length) as $theirs | [.[] | select(.event == "step")][-1] as $last |
    $last.step == 800 and ($last.metrics.loss - $theirs | fabs) < 0.06 and .[-1].eval.hit_rate >= 0.5' <<<"$output"
  # User table: 150 rows each on ps:0 and ps:1. Item table: 200 each on ps:2, ps:0 and ps:1. The rest one by one. With
  # Adagrad's accumulators it is twice as much.
  run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json --json
  [ "$(bytes_of ps:0)" = "[5,$((2 * 4 * (150 * 16 + 200 * 16 + 16 + 16 * 16 + 8)))]" ]
  [ "$(bytes_of ps:1)" = "[4,$((2 * 4 * (150 * 16 + 200 * 16 + 16 * 8 + 16)))]" ]
  [ "$(bytes_of ps:2)" = "[4,$((2 * 4 * (200 * 16 + 16 * 16 + 8 + 16 * 8)))]" ]
}

@test "recommender: a checkpoint of three parameter servers goes on with two, then with one and whole tables" {
  CHECKPOINTS=(--set 'train.checkpoint={"dir": "ck"}' --set train.evaluate=null)
  part() { # SERVERS FIRST COUNT ARGS…
    local servers=$1 first=$2 count=$3
    shift 3
    # The batches that were trained with already are skipped.
    run -0 --separate-stderr timeout 60 tfd-serve --jobs "worker=1,ps=$servers" -- tfd-coordinate -q "$PROGRAM" \
      "${IN_ORDER[@]}" "${CHECKPOINTS[@]}" --set "train.steps=$((first + count))" \
      --set "datasets.interactions[4]={\"skip\": $first}" "$@"
    [ "$(jq -c 'select(.event == "start").step' <<<"$output")" = "$first" ]
    losses_follow_keras "$first" "$count"
  }
  part 3 0 150
  part 2 150 100
  part 1 250 50 --set 'variables.item_table/embeddings.partitioner=null' --set 'variables.user_table/embeddings.partitioner=null'
  part 3 300 100 --set 'variables.item_table/embeddings.partitioner={"max_size": {"max_shard_bytes": 6400}}'
}

@test "recommender: a worker is killed in the middle, and the training ends as well" {
  serve --jobs worker=2,ps=3
  coordinate "$PROGRAM" --cluster spec.json --set train.log_every=20
  event '.event == "step"'
  kill -KILL "$(task_pid worker:1)"
  event '.event == "worker" and .task == "worker:1" and .state == "lost"'
  event '.event == "end"'
  jq -e '.reason == "done" and .step == 800 and .eval.hit_rate >= 0.5' <<<"$EVENT"
  coordinator_ends 0
}
