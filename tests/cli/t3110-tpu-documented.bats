#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Promises of the page of tf.distribute.TPUStrategy, one test each, on CPU devices in place of the cores of a TPU.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

tpu() { run "$1" --separate-stderr timeout 60 tfd-run program.json --strategy tpu "${@:2}" </dev/null; }

# A linear model of 5 features, its loss the mean of squares; a module for each number of rows that a replica may have.
# Its variables begin at 1; x and y are the same for everybody.
linear_program() { # REPLICAS-MODE
  local rows
  for rows in 8 4 2 1; do
    sed "s/ROWS/$rows/g" >"step$rows.mlir" <<'M'
module @step {
  func.func public @main(%w: tensor<5xf32>, %x: tensor<ROWSx5xf32>, %y: tensor<ROWSxf32>) -> (tensor<f32>, tensor<5xf32>) {
    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<ROWSx5xf32>, tensor<5xf32>) -> tensor<ROWSxf32>
    %d = stablehlo.subtract %p, %y : tensor<ROWSxf32>
    %s = stablehlo.multiply %d, %d : tensor<ROWSxf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<ROWSxf32>, tensor<f32>) -> tensor<f32>
    %rows = stablehlo.constant dense<ROWS.0> : tensor<f32>
    %loss = stablehlo.divide %sum, %rows : tensor<f32>
    %g = stablehlo.dot_general %d, %x, contracting_dims = [0] x [0] : (tensor<ROWSxf32>, tensor<ROWSx5xf32>) -> tensor<5xf32>
    %scale = stablehlo.broadcast_in_dim %rows, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %grad = stablehlo.divide %g, %scale : tensor<5xf32>
    return %loss, %grad : tensor<f32>, tensor<5xf32>
  }
}
M
  done
  jq -n --arg replicas "$1" '{v: 1, variables: {w: {shape: [5], init: {ones: {}}}}, optimizer: {sgd: {learning_rate: 0.05, momentum: 0.9}},
    datasets: {points: [{tensor_slices: {fields: {x: [range(16) as $i | [range(5) as $j | (($i * 7 + $j * 3) % 11) / 11]], y: [range(16) | (. % 5) / 5]}}},
                        {repeat: {}}, {batch: {size: 8, drop_remainder: true}}]},
    functions: {step: {module: ["step8.mlir", "step4.mlir", "step2.mlir", "step1.mlir"],
                       inputs: [{variable: "w"}, {dataset: "points", field: "x"}, {dataset: "points", field: "y"}],
                       outputs: [{metric: "loss", reduce: "mean"}, {gradient: "w"}]}},
    train: {function: "step", steps: 25, log_every: 25, replicas: $replicas}}' >program.json
}

loss() { jq -c 'select(.event == "end") | .metrics.loss' <<<"$output"; }
is_close() { # A B
  jq -en --argjson a "$1" --argjson b "$2" '(($a - $b) / $b) | fabs < 2e-6'
}

@test "TPUStrategy: synchronous training: 1, 2, 4 and 8 cores that share a batch give the same" {
  linear_program split
  tpu -0 --topology 1x1x1x1
  local one cores
  one=$(loss)
  for cores in 1x1x1x2 2x1x1x2 2x2x1x2; do
    tpu -0 --topology $cores
    is_close "$(loss)" "$one"
  done
}

@test "TPUStrategy: variables are replicated on all cores and kept in sync" {
  linear_program split
  tpu -0 --topology 2x2x1x2 --set 'train.checkpoint={"dir": "eight"}'
  run -0 --separate-stderr timeout 60 tfd-run program.json --set 'train.checkpoint={"dir": "one"}' </dev/null
  # A checkpoint of eight cores continues on one, and the other way round.
  tpu -0 --topology 1x1x1x1 --set 'train.checkpoint={"dir": "eight"}' --set train.steps=50
  local one
  one=$(loss)
  tpu -0 --topology 2x2x1x2 --set 'train.checkpoint={"dir": "one"}' --set train.steps=50
  is_close "$(loss)" "$one"
}

@test "TPUStrategy: num_replicas_in_sync is the number of cores, or what the device assignment says" {
  linear_program each
  tpu -0 --topology 2x2x1x2 --explain --json
  [ "$(jq .replicas <<<"$output")" = 8 ]
  tpu -0 --topology 2x2x1x2 --computation-shape 1,1,1,2 --num-replicas 3 --spmd --explain --json
  [ "$(jq -c '[.replicas, .logical_devices]' <<<"$output")" = '[3,2]' ]
}

