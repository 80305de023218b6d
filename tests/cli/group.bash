# SPDX-License-Identifier: Apache-2.0
# Code shared by the tests of tfd-run --strategy multi-worker-mirrored: groups of workers on loopback.

# shellcheck source=run.bash
source "$(dirname "${BASH_SOURCE[0]}")/run.bash"

# The digits with a seeded shuffle; N workers at free ports of loopback in cluster.json.
SEEDED=(--set 'datasets.train[1]={"shuffle": {"buffer": 2000, "seed": 7}}')
group_of() { # N
  ports "$1" | jq -Rn '{cluster: {worker: [inputs | splits(" +") | "127.0.0.1:\(.)"]}}' >cluster.json
}
# Starts $1 workers; PIDS are their processes, the chief's first.
start_group() { # N PROGRAM ARGS…
  local i n=$1
  shift
  PIDS=()
  for ((i = n - 1; i >= 0; --i)); do
    worker "worker:$i" "$@" --strategy multi-worker-mirrored --key-file none
    PIDS=("$RUN" "${PIDS[@]}")
  done
}
group_ends() { # CODE
  local pid
  for pid in "${PIDS[@]}"; do run_ends "$pid" "$1" || return 1; done
}
# A checkpoint's variables, without values that differ from run to run.
weights() { # FILE
  local size
  size=$(od -An -tu8 -N8 "$1" | tr -d ' ')
  tail -c +$((size + 9)) "$1" | sha256sum
}
# The training OF_ALL in one process, in undisturbed.
undisturbed() { # STEPS
  run -0 --separate-stderr timeout 120 tfd-run "${OF_ALL[@]}" --strategy mirrored --set "train.steps=$1" \
    --set train.checkpoint.dir=undisturbed </dev/null
}
# All of PIDS, which train OF_ALL in ck and may go on without each other, are asked to end: each hands over, and the last one saves;
# CODE is another exit code that one may have (143: it has only just been started, and dies of SIGTERM). The weights are those of an
# undisturbed run of as many steps, so that nothing depends on how many this machine makes meanwhile.
ends_with_undisturbed_bits() { # [CODE]
  local pid code saved=0 file steps
  for pid in "${PIDS[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${PIDS[@]}"; do
    LIMIT=60 ends "$pid"
    code=0
    wait "$pid" || code=$?
    case $code in
      0 | "${1:-0}") ;;
      75) saved=1 ;;
      *) echo "exit code $code" && cat ./*.talk && return 1 ;;
    esac
  done
  [ "$saved" = 1 ]
  file=$(jq -r .latest ck/index.json)
  steps=$((10#$(tr -dc 0-9 <<<"$file")))
  undisturbed "$steps"
  [ "$(weights "ck/$file")" = "$(weights "undisturbed/$file")" ]
}
# A program whose replicas keep statistics and counters of their own (synchronized on read), and train by them, in $1; its
# last step has data for two of four replicas.
statistics_program() { # DIRECTORY
  mkdir -p "$1"
  cat >"$1/step.mlir" <<'MLIR'
module @step {
  func.func public @main(%w: tensor<3xf32>, %mean: tensor<3xf32>, %seen: tensor<i32>, %last: tensor<2xf32>, %x: tensor<4xi64>) -> (tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<i32>, tensor<2xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %four = stablehlo.constant dense<4.0> : tensor<f32>
    %step = stablehlo.constant dense<4> : tensor<i32>
    %scale = stablehlo.constant dense<1.0e-3> : tensor<f32>
    %keep = stablehlo.constant dense<0.9> : tensor<3xf32>
    %rest = stablehlo.constant dense<0.1> : tensor<3xf32>
    %f = stablehlo.convert %x : (tensor<4xi64>) -> tensor<4xf32>
    %sum = stablehlo.reduce(%f init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %of_batch = stablehlo.divide %sum, %four : tensor<f32>
    %small = stablehlo.multiply %of_batch, %scale : tensor<f32>
    %all = stablehlo.broadcast_in_dim %small, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %kept = stablehlo.multiply %mean, %keep : tensor<3xf32>
    %new = stablehlo.multiply %all, %rest : tensor<3xf32>
    %moved = stablehlo.add %kept, %new : tensor<3xf32>
    %count = stablehlo.convert %seen : (tensor<i32>) -> tensor<f32>
    %counted = stablehlo.multiply %count, %scale : tensor<f32>
    %counts = stablehlo.broadcast_in_dim %counted, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %off = stablehlo.subtract %w, %moved : tensor<3xf32>
    %gradient = stablehlo.subtract %off, %counts : tensor<3xf32>
    %square = stablehlo.multiply %gradient, %gradient : tensor<3xf32>
    %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %two = stablehlo.broadcast_in_dim %small, dims = [] : (tensor<f32>) -> tensor<2xf32>
    return %loss, %gradient, %moved, %step, %two : tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<i32>, tensor<2xf32>
  }
}
MLIR
  cat >"$1/program.json" <<'JSON'
{"v": 1,
 "variables": {"w": {"shape": [3], "dtype": "f32", "init": {"glorot_uniform": {"seed": 3}}},
               "mean": {"shape": [3], "dtype": "f32", "init": {"zeros": {}}, "synchronization": "on_read", "aggregation": "mean"},
               "seen": {"shape": [], "dtype": "s32", "init": {"zeros": {}}, "synchronization": "on_read", "aggregation": "sum"},
               "last": {"shape": [2], "dtype": "f32", "init": {"zeros": {}}, "synchronization": "on_read", "aggregation": "mean"}},
 "optimizer": {"sgd": {"learning_rate": 0.05, "momentum": 0.9}},
 "datasets": {"train": [{"range": 1000}, {"shuffle": {"buffer": 1000, "seed": 5}}, {"repeat": {"count": 1}}, {"batch": {"size": 4, "drop_remainder": true}}]},
 "functions": {"step": {"module": "step.mlir", "inputs": [{"variables": "*"}, {"dataset": "train"}],
                        "outputs": [{"metric": "loss"}, {"gradient": "w"}, {"assign": "mean"}, {"assign_add": "seen"}, {"assign": "last"}]}},
 "train": {"function": "step", "epochs": 1, "checkpoint": {"dir": "ck"}}}
JSON
}
# The same of a training whose variables are on the host, which in one process counts its steps in a variable, too.
numbers_of_tables() { # DIRECTORY
  python3 - "$1" <<'PY'
import hashlib, json, os, struct, sys
newest = max(name for name in os.listdir(sys.argv[1]) if name.startswith("step-"))
data = open(os.path.join(sys.argv[1], newest), "rb").read()
size = struct.unpack("<Q", data[:8])[0]
for name, tensor in sorted(json.loads(data[8:8 + size]).items()):
    if name not in ("__metadata__", "global_step"):
        begin, end = tensor["data_offsets"]
        print(newest, name, hashlib.sha256(data[8 + size + begin:8 + size + end]).hexdigest())
PY
}
