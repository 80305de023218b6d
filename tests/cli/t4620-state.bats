#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# State that functions read and assign: counters and a batch normalization under asynchronous workers, values of each replica.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

MODULES=${TFD_SOURCE:-$BATS_TEST_DIRNAME/../..}/tests/golden/modules

# n becomes n + 1 in every step; $1 is what else the output says, $2 what else the variable does, $3 what else train does.
counter_program() { # OUTPUT, VARIABLE, TRAIN
  cat >count.mlir <<'MLIR'
module @count {
  func.func public @main(%n: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %n, %one : tensor<i32>
    %read = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
    return %read, %next : tensor<f32>, tensor<i32>
  }
}
MLIR
  cat >program.json <<JSON
{"v": 1,
 "variables": {"n": {"shape": [], "dtype": "s32", "init": {"zeros": {}} ${2:-}}},
 "functions": {"count": {"module": "count.mlir", "inputs": [{"variable": "n"}],
                         "outputs": [{"metric": "read"}, {"assign": "n" ${1:-}}]}},
 "train": {"function": "count", "steps": 400, "checkpoint": {"dir": "ck", "keep": 0 ${3:-}}}}
JSON
}

# The variable $2 in checkpoint $1, a number for each element.
saved() { # FILE NAME
  python3 - "$1" "$2" <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
one = json.loads(data[8:8 + size])[sys.argv[2]]
begin, end = one["data_offsets"]
form = {"F32": "f", "I32": "i"}[one["dtype"]]
print(*struct.unpack(f"<{(end - begin) // 4}{form}", data[8 + size + begin:8 + size + end]))
PY
}

WARNING="outputs[1]: 'n' is read and assigned by every worker: updates of other workers are lost; set \"apply\" to \"difference\" (add what changed) or \"last\" (overwrite)"

@test "state: a counter that says difference is exact, on two and on four workers" {
  counter_program ', "apply": "difference"'
  for workers in 2 4; do
    run -0 --separate-stderr timeout 60 tfd-serve --jobs "worker=$workers,ps=1" -- tfd-coordinate program.json --set "train.checkpoint.dir=w$workers"
    [[ $stderr != *"read and assigned"* ]]
    [ "$(saved "w$workers/step-00000400.safetensors" n)" = 400 ]
  done
}

@test "state: a counter that says difference is exact on workers without a coordinator, too" {
  counter_program ', "apply": "difference"'
  cluster_of 2 1
  two_workers program.json
  both_end
  local step
  step=$(last worker:0 .step)
  [ "$(saved "ck/$(printf 'step-%08d' "$step").safetensors" n)" = "$step" ]
  run ! grep "read and assigned" worker:0.talk worker:1.talk
}

@test "state: what is read and assigned without a word is told before the start, where there are several workers" {
  counter_program
  serve --jobs worker=2,ps=1
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  [[ $stderr == *": program.json: functions.count.$WARNING"* ]]
  [ "$(grep -c "read and assigned" <<<"$stderr")" = 1 ]
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --closures - <<<'{"op": "schedule", "function": "count"}'
  [[ $stderr == *": program.json: functions.count.$WARNING"* ]]
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --set 'functions.count.outputs[1].apply=last' --set train.checkpoint.dir=other
  [[ $stderr != *"read and assigned"* ]]
  run -0 --separate-stderr timeout 60 tfd-serve --jobs worker=1,ps=1 -- tfd-coordinate program.json --set train.checkpoint.dir=alone
  [[ $stderr != *"read and assigned"* ]]
  [ "$(saved alone/step-00000400.safetensors n)" = 400 ]
}

@test "state: --check tells it, too: of workers that it can't count, and of those that it can" {
  counter_program
  run -0 --separate-stderr tfd-coordinate --check program.json </dev/null
  [[ $stderr == *"outputs[1]: 'n' is read and assigned by every worker: with more than one worker, updates of other workers are lost"* ]]
  run -0 --separate-stderr tfd-run --check program.json --cluster none </dev/null
  [[ $stderr != *"read and assigned"* ]]
  echo '{"cluster": {"worker": ["a:1", "b:1"], "ps": ["c:1"]}, "task": {"type": "worker", "index": 1}}' >spec.json
  run -0 --separate-stderr tfd-run --check program.json --cluster spec.json </dev/null
  [[ $stderr == *": program.json: functions.count.$WARNING"* ]]
  run -65 --separate-stderr tfd-coordinate --check program.json --set 'functions.count.outputs[1].apply=sum' </dev/null
  [[ $stderr == *"functions.count.outputs[1].apply: must be difference or last, not 'sum'"* ]]
}

