#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The examples that were exported from frameworks (share/tfd_export.py) train as they do there. The losses that are compared
# with are beside the examples, written by their export.py; no framework is needed here. Those of exporting itself are in
# tests/cluster/export-*.bats.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# The data of an example in the order of their file, and the loss of every step.
in_order() { # STEPS
  IN_ORDER=(--set 'datasets.train[1].shuffle.buffer=1' --set train.log_every=1 --set train.evaluate=null --set "train.steps=$1")
}

# Whether the losses of the events in $output are those of the framework, each within a thousandth.
losses_follow() { # FILE [KEY]
  jq -es --slurpfile recorded "$1" --arg key "${2:-losses}" '
    [.[] | select(.event == "step").metrics.loss] as $ours | $recorded[0][$key] as $theirs |
    [range($theirs | length) | $ours[.] - $theirs[.] | fabs] | {steps: ($ours | length), furthest: max} |
    if .steps == 50 and ($theirs | length) == 50 and .furthest < 1e-3 then . else error(tostring) end' <<<"$output"
}

trains() { # ARGS…
  run -0 --separate-stderr timeout 120 tfd-run -q "$PROGRAM" "${IN_ORDER[@]}" "$@" </dev/null
}
coordinates() { # WORKERS ARGS…
  local workers=$1
  shift
  run -0 --separate-stderr timeout 120 tfd-serve --jobs "worker=$workers,ps=2" -- tfd-coordinate -q "$PROGRAM" "${IN_ORDER[@]}" "$@"
}

@test "exported: the transformer's arrays are the windows of its text" {
  python3 - "$EXAMPLES/transformer" <<'PY'
import sys
text = open(sys.argv[1] + "/sonnets.txt", "rb").read()
rows = b""
for name in ("train", "test"):
    array = open(f"{sys.argv[1]}/{name}_text.npy", "rb").read()
    assert b"'|u1'" in array[:128] and b", 65)" in array[:128], array[:128]
    rows += array[128:]
count = len(rows) // 65
assert count == (len(text) - 1) // 64 and len(rows) == 65 * count
assert all(rows[65 * i:65 * i + 65] == text[64 * i:64 * i + 65] for i in range(count))
PY
}

@test "exported: the transformer has the losses of JAX, on one device, on two and on four" {
  PROGRAM=$EXAMPLES/transformer/program.json
  in_order 50
  trains
  losses_follow "$EXAMPLES/transformer/jax-losses.json"
  for devices in 2 4; do
    trains --strategy mirrored --devices $devices --set train.replicas=split
    losses_follow "$EXAMPLES/transformer/jax-losses.json"
    # Each with a batch of its own: together they are the same sixteen rows.
    trains --strategy mirrored --devices $devices --set "datasets.train[3].batch.size=$((16 / devices))"
    losses_follow "$EXAMPLES/transformer/jax-losses.json"
  done
}

@test "exported: the transformer has the losses of JAX under a coordinator with one worker, and its loss of the test text" {
  PROGRAM=$EXAMPLES/transformer/program.json
  in_order 50
  coordinates 1 --set 'train.evaluate={"function": "eval_step"}'
  losses_follow "$EXAMPLES/transformer/jax-losses.json"
  jq -es --slurpfile recorded "$EXAMPLES/transformer/jax-losses.json" '.[-1].eval.loss - $recorded[0].test_loss | fabs < 1e-3' <<<"$output"
}

@test "exported: the transformer learns, with three asynchronous workers too" {
  PROGRAM=$EXAMPLES/transformer/program.json
  run -0 --separate-stderr timeout 120 tfd-run -q "$PROGRAM" </dev/null
  jq -es '.[-1].step == 400 and .[-1].eval.loss < 2.5 and .[-1].eval.accuracy > 0.28' <<<"$output"
  run -0 --separate-stderr timeout 120 tfd-serve --jobs worker=3,ps=2 -- tfd-coordinate -q "$PROGRAM"
  jq -es '.[-1].step == 400 and .[-1].eval.loss < 2.6' <<<"$output"
}

