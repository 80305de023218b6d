#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Nobody trains alone by mistake: tfd-run and tfd-launch where the environment states a world of several processes.

load run
setup() {
  coordinate_setup
  unset "${!PET_@}" "${!LWS_@}" "${!VC_@}" "${!TPU_@}" "${!MEGASCALE_@}" "${!SLURM_@}" "${!OMPI_@}" "${!PMI_@}" "${!PMIX_@}" \
    "${!SKYPILOT_@}" "${!DSTACK_@}" "${!FLUX_@}" WORLD_SIZE RANK JAX_NUM_PROCESSES NUM_PROCESSES SM_HOSTS JOB_COMPLETION_INDEX
  LINEAR=("$EXAMPLES/linear/program.json" --set train.steps=3)
}
teardown() { run_teardown; }

# VARIABLE=VALUE… -- what the line has: a training without a cluster is refused.
refused() {
  local -a variables=()
  while [ "$1" != -- ]; do
    variables+=("$1")
    shift
  done
  run -64 --separate-stderr env "${variables[@]}" timeout 60 tfd-run "${LINEAR[@]}" "${STRATEGY[@]}" </dev/null
  [ -z "$output" ]
  [ "$(wc -l <<<"$stderr")" = 1 ] || { echo "$stderr"; false; }
  [[ $stderr == "tfd-run: "*" were started together, but nothing names their cluster: "* ]] || { echo "$stderr"; false; }
  [[ $stderr == *"; --cluster none trains in each by itself (see tfd-run --help)" ]] || { echo "$stderr"; false; }
  [[ $stderr == *"$2"* ]] || { echo "$stderr"; false; }
}

# VARIABLE=VALUE… -- ARGS…: trains alone.
alone() {
  local -a variables=()
  while [ "$1" != -- ]; do
    variables+=("$1")
    shift
  done
  run -0 --separate-stderr env "${variables[@]}" timeout 60 tfd-run "${LINEAR[@]}" "${@:2}" </dev/null
  jq -es 'any(.[]; .event == "start" and .task == "local") and any(.[]; .event == "end" and .step == 3)' <<<"$output"
}

@test "alone: a stated world is an error that names the variable, its value, and what makes one training" {
  STRATEGY=()
  refused WORLD_SIZE=3 RANK=1 MASTER_ADDR=h MASTER_PORT=23456 -- \
    'tfd-launch --rendezvous $MASTER_ADDR:$MASTER_PORT --nnodes $WORLD_SIZE -- tfd-run … makes one training of them'
  refused WORLD_SIZE=3 -- 'tfd-run: WORLD_SIZE is 3: '
  refused PET_NNODES=2:4 PET_MASTER_ADDR=h PET_MASTER_PORT=29500 -- 'tfd-run: PET_NNODES is 2:4: '
  refused JAX_NUM_PROCESSES=2 JAX_COORDINATOR_ADDRESS=h:29500 -- 'tfd-run: JAX_NUM_PROCESSES is 2: '
  refused NUM_PROCESSES=2 COORDINATOR_ADDRESS=h COORDINATOR_PORT=6666 -- 'tfd-run: NUM_PROCESSES is 2: '
  refused LWS_GROUP_SIZE=4 LWS_LEADER_ADDRESS=l -- '--rendezvous $LWS_LEADER_ADDRESS:29400 --nnodes $LWS_GROUP_SIZE'
  refused VC_WORKER_NUM=2 VC_WORKER_HOSTS=j-0.j,j-1.j -- '--rendezvous j-0.j:29400 --nnodes 2'
  refused SKYPILOT_NUM_NODES=2 -- 'tfd-run: SKYPILOT_NUM_NODES is 2: '
  refused DSTACK_NODES_NUM=2 -- 'tfd-run: DSTACK_NODES_NUM is 2: '
  refused AWS_BATCH_JOB_NUM_NODES=2 -- 'tfd-run: AWS_BATCH_JOB_NUM_NODES is 2: '
  refused FLUX_JOB_SIZE=2 -- 'tfd-run: FLUX_JOB_SIZE is 2: '
  refused HOROVOD_SIZE=2 -- 'tfd-run: HOROVOD_SIZE is 2: '
  refused 'SM_HOSTS=["algo-1","algo-2"]' -- 'tfd-run: SM_HOSTS is ["algo-1","algo-2"]: '
  refused TPU_WORKER_HOSTNAMES=t-0,t-1 TPU_WORKER_ID=0 -- '--strategy tpu --cluster tpu makes one training of them'
  refused MEGASCALE_NUM_SLICES=2 MEGASCALE_SLICE_ID=1 MEGASCALE_COORDINATOR_ADDRESS=z TPU_WORKER_HOSTNAMES=x,y -- '--rendezvous z:29400 --nnodes 4'
  refused OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 -- ': --cluster mpi makes one training of them; --cluster none trains in each by itself'
  refused PMI_RANK=0 PMI_SIZE=2 MPI_LOCALRANKID=0 -- 'tfd-run: PMI_SIZE is 2: '
  refused SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NODELIST='n[1-2]' SLURM_STEP_TASKS_PER_NODE='1(x2)' SLURM_NTASKS=2 -- ': --cluster slurm makes'
}