batch_norm_program() {
  cp "$MODULES"/batch_norm_{step,eval}.mlir .
  # Batches of 32, each of which has the same mean and variance: rows in pairs around a mean that isn't 0.
  python3 - <<'PY'
import random
draw = random.Random(3)
with open("rows.csv", "w") as file:
  base = [[draw.gauss(0, 1) for _ in range(4)] for _ in range(16)]
  for _ in range(8):
    draw.shuffle(base)
    for row in base:
      for sign in 1, -1:
        x = [sign * value * (i + 1) + 5 * i - 3 for i, value in enumerate(row)]
        print(*x, sum(x) / 10, sep=",", file=file)
PY
  cat >program.json <<'JSON'
{"v": 1,
 "variables": {
   "bn/gamma": {"shape": [4], "init": {"ones": {}}}, "bn/beta": {"shape": [4], "init": {"zeros": {}}},
   "hidden/kernel": {"shape": [4, 8], "init": {"glorot_uniform": {"seed": 1}}}, "hidden/bias": {"shape": [8], "init": {"zeros": {}}},
   "out/kernel": {"shape": [8, 1], "init": {"glorot_uniform": {"seed": 2}}}, "out/bias": {"shape": [1], "init": {"zeros": {}}},
   "bn/moving_mean": {"shape": [4], "init": {"zeros": {}}, "trainable": false},
   "bn/moving_variance": {"shape": [4], "init": {"ones": {}}, "trainable": false}},
 "optimizer": {"sgd": {"learning_rate": 0.02}},
 "datasets": {"rows": [{"csv": {"path": "rows.csv", "fields": {"x": {"columns": [0, 4], "dtype": "f32"}, "y": {"columns": 4, "dtype": "f32"}}}},
                       {"batch": {"size": 32, "drop_remainder": true}}, {"repeat": {}}],
              "test": [{"csv": {"path": "rows.csv", "fields": {"x": {"columns": [0, 4], "dtype": "f32"}, "y": {"columns": 4, "dtype": "f32"}}}},
                       {"batch": {"size": 32, "drop_remainder": true}}]},
 "functions": {
   "step": {"module": "batch_norm_step.mlir", "inputs": [{"variables": "*"}, {"dataset": "rows", "field": "x"}, {"dataset": "rows", "field": "y"}],
            "outputs": [{"metric": "loss"}, {"gradients": "*"}, {"assign": "bn/moving_*", "apply": "difference"}]},
   "eval": {"module": "batch_norm_eval.mlir", "inputs": [{"variables": "*"}, {"dataset": "test", "field": "x"}, {"dataset": "test", "field": "y"}],
            "outputs": [{"metric": "loss", "part": "numerator"}, {"metric": "loss", "part": "denominator"}]}},
 "train": {"function": "step", "steps": 80, "checkpoint": {"dir": "ck"}, "evaluate": {"function": "eval"}}}
JSON
}

# The moving averages $1 are those of $2, as far as they can be where $3 other workers step: a step adds 5 % of the way, and the
# others may each add one at the end that they began when the averages were 0.
close_to() { # AVERAGES AVERAGES OTHERS
  python3 - "$@" <<'PY'
import sys
one, other = ([float(x) for x in text.split()] for text in sys.argv[1:3])
limit = 0.02 + 0.05 * int(sys.argv[3])
print(one, other, limit)
assert all(abs(a - b) <= limit * max(abs(b), 1) for a, b in zip(one, other, strict=True))
PY
}

