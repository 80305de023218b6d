#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Bad input of each kind to tfd-resolve: one line on stderr, nothing on stdout, and its exit code.

bats_require_minimum_version 1.5.0

setup() {
  unset TF_CONFIG CUDA_VISIBLE_DEVICES TFD_LOG "${!SLURM_@}"
}

refused() {  # CODE MESSAGE ARGUMENTS…
  run --separate-stderr -"$1" tfd-resolve "${@:3}"
  [ -z "$output" ]
  [ "${stderr_lines[0]}" = "tfd-resolve: $2" ] || { echo "got: ${stderr_lines[0]}"; return 1; }
  [ "${#stderr_lines[@]}" = 1 ]
}
usage() { refused 64 "$1 (see tfd-resolve --help)" "${@:2}"; }

@test "usage errors" {
  usage "KIND is missing: simple, local, tf-config, slurm, kubernetes, tpu, gce, mpi, union, auto and hostlist"
  usage "local doesn't take --port-base, only slurm, mpi and auto" local --jobs worker=1 --port-base 1
  usage "slurm doesn't take --master, only simple" slurm --master x
  usage "simple doesn't take --jobs, only local, slurm, kubernetes, mpi and auto" simple --jobs a=1
  usage "tf-config doesn't take --no-auto-set-gpu, only slurm" tf-config --no-auto-set-gpu
  usage "hostlist doesn't take --get, only simple, local, tf-config, slurm, kubernetes, tpu, gce, mpi, union and auto" hostlist --get x n1
  usage "local doesn't take ARG, only tpu, union and hostlist" local n1
  usage "slurm doesn't take --selector, only kubernetes" slurm --selector worker=a=b
  usage "gce doesn't take --wait, only kubernetes and auto" gce --wait 1s
  usage "kubernetes doesn't take --zone, only tpu and gce" kubernetes --zone a
  usage "mpi doesn't take --recoverable, only tpu" mpi --recoverable
  usage "union doesn't take --hostfile, only mpi" union --hostfile x
  usage "ARG is missing: a hostlist, such as n[1-3], or - for stdin's lines" hostlist
  usage "--jobs is missing: --jobs NAME=COUNT,…" local
  usage "--job is missing: --job NAME=ADDR,…" simple
  usage "--job: 'worker' is not NAME=ADDR,…" simple --job worker
  usage "--jobs: 'worker' is not NAME=COUNT" local --jobs worker
  usage "--accelerators: 'GPU=x' is not TYPE=N, with N from 0 to 65535" simple --job a=b:1 --accelerators GPU=x
  usage "--selector: 'worker' is not JOB=LABELS" kubernetes --selector worker
  usage "--instance-group is missing" gce --port 1
  usage "--port is missing: where every task listens" gce --instance-group g
  usage "--interval must be at least 100ms" tpu t --watch --interval 0s
  usage "--watch and a command exclude each other" local --jobs a=1 --watch -- true
  usage "--recoverable prints nothing: it can't be combined with --format, --get, --list-tasks, --watch or a command" tpu t --recoverable --json
  usage "--jobs: job 'a': 'x' is not a number of tasks from 0 to 4194304" local --jobs a=x
  usage "--task: 'worker' has no index (expected JOB:INDEX)" local --jobs worker=1 --task worker
  usage "--json and --format hosts exclude each other" local --jobs a=1 --json --format hosts
  usage "--format, --get and --list-tasks exclude each other" local --jobs a=1 --json --get cluster
  usage "a command prints its own output: it can't be combined with --json, --get or --list-tasks" local --jobs a=1 --json -- true
  usage "--format hosts has no variables for a command: env, pytorch, torchrun or jax" local --jobs a=1 --format hosts -- true
}

@test "an unknown kind, format or option names the nearest" {
  run -64 tfd-resolve slrum
  [[ $output == *slurm* ]]
  run -64 tfd-resolve local --jobs a=1 --format jsn
  [[ $output == *json* ]]
  run -64 tfd-resolve local --jbos a=1
  [[ $output == *"did you mean '--job"* ]]
  run -64 tfd-resolve slurm --port-base 70000
  [[ $output == *65535* ]]
}

