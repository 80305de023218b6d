#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy tpu: a mesh of cores, here CPU devices, and which of them runs which replica.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

tpu() { run "$1" --separate-stderr timeout 60 tfd-run program.json --strategy tpu "${@:2}" </dev/null; }
devices() { jq -c 'select(.event == "start") | .devices | map(ltrimstr("cpu:") | tonumber)' <<<"$output"; }

@test "tpu: one replica on each core of the mesh, in their order" {
  counting_program '{"function": "count", "steps": 3}'
  tpu -0 --topology 2x2x1x2
  [ "$(devices)" = '[0,1,2,3,4,5,6,7]' ]
  jq -es '.[0].replicas == 8 and .[-1].reason == "done"' <<<"$output"
}

@test "tpu: replicas are placed as DeviceAssignment.build() does it" {
  counting_program '{"function": "count", "steps": 1}'
  tpu -0 --topology 2x2x2x1 --num-replicas 8 # a ring
  [ "$(devices)" = '[0,1,3,2,6,7,5,4]' ]
  tpu -0 --topology 2x2x1x2 --num-replicas 3 # cores of a chip first
  [ "$(devices)" = '[0,1,2]' ]
  tpu -0 --topology 2x2x1x2 --computation-shape 1,1,1,1
  [ "$(devices)" = '[0]' ]
  echo '[[[1, 1, 0, 1]], [[0, 1, 0, 0]]]' >places.json
  tpu -0 --topology 2x2x1x2 --device-assignment places.json
  [ "$(devices)" = '[7,4]' ]
}

