#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy multi-worker-mirrored --bucket-bytes: sums are cut, and begun while the rest is computed.

load group
setup() { coordinate_setup; }
teardown() { run_teardown; }

# An example, with these changes, in one process. The digits' gradients are 19 KB.
example() { # NAME JQ
  cp -r "$EXAMPLES/digits" .
  cp -r "$EXAMPLES/$1" example
  jq "$2" "$EXAMPLES/$1/program.json" >example/program.json
  ARGS=(example/program.json "${SEEDED[@]}" --replicas 8 --set train.steps=10)
  run -0 --separate-stderr timeout 60 tfd-run "${ARGS[@]}" --strategy mirrored --set train.checkpoint.dir="$PWD/ck0" </dev/null
}
# N workers have the weights of one process.
has_bits() { # N ARGS…
  local n=$1
  shift
  rm -rf ck
  group_of "$n"
  start_group "$n" "${ARGS[@]}" --set train.checkpoint.dir="$PWD/ck" "$@"
  group_ends 0
  [ "$(weights ck/step-00000010.safetensors)" = "$(weights ck0/step-00000010.safetensors)" ] || { echo "other bits with $n: $*"; return 1; }
}

@test "buckets: whatever their size, the weights have the bits of one process, on one to three workers" {
  local n size
  example digits .
  for n in 1 2 3; do
    for size in 1KiB 5000 0; do has_bits "$n" --bucket-bytes "$size" --collectives tcp; done
  done
  has_bits 3 --bucket-bytes 4KiB --collectives shm
  has_bits 2 --bucket-bytes 1MiB
}

@test "buckets: gradients that are clipped by their norm, and accumulated, have the bits of one process" {
  example digits '.optimizer.adam += {"global_clipnorm": 0.5, "gradient_accumulation_steps": 2}'
  has_bits 2 --bucket-bytes 1KiB --collectives tcp
  has_bits 3 --bucket-bytes 2KiB --collectives shm
  has_bits 3 --collectives tcp
}

@test "buckets: gradients and moving statistics, in packs of their own, have the bits of one process" {
  example cnn .
  has_bits 2 --bucket-bytes 1KiB --collectives tcp
  has_bits 3 --bucket-bytes 1KiB --collectives tcp
}

@test "buckets: workers that cut differently are refused with what differs" {
  group_of 2
  worker worker:0 "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --bucket-bytes 2MiB
  local chief=$RUN
  worker worker:1 "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --bucket-bytes 1MiB
  run_ends "$RUN" 65
  grep -q 'the members differ in --bucket-bytes: worker:0 has 2097152, worker:1 has 1048576' worker:1.talk
  run_ends "$chief" 65
}

@test "buckets: --bucket-bytes with --compat tensorflow is bytes_per_pack: the order of sums is TensorFlow's of that" {
  cat >sums.mlir <<'MLIR'
module @sums {
  func.func public @main(%x: tensor<1xf32>) -> (tensor<f32>, tensor<40xf32>, tensor<40xf32>) {
    %loss = stablehlo.constant dense<0.0> : tensor<f32>
    %all = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<1xf32>) -> tensor<40xf32>
    return %loss, %all, %all : tensor<f32>, tensor<40xf32>, tensor<40xf32>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1,
 "variables": {"a": {"shape": [40], "init": {"zeros": {}}}, "b": {"shape": [40], "init": {"zeros": {}}}},
 "optimizer": {"sgd": {"learning_rate": 1}},
 "datasets": {"d": [{"tensor_slices": {"fields": {"x": [1.0, 1e8, -1e8]}}}, {"batch": {"size": 3}}]},
 "functions": {"step": {"module": "sums.mlir", "inputs": [{"dataset": "d", "field": "x"}],
                        "outputs": [{"metric": "x"}, {"gradient": "a", "reduce": "sum"}, {"gradient": "b", "reduce": "sum"}]}},
 "train": {"function": "step", "steps": 1, "replicas": "split", "checkpoint": {"dir": "ck"}}}
JSON
  # Three replicas have 1, 1e8 and -1e8: a chunk that begins with replica 0 or 2 loses the 1, that of replica 1 doesn't. With 80
  # elements in one pack, b's and then a's, the chunks are of 32; alone, 40 elements are chunks of 16.
  sums_with() { # ARGS…
    rm -rf ck
    group_of 3
    start_group 3 program.json --compat tensorflow "$@"
    group_ends 0
    newest_numbers ck a 40f b 40f | xargs
  }
  sums_with >one
  sums_with --bucket-bytes 0 >zero
  sums_with --bucket-bytes 100 >apart
  cmp one zero
  run ! cmp one apart
  [ "$(cut -d' ' -f1-40 apart)" = "$(cut -d' ' -f41-80 apart)" ]
  run ! test "$(cut -d' ' -f1-40 one)" = "$(cut -d' ' -f41-80 one)"
}

@test "buckets: a size that is none, or of no use, is a mistake of usage" {
  local args=("$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored)
  run -64 --separate-stderr tfd-run "${args[@]}" --bucket-bytes many </dev/null
  [[ $stderr == *'--bucket-bytes'*many* ]]
  run -64 --separate-stderr tfd-run "${args[@]}" --bucket-bytes -1 </dev/null
  run -64 --separate-stderr tfd-run "${args[@]}" --bucket-bytes 100 </dev/null
  [[ $stderr == *'--bucket-bytes 100: at least 1KiB, or 0'* ]]
  run -64 --separate-stderr tfd-run "${args[@]}" --bucket-bytes 2TiB </dev/null
  [[ $stderr == *'--bucket-bytes 2TiB: at most 1TiB'* ]]
  run -64 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --bucket-bytes 1MiB </dev/null
  [[ $stderr == *'--bucket-bytes is for --strategy multi-worker-mirrored'* ]]
}
