#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-resolve mpi by the variables that launchers set, and auto: what it chooses, and what it says it looked at.

bats_require_minimum_version 1.5.0

setup() {
  unset TF_CONFIG CUDA_VISIBLE_DEVICES TFD_LOG KUBERNETES_SERVICE_HOST "${!SLURM_@}" "${!OMPI_@}" "${!PMI_@}" \
    "${!PMIX_@}" "${!MPI_@}" "${!TPU_@}" "${!PBS_@}" "${!LSB_@}"
  cd "$BATS_TEST_TMPDIR" || return
}

refused() {  # CODE MESSAGE ARGUMENTS…
  run --separate-stderr -"$1" tfd-resolve "${@:3}"
  [ -z "$output" ]
  [ "${stderr_lines[0]}" = "tfd-resolve: $2" ] || { echo "got: ${stderr_lines[0]}"; return 1; }
  [ "${#stderr_lines[@]}" = 1 ]
}
rank() {  # RANK SIZE LOCAL-RANK LOCAL-SIZE COMMAND…: as Open MPI starts it
  env OMPI_COMM_WORLD_RANK="$1" OMPI_COMM_WORLD_SIZE="$2" OMPI_COMM_WORLD_LOCAL_RANK="$3" OMPI_COMM_WORLD_LOCAL_SIZE="$4" "${@:5}"
}

@test "mpi: all on one host" {
  run -0 rank 1 3 1 3 tfd-resolve mpi --jobs worker=2,chief=1 --port-base 7000
  [ "$output" = '{"cluster": {"chief": ["127.0.0.1:7000"], "worker": ["127.0.0.1:7001", "127.0.0.1:7002"]}, "task": {"type": "worker", "index": 0}, "rpc_layer": "grpc", "environment": "", "master": "grpc://127.0.0.1:7001", "resolver": "mpi"}' ]
  run -0 rank 1 3 1 3 tfd-resolve mpi --port-base 7000 --rpc-layer "" --task worker:2 --get master
  [ "$output" = 127.0.0.1:7002 ]
}