@test "tpu: a step of four cores gives what one of four mirrored devices gives" {
  local seeded=(--set 'datasets.train[1]={"shuffle": {"buffer": 2000, "seed": 7}}' --set train.steps=20 --set train.checkpoint=null
    --set train.evaluate.every=20)
  cp -r "$EXAMPLES"/digits/* .
  tpu -0 --topology 2x1x1x2 "${seeded[@]}"
  local tpu
  tpu=$(jq -c 'select(.event == "eval") | .metrics.loss' <<<"$output")
  run -0 --separate-stderr timeout 60 tfd-run program.json --strategy mirrored --devices 4 "${seeded[@]}" </dev/null
  [ "$(jq -c 'select(.event == "eval") | .metrics.loss' <<<"$output")" = "$tpu" ]
}

@test "tpu: what doesn't fit is said" {
  counting_program '{"function": "count", "steps": 1}'
  refused() { # CODE, WHAT, OPTIONS…
    tpu "-$1" "${@:3}"
    [[ $stderr == *"$2"* ]] || { echo "$stderr"; false; }
  }
  refused 64 "have no coordinates: state the mesh, such as --topology 2x2x1x2"
  refused 64 "--topology 2x2: the shape of the mesh must be 4 positive entries (x, y, z, core), not the 2 of [2 2]" --topology 2x2
  refused 64 "--topology 2x0x1x1" --topology 2x0x1x1
  for shape in 0x2 2x0x1 2x2x2x2 4 2x 99999999999999999999x1; do  # what no plug-in may see
    refused 64 "--topology v5e:$shape: '$shape' must be two or three numbers of chips from 1" --topology "v5e:$shape" --explain
  done
  refused 64 "--topology v5e: state its chips, as in v5e:2x4" --topology v5e --explain
  refused 64 "--topology v6e-12: no accelerator type v6e-N has 12 chips: state the chips, as in v6e:2x4" --topology v6e-12 --explain
  refused 78 "TFD_PJRT_PLUGIN names a plug-in that compiles for it" --topology v6e-8 --explain
  refused 65 "9 replicas are asked for, but only 8 replicas with shape [1 1 1 1]" --topology 2x2x1x2 --num-replicas 9
  refused 65 "does not fit into the mesh [2 2 1 2]" --topology 2x2x1x2 --computation-shape 4,1,1,1
  refused 64 "--device-assignment says what" --topology 2x2x1x2 --device-assignment p.json --num-replicas 2
  echo '[[[1, 1, 0, 1]], [[1, 1, 0, 1]]]' >twice.json
  refused 65 "has the core [1, 1, 0, 1] twice" --topology 2x2x1x2 --device-assignment twice.json
  echo '[[[1, 1, 0]]]' >short.json
  refused 65 "short.json: [0][0]: must be [[[x, y, z, core], …], …]" --topology 2x2x1x2 --device-assignment short.json
  echo '[[[5, 1, 0, 0]]]' >outside.json
  refused 65 "[5 1 0 0] is outside of the mesh [2 2 1 2]" --topology 2x2x1x2 --device-assignment outside.json
  refused 64 "--replicas is for other strategies" --topology 2x2x1x2 --replicas 2
  run -64 --separate-stderr tfd-run program.json --topology 2x2x1x2 </dev/null
  [[ $stderr == *"are for --strategy tpu"* ]]
}

# y = x · w, x split by columns and w by rows: XLA sums what the logical devices have.
matmul_program() {
  cat >matmul.mlir <<'M'
module @jit_matmul {
  func.func public @main(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> (tensor<4x2xf32>) {
    %0 = call @_product(%x, %w) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
  func.func private @_product(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) -> (tensor<4x2xf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}
M
  cat >program.json <<'P'
{"v": 1, "variables": {"w": {"dtype": "f32", "shape": [8, 2], "init": {"value": [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12], [13, 14], [15, 16]]}}},
 "datasets": {"rows": [{"npy": {"field": "x", "path": "x.npy"}}, {"batch": {"size": 8}}]},
 "functions": {"matmul": {"module": "matmul.mlir",
                          "inputs": [{"arg": 0, "field": "x", "sharding": {"split": [1, 2]}}, {"variable": "w", "sharding": {"split": [2, 1]}}],
                          "outputs": [{"result": 0, "sharding": {"split": [2, 1]}}]}}}
P
  python3 - <<'X'
import struct
rows = [float(8 * i + j) for i in range(8) for j in range(8)]
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 8), }"
header += " " * (117 - len(header)) + "\n"
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<64f", *rows))
X
}

@test "tpu: a function is partitioned over the cores of a replica" {
  matmul_program
  local set=(--topology 2x1x1x2 --computation-shape 1,1,1,2 --num-replicas 2 --spmd --function matmul --dataset rows)
  tpu -0 "${set[@]}" --untrained
  [ "$output" = '{"0":[[308.0,336.0],[820.0,912.0],[1332.0,1488.0],[1844.0,2064.0]],"1":[[2356.0,2640.0],[2868.0,3216.0],[3380.0,3792.0],[3892.0,4368.0]]}' ]
  tpu -0 "${set[@]}" --untrained --gather 0
  local split=$output
  sed -i 's/, "sharding": {[^}]*}//g' program.json # whole on each core
  tpu -0 "${set[@]}" --untrained --gather 0
  [ "$output" = "$split" ]
  run -0 --separate-stderr timeout 60 tfd-run program.json --strategy mirrored --devices 2 --function matmul --dataset rows --untrained --gather 0 </dev/null
  [ "$output" = "$split" ]
}

@test "tpu: a module that was exported for several partitions runs as it is" {
  matmul_program
  cat >matmul.mlir <<'M'
module @jit_matmul attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func public @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}, %w: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> (tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    return %0 : tensor<8x2xf32>
  }
}
M
  local set=(--topology 2x2x1x1 --computation-shape 2,2,1,1 --function matmul --dataset rows --untrained)
  tpu -65 "${set[@]}" --spmd
  [[ $stderr == *"matmul.mlir is exported for 4 partitions, with shardings of its own"* ]]
  sed -i 's/, "sharding": {[^}]*}//g' program.json
  tpu -0 "${set[@]}" --spmd
  local whole=$output
  [ "$output" = '{"0":[[308.0,336.0],[820.0,912.0],[1332.0,1488.0],[1844.0,2064.0],[2356.0,2640.0],[2868.0,3216.0],[3380.0,3792.0],[3892.0,4368.0]]}' ]
  tpu -65 "${set[@]}"
  [[ $stderr == *"matmul.mlir is for 4 partitions, which needs SPMD partitioning (tfd-run --spmd)"* ]]
  # As shard_map has it: no sharding on arguments and results, which are whole then.
  sed -e 's/ {sdy.sharding[^}]*}[^>]*>}//g' matmul.mlir >bare.mlir
  run ! grep -q 'sdy.sharding' bare.mlir
  tpu -0 "${set[@]}" --spmd --set functions.matmul.module=bare.mlir
  [ "$output" = "$whole" ]
  tpu -65 --topology 2x1x1x1 --computation-shape 2,1,1,1 --spmd --function matmul --dataset rows --untrained
  [[ $stderr == *"is for 4 partitions, but a replica has 2 logical devices here"* ]]
  sed -i 's/#sdy.sharding<@mesh, \[{"model"}, {}\]>/#sdy.sharding<@mesh, [{"model":(1)2}, {}]>/' matmul.mlir
  tpu -65 "${set[@]}" --spmd
  [[ $stderr == *"the sharding of 'w': a part of the axis 'model'"* ]]
}

@test "tpu: a step on replicas of two cores gives what one core gives" {
  local seeded=(--set 'datasets.train[1]={"shuffle": {"buffer": 2000, "seed": 7}}' --set train.steps=20 --set train.checkpoint=null
    --set train.evaluate.every=20)
  cp -r "$EXAMPLES"/digits/* .
  tpu -0 --topology 2x1x1x1 "${seeded[@]}"
  local whole
  whole=$(jq -c 'select(.event == "eval") | .metrics.loss' <<<"$output")
  tpu -0 --topology 2x1x1x2 --computation-shape 1,1,1,2 --num-replicas 2 --spmd "${seeded[@]}" \
    --set 'functions.train_step.inputs=[{"variable": "w1", "sharding": {"split": [1, 2]}}, {"variable": "b1"}, {"variable": "w2"}, {"variable": "b2"},
      {"dataset": "train", "field": "image", "sharding": {"split": [2, 1]}}, {"dataset": "train", "field": "label"}]'
  jq -es --argjson whole "$whole" '[.[] | select(.event == "eval") | .metrics.loss][0] | . - $whole | fabs < 1e-5' <<<"$output"
  [ "$(jq -c 'select(.event == "start") | .devices' <<<"$output")" = '["cpu:0","cpu:1","cpu:2","cpu:3"]' ]
}

@test "tpu: without SPMD a function runs on the logical device that it is assigned to" {
  matmul_program
  sed -i 's/{"split": \[[0-9, ]*\]}/{"assign": 1}/g' program.json
  local set=(--topology 2x1x1x2 --computation-shape 1,1,1,2 --num-replicas 2 --function matmul --dataset rows --untrained)
  tpu -0 "${set[@]}"
  [ "$output" = '{"0":[[308.0,336.0],[820.0,912.0],[1332.0,1488.0],[1844.0,2064.0]],"1":[[2356.0,2640.0],[2868.0,3216.0],[3380.0,3792.0],[3892.0,4368.0]]}' ]
  tpu -65 "${set[@]}" --spmd
  [[ $stderr == *"functions.matmul.inputs[0].sharding: nothing is assigned to a logical device under SPMD partitioning"* ]]
  tpu -65 "${set[@]}" --set 'functions.matmul.inputs[1].sharding={"assign": 0}'
  [[ $stderr == *"assigns to logical device 0, but another sharding of this function to 1: without SPMD partitioning a function runs on one"* ]]
  matmul_program
  tpu -65 "${set[@]}"
  [[ $stderr == *"functions.matmul.inputs[0].sharding: splits over logical devices, which needs SPMD partitioning (tfd-run --spmd)"* ]]
  tpu -65 --topology 2x2x1x2 --computation-shape 2,1,1,2 --spmd --function matmul --dataset rows --untrained
  [[ $stderr == *"makes 2 pieces, but a replica has 4 logical devices, and each has one"* ]]
}

@test "tpu: whole functions are on logical devices of their own, and values go from one to the other" {
  cat >double.mlir <<'M'
module @double {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = stablehlo.add %x, %x : tensor<2xf32>
    return %y : tensor<2xf32>
  }
}
M
  cat >step.mlir <<'M'
module @step {
  func.func public @main(%w: tensor<f32>, %x: tensor<2xf32>) -> (tensor<f32>, tensor<f32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %l = stablehlo.multiply %w, %s : tensor<f32>
    return %l, %s : tensor<f32>, tensor<f32>
  }
}
M
  cat >program.json <<'P'
{"v": 1, "variables": {"w": {"shape": [], "init": {"ones": {}}}}, "optimizer": {"sgd": {"learning_rate": 0.001}},
 "datasets": {"train": [{"tensor_slices": {"fields": {"x": [1.0, 2.0, 3.0, 4.0]}}}, {"repeat": {}}, {"batch": {"size": 2, "drop_remainder": true}},
                        {"map": {"function": "double", "fields": ["x"]}}]},
 "functions": {
  "double": {"module": "double.mlir", "inputs": [{"arg": 0, "field": "x", "sharding": {"assign": 0}}], "outputs": [{"result": 0}]},
  "step": {"module": "step.mlir", "inputs": [{"variable": "w", "sharding": {"assign": 1}}, {"dataset": "train", "field": "x"}],
           "outputs": [{"metric": "loss"}, {"gradient": "w"}]},
  "look": {"module": "step.mlir", "inputs": [{"variable": "w"}, {"dataset": "train", "field": "x", "sharding": {"assign": 2}}],
           "outputs": [{"metric": "loss"}, {"result": 0}]}},
 "train": {"function": "step", "steps": 6, "log_every": 1, "evaluate": {"function": "look", "steps": 2, "every": 3}}}
P
  tpu -0 --topology 2x2x1x3 --computation-shape 1,1,1,3 --num-replicas 2
  [ "$(jq -c 'select(.event == "start") | .devices' <<<"$output")" = '["cpu:0","cpu:1","cpu:2","cpu:3","cpu:4","cpu:5"]' ]
  jq -c 'select(.metrics) | [.event, .step, .metrics]' <<<"$output" >assigned
  [ "$(grep -c eval assigned)" = 2 ]
  sed -i 's/, "sharding": {[^}]*}//g' program.json
  tpu -0 --topology 2x1x1x1
  diff assigned <(jq -c 'select(.metrics) | [.event, .step, .metrics]' <<<"$output")
}

@test "tpu: --explain says what a training would do, and does nothing" {
  cp -r "$EXAMPLES"/digits/* .
  tpu -0 --topology 2x1x1x2 --explain
  [[ ${lines[0]} == "strategy   tpu, 4 replicas in sync on cpu" ]]
  [[ ${lines[3]} == "replica 2  cpu:2" ]]
  [[ $output == *"variables  4, 19.2 kB, and 38.5 kB that the optimizer keeps: on the devices"* ]]
  [[ $output == *"step       train_step, variables in 1 buffer"* ]]
  [[ $output == *"  reduce   19.2 kB of each replica, on the host, in their order"* ]]
  [[ $output == *$'\nstart      2'*" kB of the host's memory"$'\nsaving     '*$'\nmemory     '*"on each device; it fits: there are "* ]]
  [ ! -e digits-checkpoints ]
  tpu -0 --topology 2x1x1x2 --computation-shape 1,1,1,2 --num-replicas 2 --spmd --explain --json \
    --set 'functions.train_step.inputs=[{"variable": "w1", "sharding": {"split": [1, 2]}}, {"variable": "b1"}, {"variable": "w2"}, {"variable": "b2"},
      {"dataset": "train", "field": "image"}, {"dataset": "train", "field": "label"}]'
  jq -e '.devices == [["cpu:0", "cpu:1"], ["cpu:2", "cpu:3"]] and .logical_devices == 2 and .memory.fits and .variables.place == "devices" and .variables.each[0].sharding == "{devices=[1,2]<=[2]}" and .reduce.bytes_per_replica == 19240' <<<"$output"
  [ "$(jq .step.compute.memory.results <<<"$output")" -gt 0 ]
  # A variable that there is no memory for.
  run -71 --separate-stderr timeout 60 tfd-run "$EXAMPLES/linear/program.json" --explain --set 'variables.huge={"shape": [20000000000000], "dtype": "f32", "init": {"zeros": {}}}' </dev/null
  [[ $output == *"it doesn't fit: there are only"* ]]
  run -64 --separate-stderr tfd-run program.json --json </dev/null
  run -64 --separate-stderr tfd-run program.json --explain --check </dev/null
  [[ $stderr == *"--explain is about a training: it takes no --check"* ]]
}