@test "TPUStrategy: extended knows the devices: the first core of each replica" {
  doubling_program
  tpu -0 --topology 2x2x1x2 --computation-shape 1,1,1,2 --num-replicas 3 --function double --dataset '[{"range": 3}, {"batch": 3}]' -v
  [ "$output" = '{"0":[0],"1":[2],"2":[4]}' ]
  local core=/job:localhost/replica:0/task:0/device:TPU
  [[ $stderr == *"tpu: 3 replicas on $core:0, $core:2, $core:4, variables on $core:0, $core:2, $core:4"* ]]
}

@test "TPUStrategy: with two logical devices and one replica, an operation is assigned to logical device 0" {
  doubling_program
  local assigned=(--topology 2x2x1x2 --computation-shape 1,1,1,2 --num-replicas 1 --function double --dataset '[{"range": 3}, {"batch": 1}]')
  tpu -0 "${assigned[@]}" --set 'functions.double.outputs[0].sharding={"assign": 0}'
  [ "$output" = $'{"0":[0]}\n{"0":[2]}\n{"0":[4]}' ]
  tpu -65 "${assigned[@]}" --set 'functions.double.outputs[0].sharding={"assign": 2}'
  [[ $stderr == *"needs 3 logical devices per replica, but a replica has 2 here"* ]]
}

@test "TPUStrategy: in SPMD mode to assign to a logical device is an error, to split and to replicate isn't" {
  doubling_program
  sed -i 's/tensor<1xi64>/tensor<2xi64>/g' double.mlir
  local spmd=(--topology 2x2x1x2 --computation-shape 1,1,1,2 --num-replicas 1 --spmd --function double --dataset '[{"range": 4}, {"batch": 2}]')
  tpu -65 "${spmd[@]}" --set 'functions.double.inputs[0].sharding={"assign": 0}'
  [[ $stderr == *"nothing is assigned to a logical device under SPMD partitioning"* ]]
  local how
  for how in '{"split": [2]}' '"replicate"'; do
    tpu -0 "${spmd[@]}" --set "functions.double.inputs[0].sharding=$how"
    [ "$output" = $'{"0":[0,2]}\n{"0":[4,6]}' ]
  done
}

@test "TPUStrategy: distribute_datasets_from_function: each core has batches of its own; experimental_distribute_dataset: they share one" {
  doubling_program
  local run=(--topology 1x1x1x2 --function double --dataset '[{"range": 4}, {"batch": 2}]')
  tpu -0 "${run[@]}"
  [ "$output" = $'{"0":[0],"1":[2]}\n{"0":[4],"1":[6]}' ]
  linear_program each
  tpu -0 --topology 1x1x1x2 --set 'datasets.points[1]={"take": 16}' --set train.steps=null
  jq -es '.[-1].reason == "end_of_data" and .[-1].step == 1' <<<"$output" # two batches of 8, one for each core
  linear_program split
  tpu -0 --topology 1x1x1x2 --set 'datasets.points[1]={"take": 16}' --set train.steps=null
  jq -es '.[-1].reason == "end_of_data" and .[-1].step == 2' <<<"$output"
}

@test "TPUStrategy: run returns a value of each core; reduce and gather make one of them" {
  doubling_program
  local run=(--topology 2x1x1x2 --function double --dataset '[{"range": 4}, {"batch": 4}]')
  tpu -0 "${run[@]}"
  [ "$output" = '{"0":[0],"1":[2],"2":[4],"3":[6]}' ]
  tpu -0 "${run[@]}" --reduce sum
  [ "$output" = '[12]' ]
  tpu -0 "${run[@]}" --reduce mean --axis 0
  [ "$output" = '3.0' ]
  tpu -0 "${run[@]}" --gather 0
  [ "$output" = '[0,2,4,6]' ]
}

@test "TPUStrategy: a training loop of one's own, as on the page: two features of a batch of 1" {
  linear_program each
  tpu -0 --topology 1x1x1x2 --set 'datasets.points[2].batch={"size": 1, "drop_remainder": true}' --set train.steps=100
  jq -es '.[-1].reason == "done" and .[-1].metrics.loss < 0.2' <<<"$output"
}