@test "mpi: a hostfile, as an option or from PBS" {
  printf '10.0.0.1 slots=2\n10.0.0.2 slots=2\n' >hosts
  run -0 rank 3 4 1 2 tfd-resolve mpi --hostfile hosts --port-base 5 --get cluster.worker
  [ "$output" = '["10.0.0.1:5", "10.0.0.1:6", "10.0.0.2:5", "10.0.0.2:6"]' ]
  printf '10.0.0.1\n10.0.0.1\n10.0.0.2\n' >nodes
  PBS_NODEFILE=$PWD/nodes run -0 rank 2 3 0 1 tfd-resolve mpi --port-base 5 --get master
  [ "$output" = grpc://10.0.0.2:5 ]
}

@test "mpi: bad input" {
  local hint="give --hostfile FILE with a line 'HOST slots=N' for each host, in mpirun's order"
  refused 78 "none of OMPI_COMM_WORLD_RANK, MV2_COMM_WORLD_RANK, PMI_RANK and PMIX_RANK is set: not started by mpirun or mpiexec?" mpi
  export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2
  refused 78 "nothing here says which hosts the 4 ranks are on: $hint" mpi
  refused 65 "--hostfile: cannot open nowhere: no such file or directory" mpi --hostfile nowhere
  echo 'elsewhere.example slots=4' >hosts
  refused 78 "rank 0 should be on elsewhere.example by the slots of --hostfile, but runs on $(hostname): use mpirun's --map-by slot, or $hint" mpi --hostfile hosts
  echo '127.0.0.1 slots=3' >hosts
  refused 78 "--hostfile has 3 slots, but there are 4 ranks: $hint" mpi --hostfile hosts
  echo '127.0.0.1 slots=4' >hosts
  refused 78 "4 ranks should be on 127.0.0.1 by the slots of --hostfile, but 2 are: $hint" mpi --hostfile hosts
  echo '127.0.0.1 slots=many' >hosts
  refused 65 "--hostfile: line 1: 'many' is not a number of slots from 0 to 4194304" mpi --hostfile hosts
  OMPI_COMM_WORLD_LOCAL_SIZE=4 refused 78 "the jobs have 3 tasks together, but mpirun started 4 ranks" mpi --jobs worker=3
  OMPI_COMM_WORLD_LOCAL_SIZE=4 refused 65 "port 65536 of worker:1 out of range: give a smaller --port-base" mpi --port-base 65535
  OMPI_COMM_WORLD_LOCAL_SIZE=4 refused 65 "--task: No such job in cluster: 'ps'" mpi --task ps:0
  OMPI_COMM_WORLD_RANK=x refused 65 "OMPI_COMM_WORLD_RANK: 'x' is not an integer from 0 to 4194304" mpi
  OMPI_COMM_WORLD_RANK=4 refused 78 "OMPI_COMM_WORLD_RANK is 4, but OMPI_COMM_WORLD_SIZE is 4" mpi
}

@test "auto -v says what it looked at, in order, and why it chose" {
  run -0 --separate-stderr rank 0 1 0 1 tfd-resolve auto -v --get resolver
  [ "$output" = mpi ]
  [ "$stderr" = $'tfd-resolve: auto: tf-config: TF_CONFIG is not set\ntfd-resolve: auto: mpi: OMPI_COMM_WORLD_RANK is set' ]
  run -0 --separate-stderr rank 0 1 0 1 tfd-resolve auto --get resolver
  [ -z "$stderr" ]
}

@test "auto: mpirun inside of Slurm is MPI, srun with PMI is Slurm" {
  export SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=n1 SLURM_STEP_TASKS_PER_NODE=2 SLURM_PROCID=1
  run -0 rank 1 2 1 2 tfd-resolve auto --get resolver
  [ "$output" = mpi ]
  PMIX_RANK=1 PMI_RANK=1 run -0 tfd-resolve auto --get resolver
  [ "$output" = slurm ]
}

@test "auto: nothing found names everything looked for" {
  refused 78 "auto: no cluster found: tf-config: TF_CONFIG is not set; mpi: none of OMPI_COMM_WORLD_RANK, MV2_COMM_WORLD_RANK, PMI_RANK and PMIX_RANK is set; slurm: none of SLURM_STEP_NODELIST, SLURM_JOB_NODELIST and SLURM_NODELIST is set; tpu: none of TPU_WORKER_HOSTNAMES, TPU_PROCESS_ADDRESSES, TPU_WORKER_ID, TPU_NAME, TPU_CONFIG and KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS is set; kubernetes: KUBERNETES_SERVICE_HOST is not set" auto
}

@test "auto passes on what the kind takes" {
  run -0 rank 1 2 1 2 tfd-resolve auto --jobs chief=1,worker=1 --port-base 5 --get cluster
  [ "$output" = '{"chief": ["127.0.0.1:5"], "worker": ["127.0.0.1:6"]}' ]
  TF_CONFIG='{"cluster": {"worker": ["h:1"]}}' refused 64 "auto: tf-config doesn't take --jobs, only local, slurm, kubernetes, mpi and auto (see tfd-resolve --help)" auto --jobs worker=1
}

@test "auto --task: another task, with its own master" {
  TF_CONFIG='{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}, "rpc_layer": "grpc"}' \
    run -0 tfd-resolve auto --task worker:1 --get master
  [ "$output" = grpc://b:1 ]
}

@test "local starts without libraries that only others need" {
  run -0 bash -c 'LD_DEBUG=files tfd-resolve local --jobs worker=1 2>&1 >/dev/null | grep -oE "calling init: .*" | grep -E "curl|ssl|crypto|yaml"; true'
  [ -z "$output" ]
}
