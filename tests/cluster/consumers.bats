#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The programs that tfd-resolve's formats are for, run on them: TensorFlow (TFD_TENSORFLOW_PYTHON), JAX
# (TFD_JAX_PYTHON), PyTorch and its torchrun (TFD_TORCH_PYTHON), each a Python that has it; skipped where not given. And
# TensorBoard (TFD_TENSORBOARD_PYTHON), which reads --logdir.
# mpirun reads its hostfile in mpi.bats, Slurm its TaskProlog in slurm.bats.
# bats file_tags=long,shared

bats_require_minimum_version 1.5.0

setup() {
  unset TF_CONFIG TFD_LOG CUDA_VISIBLE_DEVICES "${!SLURM_@}" "${!OMPI_@}" "${!PMI_@}"
  cd "$BATS_TEST_TMPDIR" || return
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# tfd-resolve as each of the tasks at once, every one becoming COMMAND; their output is in $output.
as_tasks() {  # FORMAT TASKS SPEC-OPTIONS… -- COMMAND…
  local format=$1 tasks=$2 task pids=() failed=0
  shift 2
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  for task in $tasks; do
    timeout 120 tfd-resolve simple "${options[@]}" --task "$task" --format "$format" -- "$@" >"$task.out" 2>"$task.err" </dev/null &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  output=$(cat ./*.out)
  [ $failed = 0 ] || { tail -n 20 ./*.err; return 1; }
}

@test "TensorFlow's resolver reads TF_CONFIG as it is meant" {
  [ -n "${TFD_TENSORFLOW_PYTHON:-}" ] || skip "TFD_TENSORFLOW_PYTHON names no Python with tensorflow"
  cat >read.py <<'PY'
import tensorflow as tf
r = tf.distribute.cluster_resolver.TFConfigClusterResolver()
print(r.cluster_spec().as_dict(), r.task_type, r.task_id, r.rpc_layer, r.master())
PY
  as_tasks env "worker:1 ps:3" --job chief=h0:1 --job worker=h1:1,h2:1 --job ps=p0:1,p1:1,p2:1,[::1]:9 --rpc-layer grpc \
    -- "$TFD_TENSORFLOW_PYTHON" read.py
  [ "$(tail -n 1 worker:1.out)" = "{'chief': ['h0:1'], 'worker': ['h1:1', 'h2:1'], 'ps': ['p0:1', 'p1:1', 'p2:1', '[::1]:9']} worker 1 grpc grpc://h2:1" ]
  [[ $(tail -n 1 ps:3.out) == *" ps 3 grpc grpc://[::1]:9" ]]
}

@test "a union is read by TensorFlow" {
  [ -n "${TFD_TENSORFLOW_PYTHON:-}" ] || skip "TFD_TENSORFLOW_PYTHON names no Python with tensorflow"
  echo '{"cluster": {"worker": {"1": "b:1", "3": "d:1"}}, "task": {"type": "worker", "index": 3}}{"cluster": {"ps": ["p:1"]}}' |
    tfd-resolve union --format env >union.env
  run -0 --separate-stderr bash -ec '. ./union.env; "$0" -c "
import tensorflow as tf
r = tf.distribute.cluster_resolver.TFConfigClusterResolver()
print(r.cluster_spec().as_dict(), r.task_id)"' "$TFD_TENSORFLOW_PYTHON"
  [ "$(tail -n 1 <<<"$output")" = "{'worker': {1: 'b:1', 3: 'd:1'}, 'ps': ['p:1']} 3" ]
}

@test "jax.distributed.initialize joins the processes" {
  [ -n "${TFD_JAX_PYTHON:-}" ] || skip "TFD_JAX_PYTHON names no Python with jax"
  cat >join.py <<'PY'
import os
import jax
jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=int(os.environ["JAX_PROCESS_ID"]))
print(jax.process_index(), jax.process_count(), len(jax.devices()) // jax.local_device_count())
PY
  JAX_PLATFORMS=cpu as_tasks jax "chief:0 worker:0 worker:1" --job worker=127.0.0.1:1,127.0.0.1:2 --job ps=127.0.0.1:3 \
    --job "chief=127.0.0.1:$(free_port)" -- "$TFD_JAX_PYTHON" join.py
  [ "$(sort <<<"$output")" = $'0 3 3\n1 3 3\n2 3 3' ]
}

TORCH_SUM='
import os
import torch
import torch.distributed as distributed
distributed.init_process_group("gloo")
total = torch.tensor([distributed.get_rank() + 1.0])
distributed.all_reduce(total)
# A file each: processes of one torchrun share their output, which gloo writes to in pieces.
with open("sum.%d" % distributed.get_rank(), "w") as file:
    print(distributed.get_rank(), distributed.get_world_size(), os.environ["LOCAL_RANK"], int(total.item()), file=file)
distributed.destroy_process_group()'

@test "torch.distributed starts from the pytorch variables" {
  [ -n "${TFD_TORCH_PYTHON:-}" ] || skip "TFD_TORCH_PYTHON names no Python with torch"
  as_tasks pytorch "worker:0 worker:1 worker:2" --job "worker=127.0.0.1:$(free_port),127.0.0.1:1,127.0.0.2:1" \
    -- "$TFD_TORCH_PYTHON" -c "$TORCH_SUM"
  [ "$(cat sum.[0-9])" = $'0 3 0 6\n1 3 1 6\n2 3 0 6' ]
}

@test "torchrun on two nodes, one with two processes" {
  [ -n "${TFD_TORCH_PYTHON:-}" ] || skip "TFD_TORCH_PYTHON names no Python with torch"
  printf '%s\n' "$TORCH_SUM" >sum.py
  as_tasks torchrun "worker:0 worker:2" --job "worker=127.0.0.1:$(free_port),127.0.0.1:1,127.0.0.2:1" \
    -- "$TFD_TORCH_PYTHON" -m torch.distributed.run sum.py
  [ "$(cat sum.[0-9])" = $'0 3 0 6\n1 3 1 6\n2 3 0 6' ]
}

@test "TensorBoard reads the metrics of --logdir" {
  [ -n "${TFD_TENSORBOARD_PYTHON:-}" ] || skip "TFD_TENSORBOARD_PYTHON names no Python with tensorboard"
  tfd-run "$TFD_SOURCE/examples/linear/program.json" --set train.steps=300 --set train.checkpoint=null --logdir logs </dev/null >events
  run -0 --separate-stderr "$TFD_TENSORBOARD_PYTHON" -c '
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
reader = EventAccumulator("logs/train")
reader.Reload()
for one in reader.Scalars("loss"): print(one.step, "%.6g" % one.value)'
  [ "$output" = "$(jq -r 'select(.event == "step") | [.step, .metrics.loss] | @tsv' events | awk '{ printf "%d %.6g\n", $1, $2 }')" ]
  [ "$(wc -l <<<"$output")" = 3 ]
}
