#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How a training ends, what it counts on the way, and state that isn't trained.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# Ten numbers in batches of four, the last one of two. Each step's loss is the batch's mean; "state" takes the mean of
# every batch, "seen" counts examples; "share" is the ratio of values above 4 to all.
counting_batches() { # TRAIN, JSON
  local size
  for size in 4 2; do
    cat >"$T/batch_$size.mlir" <<MLIR
module @batch {
  func.func public @main(%x: tensor<${size}xf32>) -> (tensor<f32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<f32>) {
$(mean_of_batch $size)
    %examples = stablehlo.constant dense<$size> : tensor<i32>
    %four = stablehlo.constant dense<4.0> : tensor<${size}xf32>
    %0 = stablehlo.compare GT, %x, %four : (tensor<${size}xf32>, tensor<${size}xf32>) -> tensor<${size}xi1>
    %1 = stablehlo.convert %0 : (tensor<${size}xi1>) -> tensor<${size}xf32>
    %above = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<${size}xf32>, tensor<f32>) -> tensor<f32>
    return %mean, %mean, %examples, %above, %count : tensor<f32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<f32>
  }
}
MLIR
  done
  cat >"$T/program.json" <<JSON
{"v": 1,
 "variables": {"state": {"shape": [], "init": {"zeros": {}}, "trainable": false},
               "seen": {"shape": [], "dtype": "s32", "init": {"zeros": {}}}},
 "datasets": {"numbers": [{"tensor_slices": {"fields": {"x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]}}}, {"batch": 4}]},
 "functions": {"step": {"module": ["batch_4.mlir", "batch_2.mlir"], "inputs": {"x": {"dataset": "numbers"}},
   "outputs": [{"metric": "mean"}, {"assign": "state"}, {"assign_add": "seen"},
               {"metric": "share", "part": "numerator"}, {"metric": "share", "part": "denominator"}],
   "returns": ["seen"]},
  "look": {"module": ["batch_4.mlir", "batch_2.mlir"], "inputs": {"x": {"dataset": "numbers"}},
   "outputs": [{"metric": "mean"}, {"result": 0}, {"result": 1}, {"metric": "share", "part": "numerator"}, {"metric": "share", "part": "denominator"}]}},
 "train": $1}
JSON
}

@test "end reasons: without steps a training ends with its data, exit 0, and its metrics are of all examples alike" {
  counting_batches '{"function": "step"}'
  serve --jobs worker=1,ps=1
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  jq -es 'last | .event == "end" and .reason == "end_of_data" and .step == 3 and .metrics.mean == 4.5 and .metrics.share == 0.5' <<<"$output"
}

@test "end reasons: data that end before the steps that were promised are an error that says how many there were" {
  counting_batches '{"function": "step", "steps": 5}'
  serve --jobs worker=1,ps=1
  run -65 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json
  [[ $stderr == *"the data ended at step 3 of 5"*"repeat the dataset, or lower train.steps"* ]]
  jq -es 'last | .event == "end" and .reason == "error" and .step == 3' <<<"$output"
}

@test "end reasons: epochs are so many passes, whatever the last batch, and a checkpoint within goes on" {
  counting_batches '{"function": "step", "epochs": 4, "log_every": 3, "checkpoint": {"dir": "ck", "every": 5}}'
  serve --jobs worker=1,ps=1
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  [ "$(jq -c 'select(.event == "step") | [.step, .metrics.mean, .metrics.share]' <<<"$output" | paste -sd' ')" = "[3,4.5,0.5] [6,4.5,0.5] [9,4.5,0.5] [12,4.5,0.5]" ]
  jq -es 'last | .reason == "done" and .step == 12' <<<"$output"
  printf '%s\n' '{"op": "restore", "path": "ck"}' '{"op": "read", "variable": "seen"}' '{"op": "read", "variable": "state"}' >closures
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --ordered --closures closures
  jq -es '.[0].step == 12 and .[1].value == 40 and .[2].value == 8.5' <<<"$output"
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json
  [[ $stderr == *"already at step 12 of 12"* ]]
}

@test "end reasons: max_time is an end like any other, with a checkpoint" {
  counting_batches '{"function": "step", "steps": 100000000, "max_time": "300ms", "checkpoint": {"dir": "ck"}}'
  serve --jobs worker=1,ps=1
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json \
    --set 'datasets.numbers=[{"tensor_slices": {"fields": {"x": [1.0, 2.0, 3.0, 4.0]}}}, {"repeat": {}}, {"batch": 4}]'
  jq -es 'last | .event == "end" and .reason == "max_time" and .step > 0' <<<"$output"
  [ -n "$(ls ck/step-*.safetensors)" ]
}

@test "end reasons: an evaluation is one exact pass, by several workers too, unless it states its steps" {
  counting_batches '{"function": "step", "steps": 2, "evaluate": {"function": "look"}}'
  serve --jobs worker=2,ps=1
  train=(timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers)
  run -0 --separate-stderr "${train[@]}"
  jq -es '.[] | select(.event == "eval") | .metrics.mean == 4.5 and .metrics.share == 0.5' <<<"$output"
  run -0 --separate-stderr "${train[@]}" --set train.evaluate.steps=1
  jq -es '.[] | select(.event == "eval") | .metrics.mean == 1.5 and .metrics.share == 0' <<<"$output"
}

@test "end reasons: what a call returns is its results, then the variables after its updates" {
  counting_batches '{"function": "step", "steps": 2}'
  serve --jobs worker=1,ps=1
  printf '%s\n' '{"op": "schedule", "function": "step"}' '{"op": "schedule", "function": "step"}' '{"op": "schedule", "function": "look"}' >closures
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --ordered --closures closures
  jq -es 'map(.value) == [4, 8, [8.5, 2]]' <<<"$output"
}

@test "state: of several replicas floats become the mean, integers the first replica's, or what the variable says" {
  counting_batches '{"function": "step", "steps": 1, "checkpoint": {"dir": "ck"}}'
  train=(timeout 60 tfd-run program.json --strategy parameter-server --replicas 2)
  read_both() {
    tfd-resolve local --jobs worker=1,ps=1 | tfd-serve 2>/dev/null | timeout 60 tfd-coordinate -q program.json --ordered --closures <(
      printf '%s\n' '{"op": "restore", "path": "ck"}' '{"op": "read", "variable": "state"}' '{"op": "read", "variable": "seen"}'
    ) | jq -s -c 'map(.value)[1:]'
  }
  run -0 --separate-stderr "${train[@]}"
  jq -es '. == [3.5, 4]' <<<"$(read_both | jq '.[]')"
  rm -r ck
  run -0 --separate-stderr "${train[@]}" --set variables.state.aggregation=sum --set variables.seen.aggregation=sum
  jq -es '. == [7, 8]' <<<"$(read_both | jq '.[]')"
}
