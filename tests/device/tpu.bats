#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# libtpu's answers about systems that aren't here: TFD_LIBTPU, else it is fetched.
# bats file_tags=long

bats_require_minimum_version 1.5.0
load fetch

setup_file() {
  local plugin=${TFD_LIBTPU:-}
  [ -n "$plugin" ] || plugin=$(fetch_plugin libtpu 0.0.51 libtpu/libtpu.so \
    ba67ddbfdbac61c8da1fafc26cd51b93e9fe4d298016e2882eb986b1718cba34) || skip "libtpu can't be fetched here"
  export TFD_PJRT_PLUGIN=$plugin
}

explain() { # TOPOLOGY ARGS…
  run --separate-stderr timeout 300 tfd-run --strategy tpu --explain --topology "$@" </dev/null
}

@test "tpu: --explain compiles a program for a TPU v4 of 16 chips, which isn't here" {
  explain v4:2x2x4 "$TFD_SOURCE/examples/digits/program.json" --json
  [ "$status" = 0 ]
  [ -z "$stderr" ]
  # One device a chip with the memory of both cores, as the compiler and the runtime of a v4 have it.
  jq -e '.platform == "tpu" and .replicas == 16 and .logical_devices == 1 and .memory.fits and .memory.device_limit == 33014407168
    and .hosts == 4 and .step.way == "fused" and .step.step.flops > 1e6 and .step.step.memory.arguments >= 3 * 19240' <<<"$output"
}

@test "tpu: --explain says how many hosts a system has, where there are several" {
  explain v4:2x2x4 "$TFD_SOURCE/examples/digits/program.json"
  [ "$status" = 0 ]
  [[ $output == *$'\n'"hosts      4, with a process on each"$'\n'* ]]
  explain v4:2x2x1 "$TFD_SOURCE/examples/digits/program.json"
  [ "$status" = 0 ]
  [[ $output != *"hosts "* ]]
}

@test "tpu: --explain places replicas of several cores on the mesh of the system" {
  explain tpu7x:2x2x1 "$TFD_SOURCE/examples/digits/program.json" --computation-shape 1,1,1,2 --num-replicas 4 --spmd --json \
    --set 'functions.train_step.inputs=[{"variable": "w1", "sharding": {"split": [1, 2]}}, {"variable": "b1"}, {"variable": "w2"}, {"variable": "b2"},
      {"dataset": "train", "field": "image"}, {"dataset": "train", "field": "label"}]'
  [ "$status" = 0 ]
  jq -e '.replicas == 4 and .logical_devices == 2 and ([.devices[][]] | unique | length) == 8' <<<"$output"
}

@test "tpu: --explain refuses a replica on several hosts, as the training does" {
  explain v5e:4x4 "$TFD_SOURCE/examples/linear/program.json" --computation-shape 4,4,1,1 --num-replicas 1
  [ "$status" = 64 ] || [ "$status" = 78 ] || [ "$status" = 65 ]
  [ "$stderr" = "tfd-run: replica 0 has cores of several hosts: only those of one are supported" ]
}

@test "tpu: --explain says what a device's memory doesn't hold" {
  cat >"$BATS_TEST_TMPDIR/large.mlir" <<'MLIR'
module @large {
  func.func public @main(%w: tensor<3000000000xf32>) -> (tensor<f32>, tensor<3000000000xf32>) {
    %loss = stablehlo.constant dense<0.0> : tensor<f32>
    return %loss, %w : tensor<f32>, tensor<3000000000xf32>
  }
}
MLIR
  cat >"$BATS_TEST_TMPDIR/large.json" <<'JSON'
{"v": 1, "variables": {"w": {"shape": [3000000000], "init": {"zeros": {}}}}, "optimizer": {"adam": {}},
 "functions": {"step": {"module": "large.mlir", "inputs": [{"variable": "w"}], "outputs": [{"metric": "loss"}, {"gradient": "w"}]}},
 "train": {"function": "step", "steps": 1}}
JSON
  explain v5e:2x2 "$BATS_TEST_TMPDIR/large.json"
  [ "$status" = 71 ]
  [[ "$output$stderr" == *"doesn't fit"* || $stderr == *"memory"* ]]
}

@test "tpu: a system that libtpu doesn't know is an error that says so" {
  explain v9:2x2 "$TFD_SOURCE/examples/digits/program.json"
  [ "$status" = 65 ]
  [ "$stderr" = "tfd-run: --topology v9:2x2: Invalid TPU external name: TPU v9
hint: systems are v2, v3, v4, v5e, v5p, v6e and tpu7x, as in v6e:2x4 or tpu7x:2x2x1" ]
}

@test "tpu: names that people have are those of systems" {
  for name in v4-32=16 v5litepod-8=8 v6e-8=8 tpu7x-8=8 v7x:2x2x1=8 v5p-8=4 v2-8=8; do
    explain "${name%=*}" "$TFD_SOURCE/examples/linear/program.json" --json
    [ "$status" = 0 ]
    jq -e --argjson replicas "${name#*=}" '.replicas == $replicas' <<<"$output"
  done
}

@test "tpu: several at once plan without devices, and take no lock" {
  local at pids=()
  for at in 1 2 3; do
    timeout 300 tfd-run "$TFD_SOURCE/examples/linear/program.json" --strategy tpu --topology tpu7x:8x8x8 --explain \
      </dev/null >"$BATS_TEST_TMPDIR/out$at" 2>"$BATS_TEST_TMPDIR/err$at" &
    pids+=($!)
  done
  for at in "${pids[@]}"; do wait "$at"; done
  for at in 1 2 3; do
    [ ! -s "$BATS_TEST_TMPDIR/err$at" ]
    grep -q 'it fits' "$BATS_TEST_TMPDIR/out$at"
  done
}

@test "tpu: a machine without a TPU says so at once, and what plans without one" {
  [ -d /sys/bus/pci/devices ] || skip "no PCI bus"
  ! grep -qsi 0x1ae0 /sys/bus/pci/devices/*/vendor || skip "a machine of Google's"
  run --separate-stderr timeout 120 tfd-run --strategy tpu --explain "$TFD_SOURCE/examples/linear/program.json" </dev/null
  [ "$status" != 124 ]
  [ "$status" != 0 ]
  [[ $stderr == *"--topology NAME, such as v6e:2x4, plans for a system that isn't here"* ]]
  [ "$(grep -c . <<<"$stderr")" -le 3 ]
}
