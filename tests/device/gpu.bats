#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The same programs on GPUs, by the CUDA plug-in: TFD_CUDA_PLUGIN, else JAX's if python3 has it, else it is fetched. Without a
# GPU it is loaded as far as it goes. TFD_DEVICE_KIND=cpu runs all of it on the CPU plug-in instead.
# bats file_tags=long

bats_require_minimum_version 1.5.0
load fetch

setup_file() {
  export KIND=${TFD_DEVICE_KIND:-gpu} plugin=${TFD_CUDA_PLUGIN:-}
  [ "$KIND" = gpu ] || return 0
  [ -n "$plugin" ] || plugin=$(python3 -c 'import jax_plugins.xla_cuda13 as p; print(p.__path__[0] + "/xla_cuda_plugin.so")' 2>/dev/null) ||
    plugin=$(fetch_plugin jax-cuda13-pjrt 0.12.0.1 jax_plugins/xla_cuda13/xla_cuda_plugin.so \
      5899bb6177eda86ea532afb9a26794f2bdd04966f6a01f9028266b16c2b6cf90) || skip "the CUDA plug-in can't be fetched here"
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  ON_CPU=()
  ON_DEVICE=(--devices "$KIND:0")
}

has_gpu() { [ "$KIND" != gpu ] || [ -e /dev/nvidiactl ]; }
need_gpu() { has_gpu || skip "no GPU"; }
# tfd-run on the device.
on_device() { env ${plugin:+"TFD_PJRT_PLUGIN=$plugin"} timeout 600 tfd-run --strategy mirrored "${ON_DEVICE[@]}" "$@" </dev/null; }

losses() { jq -r 'select(.event == "step") | .metrics.loss'; }
# Whether two files have the same numbers, up to a share of them.
agree() { # FILE FILE SHARE
  paste "$1" "$2" | awk -v share="$3" '{ d = $1 - $2; m = $1 < 0 ? -$1 : $1; if (d < 0) d = -d; if (d > share * (m + 1e-3)) { print; bad = 1 } }
    END { exit NR == 0 || bad }'
}
# A CPU's results: TFD_CPU_RESULTS has them where there is no XLA for CPUs (bundle.sh), else they are computed, and kept there.
on_cpu() { # COMMAND…
  local kept=${TFD_CPU_RESULTS:+$TFD_CPU_RESULTS/$(sha256sum <<<"${*//$TFD_SOURCE/}" | cut -c1-16)}
  if [ -n "$kept" ] && [ -s "$kept" ]; then
    cat "$kept"
  elif [ -n "$kept" ]; then
    "$@" | tee "$kept"
  else
    "$@"
  fi
}
train_on_cpu() { tfd-run --strategy one-device "$@" </dev/null | losses; }
same_training() { # SHARE PROGRAM ARGS…
  local share=$1
  shift
  on_cpu train_on_cpu "$@" >cpu
  on_device "$@" | losses >device
  agree cpu device "$share"
}

@test "gpu: without a GPU the CUDA plug-in is loaded as far as it goes" {
  ! has_gpu || skip "there is a GPU"
  run -78 --separate-stderr on_device "$TFD_SOURCE/examples/digits/program.json" --set train.checkpoint=null
  [[ $stderr == *"No visible GPU devices"* ]] || { echo "$stderr"; false; }
}

@test "gpu: digits has the losses of a CPU" {
  need_gpu
  same_training 1e-3 "$TFD_SOURCE/examples/digits/program.json" --set train.steps=50 --set train.log_every=5 \
    --set train.checkpoint=null --set 'datasets.train[1].shuffle.seed=3'
}

@test "gpu: a training in bfloat16 has the losses of a CPU" {
  need_gpu
  cat >half.mlir <<'MLIR'
module @half {
  func.func public @main(%w: tensor<4xbf16>, %x: tensor<4xbf16>) -> (tensor<f32>, tensor<4xbf16>) {
    %d = stablehlo.subtract %w, %x : tensor<4xbf16>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %wide = stablehlo.convert %d : (tensor<4xbf16>) -> tensor<4xf32>
    %square = stablehlo.multiply %wide, %wide : tensor<4xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %loss, %d : tensor<f32>, tensor<4xbf16>
  }
}
MLIR
  cat >half.json <<'JSON'
{"v": 1, "variables": {"w": {"shape": [4], "dtype": "bf16", "init": {"zeros": {}}}}, "optimizer": {"sgd": {"learning_rate": 0.25}},
 "datasets": {"d": [{"tensor_slices": {"fields": {"x": {"dtype": "bf16", "shape": [2, 4], "data": [1, 2, 3, 4, 4, 3, 2, 1]}}}}, {"repeat": {}}]},
 "functions": {"step": {"module": "half.mlir", "inputs": [{"variable": "w"}, {"dataset": "d", "field": "x"}],
                        "outputs": [{"metric": "loss"}, {"gradient": "w"}]}},
 "train": {"function": "step", "steps": 20, "log_every": 1}}
JSON
  same_training 1e-2 half.json
}

@test "gpu: the transformer has the losses of a CPU, whatever way its steps go" {
  need_gpu
  local way
  for way in fused threads; do
    same_training 5e-3 "$TFD_SOURCE/examples/transformer/program.json" --step $way --set train.steps=20 --set train.log_every=2 \
      --set train.checkpoint=null --set 'datasets.train[1].shuffle.seed=3'
  done
}

@test "gpu: the recommender has the losses of a CPU" {
  need_gpu
  same_training 1e-3 "$TFD_SOURCE/examples/recommender/program.json" --set train.steps=50 --set train.log_every=5 --set train.checkpoint=null \
    --set 'datasets.interactions[1].shuffle.seed=3'
}

@test "gpu: what is predicted is what a CPU predicts" {
  need_gpu
  predict_on_cpu() { tfd-run "$TFD_SOURCE/examples/digits/program.json" --checkpoint ck --predict predict --dataset test </dev/null; }
  trained=${TFD_CPU_RESULTS:+$TFD_CPU_RESULTS/trained}
  if [ -n "$trained" ] && [ -d "$trained" ]; then
    cp -r "$trained" ck
  else
    tfd-run -q "$TFD_SOURCE/examples/digits/program.json" --set train.steps=200 --set train.checkpoint.dir="$PWD/ck" </dev/null >events
    [ -z "$trained" ] || cp -r ck "$trained"
  fi
  on_cpu predict_on_cpu >cpu
  on_device "$TFD_SOURCE/examples/digits/program.json" --checkpoint ck --predict predict --dataset test >device
  cmp cpu device
}

@test "gpu: a training that was begun on a CPU goes on here" {
  need_gpu
  local ck="$PWD/ck"
  set -- "$TFD_SOURCE/examples/digits/program.json" --set train.checkpoint.dir="$ck" --set train.log_every=10
  begun=${TFD_CPU_RESULTS:+$TFD_CPU_RESULTS/begun}
  if [ -n "$begun" ] && [ -d "$begun" ]; then
    cp -r "$begun" ck
  else
    tfd-run -q --strategy one-device "$@" --set train.steps=100 </dev/null >first
    [ -z "$begun" ] || cp -r ck "$begun"
  fi
  on_device -q "$@" --set train.steps=200 >second
  jq -se 'any(.event == "start" and .step == 100) and any(.event == "end" and .step == 200)' second
}
