# SPDX-License-Identifier: Apache-2.0
# Code shared by the tests of clipping: a program that accumulates the gradients of three steps and clips, and its result.

# shellcheck source=run.bash
source "$(dirname "${BASH_SOURCE[0]}")/run.bash"

# "a" is on ps:0, "b" on ps:1. The gradients are 3 x, 4 x and 12 x of an element x: together their norm is 13 |x|. Each update has
# three (with two replicas six) of elements that are [0, 3, 0] again and again, so the mean is that of x = 1; whoever clips before
# has another one. The elements of $3 instead.
clipping_program() { # CLIP, STEPS[, ELEMENTS]
  cat >"$T/clipping.mlir" <<'MLIR'
module @clipping {
  func.func public @main(%x: tensor<f32>) -> (tensor<f32>, tensor<2xf32>, tensor<f32>) {
    %of_a = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
    %of_b = stablehlo.constant dense<12.0> : tensor<f32>
    %xs = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %a = stablehlo.multiply %of_a, %xs : tensor<2xf32>
    %b = stablehlo.multiply %of_b, %x : tensor<f32>
    return %x, %a, %b : tensor<f32>, tensor<2xf32>, tensor<f32>
  }
}
MLIR
  cat >"$T/program.json" <<JSON
{"v": 1,
 "variables": {"a": {"shape": [2], "init": {"zeros": {}}}, "b": {"shape": [], "init": {"zeros": {}}}},
 "optimizer": {"sgd": {"learning_rate": 1, "gradient_accumulation_steps": 3, $1}},
 "datasets": {"d": [{"tensor_slices": {"fields": {"x": ${3:-[0.0, 3.0, 0.0]}}}}, {"repeat": {}}]},
 "functions": {"step": {"module": "clipping.mlir", "inputs": [{"dataset": "d", "field": "x"}],
                        "outputs": [{"metric": "x"}, {"gradient": "a"}, {"gradient": "b"}]}},
 "train": {"function": "step", "steps": $2, "checkpoint": {"dir": "ck"}}}
JSON
}

# The values of the newest checkpoint in directory $1: "A0 A1 B".
clipped_values() { newest_numbers "$1" a 2f b f | paste -sd ' '; }
