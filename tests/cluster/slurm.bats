#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-resolve inside a real Slurm of four nodes: srun, salloc and sbatch, several tasks a node, block, cyclic, plane and
# arbitrary distribution, reserved ports, GPUs. With TFD_TENSORFLOW_PYTHON (a Python that has tensorflow) also against the
# real SlurmClusterResolver and TFConfigClusterResolver. Needs root, slurm-wlm, munge and jq; skipped otherwise.

bats_require_minimum_version 1.5.0

setup_file() {
  source "$BATS_TEST_DIRNAME/slurm-bed.bash"
  MISSING=$(slurm_missing)
  export MISSING
  [ -z "$MISSING" ] || return 0
  BED=$(mktemp -d /tmp/tfd-slurm-XXXXXX)
  export BED
  unset CUDA_VISIBLE_DEVICES TF_CONFIG
  unset "${!SLURM_@}"
  if ! slurm_up "$BED" >"$BED/up.out" 2>&1; then
    cat "$BED"/up.out "$BED"/*.log "$BED"/*.out >&3
    return 1
  fi
  export SLURM_CONF=$BED/slurm.conf
}

teardown_file() {
  [ -n "${BED:-}" ] || return 0
  source "$BATS_TEST_DIRNAME/slurm-bed.bash"
  slurm_down "$BED"
  rm -rf "$BED"
}

setup() {
  [ -z "$MISSING" ] || skip "no Slurm here: $MISSING"
  OUT=$(mktemp -d "$BED/out-XXXXXX")
  export OUT
}

step() {  # SRUN-OPTIONS… -- COMMAND…: with a limit
  timeout 60 srun --immediate=30 "$@"
}

# Every task writes what it resolved and where Slurm really put it: rank.json, rank.where.
resolve_all() {  # RESOLVE-OPTIONS -- SRUN-OPTIONS
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  step "$@" bash -c '
    tfd-resolve slurm "$@" >"$OUT/$SLURM_PROCID.json" || exit
    echo "$SLURMD_NODENAME" >"$OUT/$SLURM_PROCID.where"' bash "${options[@]}"
}

# The spec of every rank is the same, names its own task, and puts each rank on the host where it ran.
check_all() {  # TASKS
  local rank
  for ((rank = 0; rank < $1; rank++)); do
    jq -e --arg where "$(cat "$OUT/$rank.where")" --argjson rank "$rank" '
      ([.cluster | to_entries | sort_by(.key)[] | .key as $job | .value | to_entries[] | {job: $job, index: .key, address: .value}]) as $all
      | .task.type == $all[$rank].job and .task.index == $all[$rank].index
        and ($all[$rank].address | startswith($where + ":")) and .master == "grpc://" + $all[$rank].address' \
      "$OUT/$rank.json" || { echo "rank $rank:"; cat "$OUT/$rank.json" "$OUT/$rank.where"; return 1; }
    diff <(jq -S .cluster "$OUT/0.json") <(jq -S .cluster "$OUT/$rank.json")
  done
  [ "$(jq -r '.cluster[][]' "$OUT/0.json" | sort | uniq -d | wc -l)" = 0 ]  # no address twice
}

hosts_of() {  # FILE: the spec's hosts by rank
  jq -r '.cluster | to_entries | sort_by(.key)[] | .value[] | sub(":[0-9]+$"; "")' "$1"
}

@test "srun, one task a node" {
  resolve_all -- -N4 -n4
  check_all 4
  [ "$(hosts_of "$OUT/0.json")" = "$(scontrol show hostnames 'n[1-4]')" ]
}

@test "srun, several tasks a node, unevenly, and jobs by name" {
  resolve_all --jobs worker=4,chief=1,ps=2 -- -N3 -n7
  check_all 7
  [ "$(jq -c '.cluster | keys_unsorted' "$OUT/0.json")" = '["chief","ps","worker"]' ]
}

@test "srun, distributed cyclically, in planes, in blocks" {
  local kind
  for kind in cyclic plane=2 block cyclic:cyclic block:block; do
    rm -f "$OUT"/*
    resolve_all -- -N3 -n7 -m "$kind"
    check_all 7
  done
}

@test "srun, distributed by a list" {
  printf '%s\n' n3 n1 n1 n2 >"$BED/hosts"
  SLURM_HOSTFILE=$BED/hosts resolve_all -- -n4 -m arbitrary
  check_all 4
  [ "$(hosts_of "$OUT/0.json" | paste -sd,)" = n3,n1,n1,n2 ]
}

@test "srun, a subset of the allocation's nodes" {
  timeout 60 salloc -N4 -n8 bash -c 'srun -N2 -n3 -w n2,n4 bash -c "tfd-resolve slurm >\$OUT/\$SLURM_PROCID.json; echo \$SLURMD_NODENAME >\$OUT/\$SLURM_PROCID.where"'
  check_all 3
}

@test "two steps on the same nodes don't share a port" {
  timeout 60 salloc -N2 -n4 bash -c '
    for i in 1 2; do
      srun --exact --mem=100 -N2 -n2 bash -c "unset SLURM_STEP_RESV_PORTS; tfd-resolve slurm --format json >\$OUT/$i.\$SLURM_PROCID.json" &
    done; wait'
  [ "$(ls "$OUT" | wc -l)" = 4 ]
  [ -z "$(cat "$OUT"/1.0.json "$OUT"/2.0.json | jq -r '.cluster.worker[]' | sort | uniq -d)" ]
}

@test "ports that Slurm reserves are used" {
  run step --resv-ports=3 -N2 -n4 bash -c '[ "$SLURM_PROCID" = 3 ] || exit 0; echo "$SLURM_STEP_RESV_PORTS"; tfd-resolve slurm | jq -r ".cluster.worker[]"'
  [ "$status" = 0 ]
  local first=${lines[0]%%-*}
  [ "${lines[1]}" = "n1:$first" ]
  [ "${lines[2]}" = "n1:$((first + 1))" ]
  [ "${lines[4]}" = "n2:$first" ]
}

@test "GPUs of a node are shared by its tasks" {
  step -N2 -n4 --ntasks-per-node=2 --gres=gpu:4 bash -c '
    tfd-resolve slurm --format env >"$OUT/$SLURM_PROCID.env" || exit; eval "$(cat "$OUT/$SLURM_PROCID.env")"
    echo "$SLURM_LOCALID $CUDA_VISIBLE_DEVICES" >"$OUT/$SLURM_PROCID.gpus"; tfd-resolve slurm --get num_accelerators.GPU >"$OUT/$SLURM_PROCID.count" || :'
  [ "$(cat "$OUT"/*.gpus | sort | uniq -c | sed 's/^ *//')" = $'2 0 0,1\n2 1 2,3' ]
}