@test "alone: strategies of one process need another one to train together" {
  STRATEGY=(--strategy mirrored)
  refused PET_NNODES=2 -- '-- tfd-run … --strategy multi-worker-mirrored makes one training of them'
  refused OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 -- ': --strategy multi-worker-mirrored --cluster mpi makes'
  STRATEGY=(--strategy one-device)
  refused WORLD_SIZE=2 -- '--strategy multi-worker-mirrored makes'
  STRATEGY=(--strategy multi-worker-mirrored)
  refused PET_NNODES=2 -- '-- tfd-run … makes one training of them'
}

@test "alone: what is one process, or is meant to be on its own, trains" {
  alone WORLD_SIZE=1 RANK=0 MASTER_ADDR=localhost MASTER_PORT=1 --
  alone PET_NNODES=1 --
  alone PET_NNODES=1:1 --
  alone TPU_WORKER_HOSTNAMES=localhost TPU_WORKER_ID=0 --
  alone 'SM_HOSTS=["algo-1"]' --
  alone NUM_PROCESSES=8 --
  alone WORLD_SIZE=two --
  alone WORLD_SIZE= --
  # A batch script without srun: the job has four tasks, this is none of them.
  alone SLURM_JOB_ID=7 SLURM_JOB_NODELIST='n[1-2]' SLURM_TASKS_PER_NODE='2(x2)' SLURM_NTASKS=4 SLURM_PROCID=0 --
  # A command of tfd-exec, whose tfd-serve mpirun has started.
  alone TFD_SEQ=3 TFD_TASK=worker:1 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 --
  alone WORLD_SIZE=2 -- --cluster none
  alone OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 -- --strategy mirrored --cluster none
}

@test "alone: evaluations, predictions, plans and checks are no trainings" {
  export WORLD_SIZE=2 PET_NNODES=2
  run -0 --separate-stderr tfd-run "${LINEAR[@]}" --check </dev/null
  run -0 --separate-stderr tfd-run "${LINEAR[@]}" --explain </dev/null
  run -0 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --evaluate --untrained </dev/null
  export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2
  mkfifo silent
  exec 9<>silent
  run -0 --separate-stderr timeout 60 tfd-run "${LINEAR[@]}" --strategy multi-worker-mirrored --check <&9
  exec 9>&-
}

@test "alone: a cluster that is named is the cluster, whatever else is stated" {
  export WORLD_SIZE=2
  TF_CONFIG='{"cluster": {"worker": ["127.0.0.1:0"]}, "task": {"type": "worker", "index": 0}}' \
    run -0 --separate-stderr timeout 60 tfd-launch -n 1 --no-prefix -- tfd-run "${LINEAR[@]}" </dev/null
  echo "{\"cluster\": {\"worker\": [\"127.0.0.1:$(ports 1)\"]}, \"task\": {\"type\": \"worker\", \"index\": 0}}" >spec.json
  run -0 --separate-stderr timeout 60 tfd-run "${LINEAR[@]}" --strategy multi-worker-mirrored --cluster spec.json </dev/null
  TF_CONFIG=$(cat spec.json) run -0 --separate-stderr timeout 60 tfd-run "${LINEAR[@]}" --strategy multi-worker-mirrored </dev/null
}

@test "alone: a number without a count trains alone, and a line says how all train together" {
  alone JOB_COMPLETION_INDEX=3 --
  [[ $stderr == *"tfd-run: trains alone, since nothing says how many there are beside JOB_COMPLETION_INDEX 3: \
tfd-launch --rendezvous JOB-0.SERVICE:29400 --nnodes N -- tfd-run … makes one training of all"* ]] || { echo "$stderr"; false; }
  alone JOB_COMPLETION_INDEX=3 -- --cluster none
  [[ $stderr != *"trains alone"* ]]
}

