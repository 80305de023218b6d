#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs and options that a plug-in doesn't survive, or gets wrong without a word, can't reach it: each is
# refused, in one line, before anything runs. Each is tried on one device, on two, and partitioned over two cores.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

# Training of %w by @main, whose %loss is w[0] and whose %g is made by BODY.
module() { # MODULE-ATTRIBUTES ARGUMENT-ATTRIBUTES BODY
  cat >step.mlir <<MLIR
module @step $1 {
  func.func public @main(%w: tensor<4xf32> $2) -> (tensor<f32>, tensor<4xf32>) {
    %one = stablehlo.constant dense<1.0> : tensor<4xf32>
    %first = stablehlo.slice %w [0:1] : (tensor<4xf32>) -> tensor<1xf32>
    %loss = stablehlo.reshape %first : (tensor<1xf32>) -> tensor<f32>
$3
    return %loss, %g : tensor<f32>, tensor<4xf32>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1, "variables": {"w": {"shape": [4], "init": {"ones": {}}}}, "optimizer": {"sgd": {"learning_rate": 0.5}},
 "functions": {"step": {"module": "step.mlir", "inputs": [{"variable": "w"}], "outputs": [{"metric": "loss"}, {"gradient": "w"}]}},
 "train": {"function": "step", "steps": 4, "log_every": 1}}
JSON
}

# On every kind of placement: exit code, and what stdout or the last line of stderr has.
everywhere() { # CODE WHAT
  local placement
  for placement in "--strategy one-device" "--strategy mirrored --devices 2" \
    "--strategy tpu --topology 2x1x1x2 --computation-shape 1,1,1,2 --num-replicas 2 --spmd"; do
    # shellcheck disable=SC2086
    run "-$1" --separate-stderr timeout 60 tfd-run program.json $placement </dev/null
    [[ $output == *"$2"* || $stderr == *"$2"* ]] || { echo "$placement: $stderr"; return 1; }
  done
}
adding='({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %s = stablehlo.add %a, %b : tensor<f32> stablehlo.return %s : tensor<f32> })'
halving='    %g = stablehlo.multiply %w, %one : tensor<4xf32>'
halved='"metrics":{"loss":0.125}' # in step 4

@test "hazard: a collective that waits for devices that never come" {
  module "" "" "    %g = \"stablehlo.all_reduce\"(%w) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> $adding : (tensor<4xf32>) -> tensor<4xf32>"
  everywhere 65 "step.mlir: line 6: stablehlo.all_reduce waits for other devices, but the module is for one"
  module "" "" '    %g = "stablehlo.collective_permute"(%w) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>'
  everywhere 65 "stablehlo.collective_permute waits for other devices"
  module "attributes {mhlo.num_replicas = 2 : i32}" "" "$halving"
  everywhere 65 "step.mlir is for 2 replicas: export it for one; tfd runs it on each"
}

@test "hazard: a collective among one device is what it computes from" {
  module "" "" "    %g = \"stablehlo.all_reduce\"(%w) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> $adding : (tensor<4xf32>) -> tensor<4xf32>"
  everywhere 0 "$halved"
}

@test "hazard: an operation that waits for the host" {
  local of='    %t = stablehlo.create_token : !stablehlo.token'
  module "" "" "$of
    %g, %u = \"stablehlo.infeed\"(%t) <{infeed_config = \"\"}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)"
  everywhere 65 "stablehlo.infeed waits for the host"
  module "" "" "$of
    %g, %u = \"stablehlo.recv\"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)"
  everywhere 65 "stablehlo.recv waits for the host"
}

@test "hazard: such operations in bytecode" {
  module "" "" "$halving"
  printf 'ML\xefR\x0aStableHLO_v1.15.0\x00vhlo\x00add_v1\x00all_reduce_v2\x00' >step.mlir
  printf 'arg f32 4 w\nresult f32 - loss\nresult f32 4 g\n' >step.sig
  everywhere 65 "step.mlir has all_reduce in it"
}

@test "hazard: what a module gives away stays the variable's" {
  module "" "{tf.aliasing_output = 1 : i32}" "$halving"
  everywhere 0 "$halved"
  module "" "{jax.buffer_donor = true}" "$halving"
  everywhere 0 "$halved"
}

@test "hazard: a layout that isn't the default one, and shapes that aren't known" {
  module "" '{mhlo.layout_mode = "{0}"}' "$halving"
  everywhere 65 "layout '{0}' is not supported"
  module "" "" "$halving"
  sed -i 's/%w: tensor<4xf32>/%w: tensor<?xf32>/' step.mlir
  everywhere 65 "dynamic shapes are not supported"
}

@test "hazard: values of the same size and another type" {
  module "" "" "$halving"
  sed -i 's/"shape": \[4\]/"shape": [4], "dtype": "s32"/' program.json
  everywhere 65 "variable 'w' is s32[4], but argument 'w' of step.mlir is f32[4]"
  sed -i 's/"shape": \[4\], "dtype": "s32"/"shape": [2, 2]/' program.json
  everywhere 65 "variable 'w' is f32[2, 2], but argument 'w' of step.mlir is f32[4]"
}

@test "hazard: a custom call that nobody has" {
  module "" "" '    %g = stablehlo.custom_call @nowhere(%w) : (tensor<4xf32>) -> tensor<4xf32>'
  everywhere 65 "needs a custom call that the plug-in for cpu doesn't have"
}

@test "hazard: a device twice, or one that isn't there" {
  module "" "" "$halving"
  run -64 --separate-stderr tfd-run program.json --strategy mirrored --devices cpu:0,cpu:0 </dev/null
  [[ $stderr == *"'cpu:0': appears twice"* ]]
  run -64 --separate-stderr tfd-run program.json --strategy mirrored --devices cpu:9999 </dev/null
  echo '[[[0, 0, 0, 1]], [[0, 0, 0, 1]]]' >places.json
  run -65 --separate-stderr tfd-run program.json --strategy tpu --topology 2x1x1x2 --device-assignment places.json </dev/null
  [[ $stderr == *"has the core [0, 0, 0, 1] twice"* ]]
}

@test "hazard: shards that aren't equal" {
  module "" '{mhlo.sharding = "{devices=[2]<=[2]}"}' "$halving"
  sed -i 's/tensor<4xf32>/tensor<5xf32>/g' step.mlir
  sed -i 's/"shape": \[4\]/"shape": [5]/' program.json
  everywhere 0 "$halved"
}

@test "hazard: a cache of compiled modules that isn't one" {
  module "" "" "$halving"
  export TFD_CACHE_DIR=$PWD/cache
  everywhere 0 "$halved"
  local file
  for file in $(find cache -type f); do head -c 100 /dev/urandom >"$file"; done
  everywhere 0 "$halved"
}