@test "GPUs that Slurm gave to a task stay its own" {
  step -N2 -n4 --ntasks-per-node=2 --gpus-per-task=1 bash -c '
    tfd-resolve slurm -- bash -c "echo \$SLURM_LOCALID \$CUDA_VISIBLE_DEVICES" >"$OUT/$SLURM_PROCID.gpus"'
  [ "$(cat "$OUT"/*.gpus | sort | uniq -c | sed 's/^ *//')" = $'2 0 0\n2 1 1' ]
}

@test "nodes without GPUs have no accelerators" {
  run --separate-stderr step -N1 -n1 tfd-resolve slurm
  [ "$(jq 'has("num_accelerators")' <<<"$output")" = false ]
}

@test "srun tfd-resolve slurm -- CMD gives each task its TF_CONFIG and its exit code" {
  run --separate-stderr step -N2 -n2 tfd-resolve slurm --jobs chief=1,worker=1 -- bash -c 'echo "$TF_CONFIG" >"$OUT/$SLURM_PROCID.json"; exit "$SLURM_PROCID"'
  [ "$status" = 1 ]
  [ "$(jq -r .task.type "$OUT/0.json" "$OUT/1.json" | paste -sd,)" = chief,worker ]
}

@test "a signal to the step reaches the command, for tfd-resolve is replaced by it" {
  source "$BATS_TEST_DIRNAME/slurm-bed.bash"
  timeout 60 srun --immediate=30 -N1 -n1 tfd-resolve slurm -- bash -c '
    trap "echo got >\$OUT/signal; exit 7" USR1; echo "$SLURM_JOB_ID.$SLURM_STEP_ID" >"$OUT/tmp"; mv "$OUT/tmp" "$OUT/step"
    while :; do read -rt 1 <> <(:) || :; done' &
  local step_pid=$! code=0
  slurm_wait 30 test -s "$OUT/step"
  scancel --signal=USR1 "$(cat "$OUT/step")"
  wait "$step_pid" || code=$?
  [ "$code" = 7 ]
  [ -e "$OUT/signal" ]
}

@test "salloc: the job's hosts, and no task" {
  run --separate-stderr timeout 60 salloc -N3 -n5 tfd-resolve slurm
  [ "$status" = 0 ]
  [ "$(jq '.cluster.worker | length' <<<"$output")" = 5 ]
  [ "$(jq 'has("task")' <<<"$output")" = false ]
}