@test "alone: an open stdin never hides TF_CONFIG" {
  mkfifo silent
  exec 9<>silent
  export TF_CONFIG="{\"cluster\": {\"worker\": [\"127.0.0.1:$(ports 1)\"]}, \"task\": {\"type\": \"worker\", \"index\": 0}}"
  run -0 --separate-stderr timeout 60 tfd-run "${LINEAR[@]}" --strategy multi-worker-mirrored <&9
  jq -es 'any(.[]; .event == "start" and .task == "worker:0")' <<<"$output"
  # As mpirun tfd-resolve mpi -- tfd-run … has it.
  run -0 --separate-stderr env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1 \
    tfd-resolve mpi -- timeout 60 tfd-run "${LINEAR[@]}" --strategy multi-worker-mirrored <&9
  # A spec that nobody reads is said.
  echo "$TF_CONFIG" >&9
  run -0 --separate-stderr timeout 60 tfd-run "${LINEAR[@]}" --strategy multi-worker-mirrored <&9
  exec 9>&-
  [[ $stderr == *"a cluster's spec waits in stdin, unread: the cluster is TF_CONFIG's; --cluster - takes the one of stdin"* ]] || { echo "$stderr"; false; }
}

@test "alone: tools at the end of a pipe give a silent stdin up, and say so" {
  mkfifo silent
  exec 9<>silent
  export TF_CONFIG='{"cluster": {"worker": ["127.0.0.1:0"]}}'
  run -0 --separate-stderr timeout 60 tfd-launch -- sh -c 'echo $RANK' <&9
  [ "$output" = 'worker:0: 0' ]
  [[ $stderr == *"no cluster spec on stdin: the cluster is TF_CONFIG's (--cluster - waits for one)"* ]] || { echo "$stderr"; false; }
  exec 9>&-
}

