# SPDX-License-Identifier: Apache-2.0
# Code shared by the tests that check the data that a training has seen.

# A program that counts how often it has seen each of 1000 numbers, which come through these transformations.
seeing_program() { # TRANSFORMATIONS TRAIN, JSON
  cat >see.mlir <<'MLIR'
module @see {
  func.func public @main(%x: tensor<i64>) -> (tensor<f32>, tensor<1000xi32>) {
    %loss = stablehlo.convert %x : (tensor<i64>) -> tensor<f32>
    %all = stablehlo.iota dim = 0 : tensor<1000xi64>
    %own = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<i64>) -> tensor<1000xi64>
    %same = stablehlo.compare EQ, %all, %own : (tensor<1000xi64>, tensor<1000xi64>) -> tensor<1000xi1>
    %seen = stablehlo.convert %same : (tensor<1000xi1>) -> tensor<1000xi32>
    return %loss, %seen : tensor<f32>, tensor<1000xi32>
  }
}
MLIR
  cat >program.json <<JSON
{"v": 1,
 "variables": {"seen": {"shape": [1000], "dtype": "s32", "init": {"zeros": {}}, "aggregation": "sum"}},
 "datasets": {"d": [{"range": 1000}, $1]},
 "functions": {"see": {"module": "see.mlir", "inputs": [{"dataset": "d"}], "outputs": [{"metric": "loss"}, {"assign_add": "seen"}]}},
 "train": $2}
JSON
}

# How often the numbers were seen, each count once: "6" where it is the same of all.
seen_in() { # CHECKPOINT
  local header start
  header=$(od -An -tu8 -N8 "$1" | tr -d ' ')
  start=$(tail -c +9 "$1" | head -c "$header" | jq '.seen.data_offsets[0]')
  tail -c "+$((9 + header + start))" "$1" | head -c 4000 | od -An -v -td4 -w4 | sort -nu | xargs
}

# A coordinator of program.json on the served cluster that gets that signal on the way, and has ended.
coordinator_is_stopped_midway() { # SIGNAL
  coordinate program.json --cluster spec.json
  event '.event == "step" and .step >= 700'
  kill -"$1" "$COORDINATOR"
  [ "$1" = KILL ] || event '.event == "end" and .reason != "done"'
  wait "$COORDINATOR" || true
}
