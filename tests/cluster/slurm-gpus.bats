#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Which GPUs a task of a real Slurm has: --gres, --gpus-per-task, --gpu-bind, uneven nodes, batch scripts. The GPUs are
# device files without a device behind them. Needs root, slurm-wlm, munge and jq; skipped otherwise.

bats_require_minimum_version 1.5.0

source "$BATS_TEST_DIRNAME/slurm-steps.bash"

# Every task writes "RANK COUNT DEVICES": what it counts, and what it has after the eval.
# shellcheck disable=SC2016
GPUS='tfd-resolve slurm >"$OUT/$SLURM_PROCID.json" && eval "$(tfd-resolve slurm --format env)" &&
  echo "$SLURM_PROCID $(jq .num_accelerators.GPU "$OUT/$SLURM_PROCID.json") ${CUDA_VISIBLE_DEVICES-none}"'

gpus() {  # SRUN-OPTIONS
  step "$@" bash -c "$GPUS" | sort -n
}

@test "GPUs of a node are shared by its tasks" {
  [ "$(gpus -N2 -n4 --ntasks-per-node=2 --gres=gpu:4)" = $'0 2 0,1\n1 2 2,3\n2 2 0,1\n3 2 2,3' ]
  [ "$(gpus -N1 -n3 --gres=gpu:4)" = $'0 1 0\n1 1 1\n2 1 2' ]
  [ "$(gpus -N1 -n3 --gres=gpu:2)" = $'0 null 0,1\n1 null 0,1\n2 null 0,1' ]  # too few: nobody's
}

@test "GPUs that Slurm gave to a task stay its own" {
  [ "$(gpus -N2 -n4 --ntasks-per-node=2 --gpus-per-task=1)" = $'0 1 0\n1 1 1\n2 1 0\n3 1 1' ]
  [ "$(gpus -N1 -n2 --gres=gpu:4 --gpu-bind=map_gpu:1,3)" = $'0 1 1\n1 1 3' ]
  [ "$(gpus -N1 -n2 --gres=gpu:4 --gpu-bind=single:1)" = $'0 1 0\n1 1 1' ]
  [ "$(gpus -N1 -n2 --gpus-per-task=2)" = $'0 2 0,1\n1 2 2,3' ]
}

@test "a task that is alone on a node has no more GPUs than the others" {
  run batch -N2 -n4 --gpus-per-node=4 <<<"srun --gpus-per-task=1 bash -c 'echo seen \$SLURM_PROCID \$CUDA_VISIBLE_DEVICES; $GPUS'"
  echo "$output"
  [ "$(grep -c '^seen 3 0,1,2,3$' <<<"$output")" = 1 ]  # Slurm shows it all four
  [ "$(grep -v seen <<<"$output" | sort -n | paste -sd' ')" = '0 1 0 1 1 1 2 1 2 3 1 0' ]
}

@test "nodes with different numbers of GPUs and tasks" {
  [ "$(gpus -N2 -n4 --gpus=4)" = $'0 1 0\n1 1 1\n2 1 2\n3 1 0' ]
}

@test "--no-auto-set-gpu leaves them, --gpus-per-task and --gpus-per-node count otherwise" {
  run step -N1 -n2 --gres=gpu:4 bash -c 'tfd-resolve slurm --no-auto-set-gpu -- bash -c "echo \$CUDA_VISIBLE_DEVICES"'
  [ "$output" = $'0,1,2,3\n0,1,2,3' ]
  run step -N1 -n1 --gres=gpu:4 bash -c 'tfd-resolve slurm --gpus-per-task 3 --format env-file | grep CUDA'
  [ "$output" = CUDA_VISIBLE_DEVICES=0,1,2 ]
  run step -N1 -n2 --gres=gpu:2 bash -c '[ "$SLURM_PROCID" = 0 ] || exit 0; tfd-resolve slurm --gpus-per-task 2'
  [[ "$output" == *"requested more GPUs than a node has: 2 tasks with 2 each need 4, but there are only 2"* ]]
  run step -N1 -n1 --gres=gpu:4 bash -c 'unset CUDA_VISIBLE_DEVICES; tfd-resolve slurm --gpus-per-task 2 --format env-file | grep VISIBLE'
  [ "$output" = ROCR_VISIBLE_DEVICES=0,1 ]  # where only AMD's is set
}

@test "a batch script and a salloc shell count what a task will have" {
  run batch -N2 -n4 --gpus-per-node=4 <<<'tfd-resolve slurm --get num_accelerators.GPU'
  [ "$output" = 1 ]  # 3 tasks on the first node
  run batch -N2 --ntasks-per-node=2 --gpus-per-task=1 <<<'tfd-resolve slurm --get num_accelerators.GPU'
  [ "$output" = 1 ]
  run --separate-stderr timeout 60 salloc -N2 --ntasks-per-node=2 --gpus-per-node=4 tfd-resolve slurm --get num_accelerators.GPU
  [ "$output" = 2 ]
}

@test "nodes without GPUs have no accelerators" {
  run --separate-stderr step -N1 -n1 tfd-resolve slurm
  [ "$(jq 'has("num_accelerators")' <<<"$output")" = false ]
}