@test "alone: TF_CONFIG of one worker is one process, without a key; and one of none is no cluster" {
  local spec='{"cluster": {"JOB": ["tensorflow-x-worker-0.ns.svc:2222"]}, "task": {"type": "JOB", "index": 0}}'
  for job in worker chief; do
    for strategy in "" "--strategy multi-worker-mirrored"; do
      # shellcheck disable=SC2086
      TF_CONFIG=${spec//JOB/$job} run -0 --separate-stderr timeout 60 tfd-run "${LINEAR[@]}" $strategy </dev/null
      jq -es --arg job "$job" 'any(.[]; .event == "end" and .step == 3)' <<<"$output"
    done
  done
  for nothing in '' ' ' '{}' '{"cluster": {}}' '{"environment": "cloud"}'; do
    alone TF_CONFIG="$nothing" --
    alone TF_CONFIG="$nothing" -- --strategy multi-worker-mirrored
    run -0 --separate-stderr env TF_CONFIG="$nothing" timeout 60 tfd-launch -- true </dev/null
  done
}

@test "alone: tfd-launch under mpirun or srun, without a cluster, is refused; with a count of its own it warns" {
  mkfifo silent
  exec 9<>silent
  export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2
  local line="OMPI_COMM_WORLD_SIZE is 2: 2 processes were started together, but nothing names their cluster: --cluster mpi makes one \
training of them; --cluster none trains in each by itself"
  run -64 --separate-stderr timeout 60 tfd-launch -- true <&9
  [[ $stderr == "tfd-launch: $line"* ]] || { echo "$stderr"; false; }
  run -64 --separate-stderr timeout 60 tfd-launch -- true </dev/null
  run -0 --separate-stderr timeout 60 tfd-launch -n 2 -- sh -c 'echo $WORLD_SIZE' <&9
  [ "$output" = $'worker:0: 2\nworker:1: 2' ]
  [[ $stderr == *"$line"* ]]
  run -0 --separate-stderr timeout 60 tfd-launch -n 2 --cluster none -- true <&9
  [ -z "$stderr" ] || { echo "$stderr"; false; }
  run -0 --separate-stderr timeout 60 tfd-launch --cluster none -- sh -c 'echo $WORLD_SIZE' <&9
  [ "$output" = 'worker:0: 1' ]
  exec 9>&-
  unset "${!OMPI_@}"
  PET_NNODES=3 run -64 --separate-stderr timeout 60 tfd-launch -- true </dev/null
  [[ $stderr == 'tfd-launch: PET_NNODES is 3: '*'tfd-launch --rendezvous HOST:PORT --nnodes $PET_NNODES -- tfd-run …'* ]] || { echo "$stderr"; false; }
}

@test "alone: tfd-launch's tasks are one training without a strategy; another launcher's, too" {
  run -0 --separate-stderr timeout 120 tfd-launch -n 2 --no-prefix -- tfd-run "${LINEAR[@]}" --replicas 2 </dev/null
  [ "$(grep -c "tfd-run: --strategy multi-worker-mirrored, since the cluster has 2 workers and no ps" <<<"$stderr")" = 1 ] || { echo "$stderr"; false; }
  jq -es '[.[] | select(.event == "start")] | length == 1 and .[0].workers == 2' <<<"$output"
  run -0 --separate-stderr timeout 120 tfd-launch --jobs chief=1,worker=1,evaluator=1 --no-prefix -- \
    tfd-run "$EXAMPLES/digits/program.json" --set train.steps=2 --set train.checkpoint.dir=ck </dev/null
  run -0 --separate-stderr env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1 \
    timeout 60 tfd-run "${LINEAR[@]}" --cluster mpi </dev/null
  jq -es 'any(.[]; .event == "end" and .step == 3)' <<<"$output"
}

@test "alone: names of others for data parallelism are told what it is here" {
  for name in ddp DDP DistributedDataParallel horovod fsdp; do
    run -64 --separate-stderr tfd-run "${LINEAR[@]}" --strategy "$name" </dev/null
    [[ $stderr == "tfd-run: --strategy: invalid value '$name': data parallelism is mirrored; multi-worker-mirrored with several processes"* ]] ||
      { echo "$stderr"; false; }
  done
}

@test "alone: --hostfile says where mpirun's ranks are, and other options of tfd-resolve are named as its own" {
  export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1
  run -78 --separate-stderr tfd-run "${LINEAR[@]}" --cluster mpi </dev/null
  [[ $stderr == *"give --hostfile FILE"* ]] || { echo "$stderr"; false; }
  printf '%s slots=1\nelsewhere slots=1\n' "$(hostname)" >hosts
  run -0 --separate-stderr timeout 60 tfd-launch --cluster mpi --hostfile hosts -- sh -c 'echo $RANK/$WORLD_SIZE' </dev/null
  [ "$output" = 'worker:0: 0/2' ]
  run -0 --separate-stderr tfd-run "${LINEAR[@]}" --hostfile hosts --strategy multi-worker-mirrored --check </dev/null
  [[ $stderr == *"worker:0 of 2 workers"* ]] || { echo "$stderr"; false; }
  run -64 --separate-stderr tfd-run "${LINEAR[@]}" --cluster slurm --hostfile hosts </dev/null
  [[ $stderr == *"--hostfile is for mpi"* ]] || { echo "$stderr"; false; }
  unset "${!OMPI_@}"
  run -78 --separate-stderr env SLURM_JOB_NODELIST=n1 tfd-run "${LINEAR[@]}" --cluster slurm </dev/null
  [[ $stderr == *"SLURM_TASKS_PER_NODE is not set: give tfd-resolve slurm --tasks-per-node"* ]] || { echo "$stderr"; false; }
}

@test "alone: of several TPU slices whose hosts aren't known, ranks count over all, and a training says what to do" {
  export TPU_WORKER_HOSTNAMES=x,y TPU_WORKER_ID=1 MEGASCALE_NUM_SLICES=2 MEGASCALE_SLICE_ID=1 MEGASCALE_COORDINATOR_ADDRESS=z TPU_ACCELERATOR_TYPE=v6e-8
  run -0 --separate-stderr tfd-resolve tpu --format jax
  output=${output//\'/}
  [[ $output == *JAX_COORDINATOR_ADDRESS=z:8482* && $output == *JAX_NUM_PROCESSES=4* && $output == *JAX_PROCESS_ID=3* ]] || { echo "$output"; false; }
  run -0 --separate-stderr tfd-resolve tpu --format pytorch
  output=${output//\'/}
  [[ $output == *MASTER_ADDR=z* && $output == *WORLD_SIZE=4* && $output == *RANK=3* ]] || { echo "$output"; false; }
  run -0 --separate-stderr tfd-resolve tpu --get master
  [ "$output" = grpc://z:8470 ]
  run -78 --separate-stderr tfd-run "${LINEAR[@]}" --cluster tpu </dev/null
  [[ $stderr == *"this is slice 1 of 2 TPU slices, and the hosts of the others are not known here: on each of the 4 hosts, tfd-launch \
--rendezvous z:29400 --nnodes 4 -- tfd-run … trains in all of them as one"* ]] || { echo "$stderr"; false; }
}
