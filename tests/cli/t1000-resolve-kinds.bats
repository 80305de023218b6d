#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-resolve KIND: the spec of each kind, the formats, and the command it becomes.

bats_require_minimum_version 1.5.0

setup() {
  unset TF_CONFIG CUDA_VISIBLE_DEVICES TFD_LOG "${!SLURM_@}"
}

@test "local: loopback, port 0, jobs in the order given" {
  run -0 tfd-resolve local --jobs worker=2,ps=1 --task ps:0
  [ "$output" = '{"cluster": {"worker": ["127.0.0.1:0", "127.0.0.1:0"], "ps": ["127.0.0.1:0"]}, "task": {"type": "ps", "index": 0}, "resolver": "local"}' ]
}

@test "simple: addresses, and the own task's master" {
  run -0 tfd-resolve simple --job worker=h1:1,h2:1 --job 'ps=[::1]:2' --task worker:1 --rpc-layer grpc
  [ "$(jq -r '.master, .cluster.ps[0]' <<<"$output")" = $'grpc://h2:1\n[::1]:2' ]
}

@test "tf-config: passes on what it doesn't know" {
  TF_CONFIG='{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": "1", "trial": 3}, "zebra": 1.50}' \
    run -0 tfd-resolve tf-config
  [ "$output" = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1, "trial": 3}, "master": "b:1", "resolver": "tf-config", "zebra": 1.50}' ]
}