@test "bad TF_CONFIG" {
  refused 78 "TF_CONFIG is not set" tf-config
  export TF_CONFIG
  TF_CONFIG='' refused 65 "TF_CONFIG: not JSON: line 1, column 1: unexpected end of input; expected '[', '{', or a literal" tf-config
  TF_CONFIG='{"cluster":' refused 65 "TF_CONFIG: not JSON: line 1, column 12: unexpected end of input; expected '[', '{', or a literal" tf-config
  TF_CONFIG='[]' refused 65 "TF_CONFIG: must be a JSON object, not a list" tf-config
  TF_CONFIG='{}' refused 65 "TF_CONFIG: the cluster is empty: no task in any job" tf-config
  TF_CONFIG='{"cluster": {"worker": ["a:1", "b:70000"]}}' refused 65 "TF_CONFIG: cluster.worker[1]: port 70000 out of range" tf-config
  TF_CONFIG='{"cluster": {"worker": ["a:1", 5]}}' refused 65 "TF_CONFIG: cluster.worker[1]: task address 5 must be a string, not a number" tf-config
  TF_CONFIG='{"cluster": {"worker": "a:1"}}' refused 65 "TF_CONFIG: cluster.worker: the tasks for job 'worker' must be a list or an object from integers to strings, not a string" tf-config
  TF_CONFIG='{"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}}' refused 65 "TF_CONFIG: task ps:0: no job 'ps' in the cluster" tf-config
  TF_CONFIG='{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "one"}}' refused 65 "TF_CONFIG: task.index: must be an integer >= 0, not a string" tf-config
  TF_CONFIG='{"cluster": {"worker": ["a:1", "a:1"]}}' refused 65 "TF_CONFIG: cluster.worker[1]: a:1 is also the address of worker:0" tf-config
  TF_CONFIG=$'{"a\e[2J' run -65 tfd-resolve tf-config
  [[ $output != *$'\e'* ]]
}

@test "bad addresses and tasks" {
  refused 65 "cluster.worker[0]: port 70000 out of range" simple --job worker=a:70000
  refused 65 "cluster.worker[0]: 'a' has no port (expected HOST:PORT)" simple --job worker=a
  refused 65 "cluster.worker[0]: '::1:80': an IPv6 address needs brackets ([IPV6]:PORT)" simple --job worker=::1:80
  refused 65 "task wroker:0: no job 'wroker' in the cluster, did you mean 'worker'?" local --jobs worker=1 --task wroker:0
  refused 65 "task worker:1: job 'worker' has 1 task, but none with index 1" local --jobs worker=1 --task worker:1
  refused 65 "the cluster is empty: no task in any job" local --jobs worker=0
  refused 65 "the spec has no 'cluster.x'" local --jobs worker=1 --get cluster.x
}

@test "not in Slurm, and a step that doesn't add up" {
  refused 78 "neither SLURM_STEP_NODELIST nor SLURM_JOB_NODELIST is set: not in a Slurm job?" slurm
  refused 78 "SLURM_PROCID is not set: not inside a Slurm step?" slurm --compat tensorflow
  export SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NODELIST='n[1-3]'
  refused 78 "SLURM_STEP_TASKS_PER_NODE is not set: give --tasks-per-node" slurm
  export SLURM_STEP_TASKS_PER_NODE='1(x3)'
  refused 78 "the jobs have 4 tasks together, but Slurm started 3" slurm --jobs worker=4
  SLURM_PROCID=3 refused 78 "SLURM_PROCID is 3, but there are 3 tasks" slurm
  SLURM_PROCID=x refused 65 "SLURM_PROCID: 'x' is not an integer" slurm
  SLURM_STEP_NODELIST='n[1-' refused 65 "SLURM_STEP_NODELIST: invalid hostlist 'n[1-': a '[' without ']'" slurm
  SLURM_STEP_TASKS_PER_NODE=two refused 65 "SLURM_STEP_TASKS_PER_NODE: invalid tasks per node 'two': 'two' is neither N nor N(xM)" slurm
  SLURMD_NODENAME=n9 refused 78 "rank 0 should be on n1 by the distribution 'block', but SLURMD_NODENAME is n9" slurm
  refused 78 "requested more GPUs than a node has: 1 tasks with 2 each need 2, but there are only 1" slurm --gpus-per-node 1 --gpus-per-task 2
  refused 65 "port base 65535 and 2 tasks on a host pass port 65535" slurm --tasks-per-node 2 --port-base 65535
}

@test "a batch script is no task" {
  export SLURM_JOB_NODELIST=n1 SLURM_TASKS_PER_NODE=2 SLURM_PROCID=0
  refused 65 "no task here: SLURM_PROCID is the batch step's; srun starts the tasks" slurm --format tf-config
  unset SLURM_PROCID
  refused 65 "no task here: SLURM_PROCID is not set; srun starts the tasks" slurm --format tf-config
  refused 65 "the spec has no 'task' (SLURM_PROCID is not set; srun starts the tasks)" slurm --get task.index
}

@test "hostlists: errors and limits" {
  refused 65 "invalid hostlist 'n[3-1]': '3-1' runs backwards" hostlist 'n[3-1]'
  refused 65 "invalid hostlist 'n[1-999999999]': more than 1048576 hosts" hostlist 'n[1-999999999]'
  refused 65 "invalid hostlist 'n[1-2]-ib': 'n[1-2]-ib' continues after its brackets, which TensorFlow doesn't understand" hostlist --compat tensorflow 'n[1-2]-ib'
}

@test "a closed stdout and a gone reader are no crash" {
  run -71 bash -c 'tfd-resolve local --jobs worker=1 >/dev/full'
  run -0 bash -c 'tfd-resolve hostlist "n[1-100000]" | head -1'
  [ "${lines[0]}" = n1 ]
}