@test "state: a Keras batch normalization has the averages of one worker, on two and on four" {
  batch_norm_program
  local name
  for workers in 1 2 4; do
    run -0 --separate-stderr timeout 120 tfd-serve --jobs "worker=$workers,ps=2" -- tfd-coordinate program.json --set "train.checkpoint.dir=w$workers"
    jq -es 'last | .reason == "done" and .eval.loss < 0.5' <<<"$output"
    for name in bn/moving_mean bn/moving_variance; do
      close_to "$(saved "w$workers/step-00000080.safetensors" $name)" "$(saved w1/step-00000080.safetensors $name)" $((workers - 1))
    done
  done
  # And that of one is what an overwriting one has.
  run -0 --separate-stderr timeout 120 tfd-serve --jobs worker=1,ps=2 -- tfd-coordinate program.json --set train.checkpoint.dir=last --set 'functions.step.outputs[2].apply=last'
  [[ $stderr != *"read and assigned"* ]]
  close_to "$(saved last/step-00000080.safetensors bn/moving_mean)" "$(saved w1/step-00000080.safetensors bn/moving_mean)" 0
}

@test "state: that several replicas make another training is said once, before it starts" {
  batch_norm_program
  local set=(--set train.steps=2 --set train.checkpoint=null --set train.evaluate=null) own
  local seen="program.json: functions.step: each of 2 replicas computes 'bn/moving_mean' and 1 more from its own examples, not from the whole batch"
  run -0 --separate-stderr tfd-run program.json "${set[@]}" --devices 2
  [ "$(grep -c "$seen" <<<"$stderr")" = 1 ]
  run -0 --separate-stderr tfd-run -q program.json "${set[@]}" --devices 2
  [ -z "$stderr" ]
  run -0 --separate-stderr tfd-run program.json "${set[@]}"
  [[ $stderr != *"replicas"* ]]
  run -0 --separate-stderr timeout 120 tfd-serve --jobs worker=2,ps=1 -- tfd-coordinate program.json "${set[@]}"
  [ "$(grep -c "$seen" <<<"$stderr")" = 1 ]
  # A step that has no gradients left, since it applies them.
  own='[{"metric": "loss"}, {"assign": "bn/gamma", "apply": "difference"}, {"assign": "bn/beta", "apply": "difference"},
    {"assign": "hidden/kernel", "apply": "difference"}, {"assign": "hidden/bias", "apply": "difference"}, {"assign": "out/kernel", "apply": "difference"},
    {"assign": "out/bias", "apply": "difference"}, {"assign": "bn/moving_*", "apply": "difference"}]'
  run -0 --separate-stderr tfd-run program.json "${set[@]}" --devices 2 --set "functions.step.outputs=$own"
  [[ $stderr == *"program.json: functions.step: it assigns 'bn/gamma' and 7 more itself, so 2 replicas train 2 copies, whose changes are then combined"* ]]
}

@test "state: synchronized on read each replica counts by itself, and checkpoints have the sum" {
  counter_program "" ', "synchronization": "on_read", "aggregation": "sum"' ', "every": 1'
  serve --jobs worker=1,ps=1 --devices 2
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --set train.steps=4 --keep-servers
  for step in 1 2 3 4; do [ "$(saved "ck/step-0000000$step.safetensors" n)" = $((2 * step)) ]; done
  run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --ordered --closures - <<'LINES'
{"op": "restore", "path": "ck"}
{"op": "read", "variable": "n"}
{"op": "schedule", "function": "count", "replicas": "each"}
{"op": "join"}
{"op": "read", "variable": "n"}
{"op": "assign", "variable": "n", "value": 7}
{"op": "read", "variable": "n"}
LINES
  [ "$(jq -c 'select(has("value") and .value != null) | .value' <<<"$output" | paste -sd' ')" = "8 10 6" ]
  # In one process, by another number of replicas: three go on from 8 as 2 each.
  run -0 --separate-stderr timeout 60 tfd-run program.json --cluster none --replicas 3 --set train.steps=6 </dev/null
  [ "$(saved ck/step-00000005.safetensors n) $(saved ck/step-00000006.safetensors n)" = "9 12" ]
}

@test "state: what several replicas can't do with a value of each is refused before the start" {
  counter_program "" ', "synchronization": "on_read", "aggregation": "none"'
  serve --jobs worker=1,ps=1 --devices 2
  run -65 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json
  [[ $stderr == *"program.json: variables.n: is synchronized on read without an aggregation, so the values of 2 replicas can't be combined for checkpoints; set 'aggregation'"* ]]
  run -65 --separate-stderr timeout 60 tfd-run program.json --cluster none --replicas 2 </dev/null
  [[ $stderr == *"variables.n: is synchronized on read without an aggregation"* ]]
  run -0 --separate-stderr timeout 60 tfd-run program.json --cluster none --set train.steps=3 </dev/null
}
