#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-serve --devices: workers with several devices, each of which runs a replica of a training step.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# w moves by the mean of a batch's x; `who` is the replica's number and their count. Batches of one and of two.
replicas_program() { # TRAIN, BATCH
  local size
  for size in 1 2; do
    cat >"$T/step$size.mlir" <<MLIR
module @step {
  func.func public @main(%x: tensor<${size}xf32>) -> (tensor<f32>, tensor<f32>) {
$(mean_of_batch $size)
    return %mean, %mean : tensor<f32>, tensor<f32>
  }
}
MLIR
  done
  cat >"$T/who.mlir" <<'MLIR'
module @who {
  func.func public @main(%r: tensor<i32>, %n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %tens = stablehlo.multiply %ten, %n : tensor<i32>
    %both = stablehlo.add %tens, %r : tensor<i32>
    return %both, %r : tensor<i32>, tensor<i32>
  }
}
MLIR
  cat >"$T/program.json" <<JSON
{"v": 1,
 "variables": {"w": {"shape": [], "init": {"zeros": {}}},
               "first": {"shape": [], "dtype": "s32", "init": {"zeros": {}}, "aggregation": "sum"}},
 "optimizer": {"sgd": {"learning_rate": 1}},
 "datasets": {"ten": [{"tensor_slices": {"fields": {"x": {"dtype": "f32", "shape": [10], "data": [0,1,2,3,4,5,6,7,8,9]}}}},
                      {"batch": {"size": $2}}]},
 "functions": {"step": {"module": ["step1.mlir", "step2.mlir"], "inputs": [{"dataset": "ten", "field": "x"}],
                        "outputs": [{"metric": "mean"}, {"gradient": "w"}]},
               "eval": {"module": ["step1.mlir", "step2.mlir"], "inputs": [{"dataset": "ten", "field": "x"}],
                        "outputs": [{"metric": "mean"}, {"metric": "again"}]},
               "who": {"module": "who.mlir", "inputs": ["replica_id", "num_replicas"],
                       "outputs": [{"result": 0}, {"assign_add": "first"}]}},
 "train": $1}
JSON
}

@test "replicas: a step takes a batch for each device, and all data are used" {
  replicas_program '{"function": "step", "log_every": 1, "evaluate": {"function": "eval"}}' 2
  serve --jobs worker=1,ps=1 --devices 2
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  # [0 1] [2 3], [4 5] [6 7], and [8 9] alone: the mean of what each step saw.
  [ "$(jq -c 'select(.event == "step") | [.step, .metrics.mean]' <<<"$output" | paste -sd' ')" = "[1,1.5] [2,5.5] [3,8.5]" ]
  jq -es 'last | .reason == "end_of_data" and .step == 3 and .eval.again == 4.5' <<<"$output"
  jq -es '.[0] | .event == "start" and .workers == 1 and .expected_workers == 1 and .replicas == 2' <<<"$output"
  run -0 tfd-status --cluster spec.json --json
  jq -e '.tasks[] | select(.task == "worker:0") | .devices == ["cpu:0", "cpu:1"]' <<<"$output"
  run -0 env TFD_COLUMNS=200 python3 "$BATS_TEST_DIRNAME/terminal.py" xterm tfd-status --cluster spec.json
  [[ $output == *"cpu:0,cpu:1"* ]]
}

@test "replicas: they split a batch, as equally as can be" {
  replicas_program '{"function": "step", "log_every": 1, "replicas": "split"}' 3
  serve --jobs worker=1,ps=1 --devices 2
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --set functions.eval=null
  # [0 1] [2], [3 4] [5], [6 7] [8], and [9] on one replica.
  jq -es 'map(select(.event == "step").metrics.mean) == [1, 4, 7, 9]' <<<"$output"
}

@test "replicas: an epoch is one pass over the data, however many devices share it, and it is over for the same command" {
  replicas_program '{"function": "step", "epochs": 4, "log_every": 100, "checkpoint": {"dir": "ck"}}' 2
  serve --jobs worker=1,ps=1 --devices 2
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  jq -es 'last | .reason == "done" and .step == 10' <<<"$output"  # twenty elements, two a step
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  jq -es 'last | .reason == "nothing_left" and .step == 10' <<<"$output"
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --set train.epochs=6
  jq -es 'last | .reason == "done" and .step == 15' <<<"$output"
}

@test "replicas: one device learns what several do, where they see the same data" {
  serve --jobs worker=1,ps=1 --devices 4
  run -0 --separate-stderr timeout 60 tfd-coordinate "$EXAMPLES/linear/program.json" --cluster spec.json
  jq -es '.[0].replicas == 4 and (last | .reason == "done" and .step == 200 and .metrics.loss < 0.01)' <<<"$output"
}

@test "replicas: a closure runs once, or on every replica if it says so" {
  replicas_program '{"function": "step", "steps": 1}' 2
  serve --jobs worker=1,ps=1 --devices 3
  run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --ordered --closures - <<'LINES'
{"op": "schedule", "function": "who", "id": "once"}
{"op": "join"}
{"op": "read", "variable": "first"}
{"op": "schedule", "function": "who", "replicas": "each", "id": "all"}
{"op": "join"}
{"op": "read", "variable": "first"}
LINES
  [ "$(jq -c .value <<<"$output" | paste -sd' ')" = "10 null 0 [30,31,32] null 3" ]
  run -1 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --closures - <<<'{"op": "schedule", "function": "who", "replicas": "some"}'
  [[ $output == *"schedule: 'replicas': must be \\\"each\\\" or \\\"split\\\""* ]]
}

@test "replicas: workers that don't have as many devices each are an error that names them" {
  replicas_program '{"function": "step", "steps": 1}' 2
  serve --jobs worker=1,ps=1 --devices 2
  mv spec.json first.json
  tfd-serve --jobs worker=2 --output second.json 2>/dev/null 3>&- 6>&- 7>&- 8>&- 9>&- &
  local other=$!
  run -0 tfd-status --cluster second.json --wait --timeout 30s
  jq -s '{cluster: {worker: [.[0].cluster.worker[0], .[1].cluster.worker[1]], ps: .[0].cluster.ps}}' first.json second.json >both.json
  run -65 --separate-stderr timeout 60 tfd-coordinate program.json --cluster both.json --keep-servers
  kill "$other"
  ends "$other"
  [[ $stderr == *"worker:0 has 2 devices"*"all workers need the same number"* ]]
  [[ $stderr == *"worker:1 has 1 device"* ]]
}

@test "replicas: --devices is a number above 0" {
  run -64 tfd-serve --jobs worker=1,ps=1 --devices 0
  run -64 tfd-serve --jobs worker=1,ps=1 --devices two
}