batch() {  # SCRIPT-LINES on stdin: as a batch script; prints its output
  { echo '#!/bin/bash'; cat; } >"$OUT/script"
  timeout 60 sbatch --wait -N2 -n3 -o "$OUT/batch.out" "$OUT/script" >/dev/null 2>&1
  BATCH=$?
  cat "$OUT/batch.out"
}

@test "sbatch: the job's hosts, no task, and tf-config is refused with the reason" {
  run batch <<'SCRIPT'
tfd-resolve slurm | jq -c '[.cluster.worker[] | sub(":.*"; "")], has("task")'
tfd-resolve slurm --format tf-config
echo "code $?"
eval "$(tfd-resolve slurm --format env)" || echo "eval failed"
srun -N2 -n3 bash -c 'tfd-resolve slurm --get task.index' | sort
SCRIPT
  [ "${lines[1]}" = false ]
  [ "$(jq -r '.[]' <<<"${lines[0]}" | sort -u | paste -sd,)" = n1,n2 ]
  [ "${lines[2]}" = "tfd-resolve: no task here: SLURM_PROCID is the batch step's, srun starts the tasks" ]
  [ "${lines[3]}" = "code 65" ]
  [ "${lines[5]}" = "eval failed" ]
  [ "${lines[6]} ${lines[7]} ${lines[8]}" = "0 1 2" ]
}

@test "hostlists expand as scontrol expands them" {
  local list
  for list in 'n[1-4]' 'n[8-10]' 'n[008-10]' 'a1,b[2-3],c' 'n[1,3,5-6]' 'rack[1-2]n[01-03]' 'x'; do
    diff <(tfd-resolve hostlist "$list") <(scontrol show hostnames "$list")
    [ "$(scontrol show hostnames "$(tfd-resolve hostlist "$list" | tfd-resolve hostlist --fold)")" = "$(scontrol show hostnames "$list")" ]
  done
}

# What TensorFlow itself makes of the same step, and of our TF_CONFIG.
tensorflow_step() {  # RESOLVE-OPTIONS -- SRUN-OPTIONS
  [ -n "${TFD_TENSORFLOW_PYTHON:-}" ] || skip "TFD_TENSORFLOW_PYTHON is not set"
  cat >"$BED/oracle.py" <<'PYTHON'
import json, os, subprocess, sys
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
jobs = dict((name, int(count)) for name, count in (part.split("=") for part in sys.argv[1].split(",")))
port_base = int(sys.argv[2])
own = json.loads(subprocess.check_output(["tfd-resolve", "slurm", "--jobs", sys.argv[1], "--port-base", sys.argv[2],
                                          "--gpus-per-node", "2"]))
same = json.loads(subprocess.check_output(["tfd-resolve", "slurm", "--jobs", sys.argv[1], "--port-base", sys.argv[2],
                                           "--gpus-per-node", "2", "--compat", "tensorflow"]))
text = subprocess.check_output(["tfd-resolve", "slurm", "--jobs", sys.argv[1], "--port-base", sys.argv[2],
                                "--gpus-per-node", "2", "--format", "tf-config"], encoding="utf-8")
from tensorflow.python.distribute.cluster_resolver.slurm_cluster_resolver import SlurmClusterResolver
from tensorflow.python.distribute.cluster_resolver.tfconfig_cluster_resolver import TFConfigClusterResolver
slurm = SlurmClusterResolver(jobs=jobs, port_base=port_base, gpus_per_node=2)
spec = slurm.cluster_spec()
assert own["cluster"] == spec.as_dict(), (own, spec)
assert same["cluster"] == spec.as_dict(), (same, spec)
for found in (own, same):
    assert (found["task"]["type"], found["task"]["index"]) == slurm.get_task_info(), (found, slurm.get_task_info())
    assert found["master"] == slurm.master(), (found, slurm.master())
    assert found["num_accelerators"] == slurm.num_accelerators(), (found, slurm.num_accelerators())
os.environ["TF_CONFIG"] = text
config = TFConfigClusterResolver()
assert config.cluster_spec().as_dict() == spec.as_dict()
assert (config.task_type, config.task_id) == slurm.get_task_info()
assert config.master() == slurm.master()
open(os.path.join(os.environ["OUT"], os.environ["SLURM_PROCID"] + ".agreed"), "w").close()
PYTHON
}

@test "TensorFlow's SlurmClusterResolver and TFConfigClusterResolver agree" {
  tensorflow_step
  timeout 300 srun --immediate=30 -N2 -n4 --ntasks-per-node=2 "$TFD_TENSORFLOW_PYTHON" "$BED/oracle.py" chief=1,ps=1,worker=2 9000
  [ "$(ls "$OUT"/*.agreed | wc -l)" = 4 ]
}