@test "tf-config: options override" {
  TF_CONFIG='{"cluster": {"worker": ["a:1", "b:1"]}}' run -0 tfd-resolve tf-config --task worker:0 --rpc-layer grpc --get master
  [ "$output" = grpc://a:1 ]
}

slurm() {  # RANK COMMAND…: as a task of a step of five on three nodes
  env SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NODELIST='n[9-11]' SLURM_STEP_TASKS_PER_NODE='2(x2),1' \
    SLURM_STEP_NUM_TASKS=5 SLURM_PROCID="$1" "${@:2}"
}

@test "slurm: rank, jobs by name, ports" {
  run -0 slurm 3 tfd-resolve slurm --jobs worker=4,chief=1 --port-base 1000
  [ "$output" = '{"cluster": {"chief": ["n9:1000"], "worker": ["n9:1001", "n10:1000", "n10:1001", "n11:1000"]}, "task": {"type": "worker", "index": 2}, "rpc_layer": "grpc", "environment": "", "master": "grpc://n10:1001", "resolver": "slurm"}' ]
}

@test "slurm --compat tensorflow: sorted as strings, port 8888" {
  run -0 slurm 0 tfd-resolve slurm --compat tensorflow --gpus-per-node 2 --get cluster.worker
  [ "$output" = '["n10:8888", "n10:8889", "n11:8888", "n9:8888", "n9:8889"]' ]
}

@test "slurm: nvidia-smi is asked, and its failure told" {
  mkdir "$BATS_TEST_TMPDIR/bin"
  printf '#!/bin/sh\necho "GPU 0: A"; echo "GPU 1: B"; [ "$*" = --list-gpus ]\n' >"$BATS_TEST_TMPDIR/bin/nvidia-smi"
  chmod +x "$BATS_TEST_TMPDIR/bin/nvidia-smi"
  PATH=$BATS_TEST_TMPDIR/bin:$PATH run -0 slurm 1 tfd-resolve slurm --format env-file
  [ "${lines[0]}" = CUDA_VISIBLE_DEVICES=1 ]
  printf '#!/bin/sh\necho "no driver"; exit 9\n' >"$BATS_TEST_TMPDIR/bin/nvidia-smi"
  PATH=$BATS_TEST_TMPDIR/bin:$PATH run -78 slurm 1 tfd-resolve slurm
  [ "$output" = "tfd-resolve: could not get the number of GPUs: nvidia-smi exited with 9: no driver " ]
  printf '#!/bin/sh\nexec sleep 60\n' >"$BATS_TEST_TMPDIR/bin/nvidia-smi"
  PATH=$BATS_TEST_TMPDIR/bin:$PATH run -75 slurm 1 tfd-resolve slurm --timeout 200ms
}

@test "auto: TF_CONFIG, else Slurm" {
  run -0 slurm 0 tfd-resolve auto --get resolver
  [ "$output" = slurm ]
  TF_CONFIG='{"cluster": {"worker": ["a:1"]}}' run -0 slurm 0 tfd-resolve auto --get resolver
  [ "$output" = tf-config ]
}

@test "hostlist: expands, folds, reads lines, prints JSON" {
  run -0 tfd-resolve hostlist 'rack[1-2]n[01-03]-ib'
  [ "${#lines[@]}" = 6 ]
  [ "${lines[5]}" = rack2n03-ib ]
  run -0 bash -c 'printf "n[1-2]\nm7\n" | tfd-resolve hostlist -'
  [ "$output" = $'n1\nn2\nm7' ]
  run -0 bash -c 'tfd-resolve hostlist "n[08-12]" | tfd-resolve hostlist --fold'
  [ "$output" = 'n[08-12]' ]
  run -0 tfd-resolve hostlist --json a 'b[1-2]'
  [ "$output" = '["a", "b1", "b2"]' ]
}

@test "formats: hosts, table, list-tasks" {
  run -0 tfd-resolve simple --job worker=h1:1,h1:2,h2:1 --format hosts
  [ "$output" = $'h1\nh2' ]
  run -0 tfd-resolve simple --job worker=h1:1 --job ps=h2:2 --task ps:0 --format table
  [ "$output" = $'TASK      ADDRESS\nworker:0  h1:1\nps:0      h2:2  (this task)' ]
  run -0 tfd-resolve local --jobs worker=2 --list-tasks
  [ "$output" = $'worker:0\nworker:1' ]
}

@test "format env: eval gives TF_CONFIG whatever its values, and fails when resolving fails" {
  local config='{"cluster": {"worker": ["a'"'"'$(touch evil)`touch evil`:1"]}, "task": {"type": "worker", "index": 0}}'
  cd "$BATS_TEST_TMPDIR"
  TF_CONFIG=$config run -0 bash -c 'eval "$(tfd-resolve tf-config --compat tensorflow --format env)"; echo "$TF_CONFIG"'
  [ "$output" = "$config" ]
  [ ! -e evil ]
  run -1 --separate-stderr bash -ec 'eval "$(tfd-resolve slurm --format env)"; echo not reached'
  [ "$output" = "" ]
  run -1 --separate-stderr bash -ec 'eval "$(tfd-resolve slurm --format=env --no-such-option)"; echo not reached'
  [ "$output" = "" ]
}

@test "formats that need a task refuse without one" {
  for format in tf-config env-file; do
    run -65 tfd-resolve local --jobs worker=1 --format "$format"
    [ "$output" = "tfd-resolve: no task here: the spec names none; give --task JOB:INDEX" ]
  done
}

@test "-- CMD: TF_CONFIG in its environment, its exit code, its process, its stdin" {
  run -3 bash -c 'echo data | tfd-resolve local --jobs worker=1 --task worker:0 -- sh -c "cat; echo \"\$TF_CONFIG\"; exit 3"'
  [ "${lines[0]}" = data ]
  [ "$(jq -c .task <<<"${lines[1]}")" = '{"type":"worker","index":0}' ]
  run -0 bash -c 'tfd-resolve local --jobs worker=1 --task worker:0 -- sh -c "echo \$\$" >"$1" & echo "$!"; wait' bash "$BATS_TEST_TMPDIR/pid"
  [ "$output" = "$(cat "$BATS_TEST_TMPDIR/pid")" ]
}

@test "-- CMD that can't be run: 127 and 126" {
  run -127 tfd-resolve local --jobs worker=1 --task worker:0 -- no-such-command
  [ "$output" = "tfd-resolve: cannot run no-such-command: no such file or directory" ]
  run -126 tfd-resolve local --jobs worker=1 --task worker:0 -- /etc/passwd
}

@test "many tasks are quick" {
  run -0 --separate-stderr env SLURM_JOB_ID=7 SLURM_STEP_NODELIST='n[1-100000]' SLURM_STEP_TASKS_PER_NODE='1(x100000)' SLURM_STEP_ID=0 \
    SLURM_PROCID=99999 CUDA_VISIBLE_DEVICES=0 timeout 5 tfd-resolve slurm --get task.index
  [ "$output" = 99999 ]
}
