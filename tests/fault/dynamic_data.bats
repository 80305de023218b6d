#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Data that are handed out element by element: each once in an epoch, whoever is killed in it.
# bats file_tags=long

load ../cli/coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# Counts how often it has seen each of 1000 numbers, which come shuffled.
seeing_program() { # SHUFFLE TRAIN, JSON
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
 "variables": {"seen": {"shape": [1000], "dtype": "s32", "init": {"zeros": {}}}},
 "datasets": {"d": [{"range": 1000}, {"shuffle": $1}, {"options": {"distribute": "dynamic"}}]},
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

@test "fault: of data that are handed out each element is seen once in an epoch, whichever workers are killed in it" {
  serve --jobs worker=3,ps=1
  seeing_program '{"buffer": 300, "seed": 5}' '{"function": "see", "epochs": 6, "log_every": 100, "checkpoint": {"dir": "ck", "every": 100000}}'
  coordinate program.json --cluster spec.json
  for at in 300 1201 2501; do
    event ".event == \"step\" and .step >= $at"
    kill -KILL "$(task_pid "worker:$((at % 3))")"
    event '.event == "worker" and .state == "lost"'
  done
  event '.event == "end" and .reason == "done" and .step == 6000'
  coordinator_ends 0
  [ "$(seen_in ck/step-00006000.safetensors)" = 6 ]
}

@test "fault: a training that continues goes on with the elements that nobody has seen" {
  serve --jobs worker=2,ps=1
  seeing_program '{"buffer": 300}' '{"function": "see", "epochs": 2, "log_every": 100, "checkpoint": {"dir": "ck", "every": 100000}}'
  coordinate program.json --cluster spec.json
  event '.event == "step" and .step >= 700'
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason != "done"'
  wait "$COORDINATOR" || true
  coordinate program.json --cluster spec.json
  event '.event == "end" and .reason == "done" and .step == 2000'
  coordinator_ends 0
  [ "$(seen_in ck/step-00002000.safetensors)" = 2 ]
}

@test "fault: so does a coordinator that adopts the training of one that was killed" {
  serve --jobs worker=2,ps=1
  seeing_program '{"buffer": 300}' '{"function": "see", "epochs": 3, "log_every": 100, "checkpoint": {"dir": "ck", "every": 100000}}'
  coordinate program.json --cluster spec.json
  event '.event == "step" and .step >= 700'
  kill -KILL "$COORDINATOR"
  wait "$COORDINATOR" || true
  coordinate program.json --cluster spec.json
  event '.event == "end" and .reason == "done" and .step == 3000'
  coordinator_ends 0
  [ "$(seen_in ck/step-00003000.safetensors)" = 3 ]
}

@test "fault: only a coordinator hands data out" {
  serve --jobs worker=2,ps=1
  seeing_program '{"buffer": 300}' '{"function": "see", "epochs": 1}'
  run -65 --separate-stderr tfd-run program.json --cluster spec.json --task worker:0
  [[ $stderr == *"program.json: dataset 'd' is to be handed out (\"distribute\": \"dynamic\"), which needs a coordinator: use tfd-coordinate" ]]
  run -0 --separate-stderr tfd-run program.json --set 'train.checkpoint={"dir": "ck"}'
  [ "$(seen_in ck/step-00001000.safetensors)" = 1 ]
}