@test "exported: the CNN has the losses of Keras, with batch normalization and dropout, on one device, on two and on four" {
  PROGRAM=$EXAMPLES/cnn/program.json
  in_order 50
  trains --set 'train.evaluate={"function": "eval_step"}'
  losses_follow "$EXAMPLES/cnn/keras-losses.json"
  jq -es --slurpfile recorded "$EXAMPLES/cnn/keras-losses.json" '.[-1].eval as $ours | $recorded[0] |
    (.test_loss - $ours.loss | fabs < 1e-3) and (.test_accuracy - $ours.accuracy | fabs < 0.005)' <<<"$output"
  for devices in 2 4; do
    trains --strategy mirrored --devices $devices --set train.replicas=split
    losses_follow "$EXAMPLES/cnn/keras-losses.json" losses_of_$devices
    trains --strategy mirrored --devices $devices --set "datasets.train[3].batch.size=$((64 / devices))"
    losses_follow "$EXAMPLES/cnn/keras-losses.json" losses_of_$devices
  done
}

@test "exported: the CNN has the losses of Keras under a coordinator with one worker, and two workers lose no moving average" {
  PROGRAM=$EXAMPLES/cnn/program.json
  in_order 50
  coordinates 1
  losses_follow "$EXAMPLES/cnn/keras-losses.json"
  [[ $stderr != *"updates of other workers are lost"* ]]
  run -0 --separate-stderr timeout 120 tfd-serve --jobs worker=2,ps=1 -- tfd-coordinate -q "$PROGRAM"
  jq -es '.[-1].step == 600 and .[-1].eval.accuracy > 0.95' <<<"$output"
}

@test "exported: the CNN predicts ten numbers for each image, of which the largest is mostly the label" {
  PROGRAM=$EXAMPLES/cnn/program.json
  tfd-run -q "$PROGRAM" --set train.checkpoint.dir=ck </dev/null >events
  tfd-run -q "$PROGRAM" --checkpoint ck --predict predict --dataset test </dev/null | jq -c 'index(max)' >guesses
  cut -d, -f65 "$EXAMPLES/digits/digits-test.csv" | paste - guesses | awk '$1 == $2 { right++ } END { print right, NR; exit !(NR == 355 && right > 0.95 * NR) }'
}

# A program of the digits on one device, on two and four, and under a coordinator, with a recorded loss of the test images.
is_trained_alike() { # EXAMPLE FILE
  local devices recorded=$EXAMPLES/$1/$2
  PROGRAM=$EXAMPLES/$1/program.json
  in_order 50
  trains --set 'train.evaluate={"function": "eval_step"}'
  losses_follow "$recorded"
  jq -es --slurpfile recorded "$recorded" '.[-1].eval.loss - $recorded[0].test_loss | fabs < 1e-3' <<<"$output"
  for devices in 2 4; do
    trains --strategy mirrored --devices $devices --set train.replicas=split
    losses_follow "$recorded"
  done
  coordinates 1
  losses_follow "$recorded"
  run -0 --separate-stderr timeout 60 tfd-run -q "$PROGRAM" </dev/null
  jq -es '.[-1].step == 600 and .[-1].eval.accuracy > 0.93' <<<"$output"
}

@test "exported: the MLP has the losses of PyTorch, on one device, on two and on four, and under a coordinator" {
  is_trained_alike mlp torch-losses.json
}

@test "exported: the linear model has the losses of TensorFlow, on one device, on two and on four, and under a coordinator" {
  is_trained_alike softmax tensorflow-losses.json
}

@test "exported: products that are cut over two cores have the losses of JAX, on one replica, on two and on four, and whole" {
  PROGRAM=$EXAMPLES/matmul/program.json
  local recorded=$EXAMPLES/matmul/jax-losses.json replicas cores=(--strategy tpu --computation-shape 1,1,1,2 --spmd)
  in_order 50
  trains "${cores[@]}" --topology 1x1x1x2 --set 'train.evaluate={"function": "eval_step"}'
  losses_follow "$recorded"
  jq -es --slurpfile recorded "$recorded" '.[-1].eval.loss - $recorded[0].test_loss | fabs < 1e-3' <<<"$output"
  for replicas in 2 4; do
    trains "${cores[@]}" --topology 2x2x1x2 --num-replicas $replicas --set train.replicas=split
    losses_follow "$recorded"
  done
  # The shardings are the program's only word of cores.
  trains --ignore-sharding
  losses_follow "$recorded"
  coordinates 1 --ignore-sharding
  losses_follow "$recorded"
  run -65 --separate-stderr tfd-run "$EXAMPLES/matmul/program.json" </dev/null
  [[ $stderr == *"needs 2 logical devices per replica, but a replica has one here"* ]]
}
