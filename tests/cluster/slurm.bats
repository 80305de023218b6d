#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-resolve inside a real Slurm of four nodes: srun, salloc and sbatch, several tasks a node, block, cyclic, plane and
# arbitrary distribution, arrays, reserved ports, hostlists. Needs root, slurm-wlm, munge and jq; skipped otherwise.

bats_require_minimum_version 1.5.0

source "$BATS_TEST_DIRNAME/slurm-steps.bash"

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

@test "srun tfd-resolve slurm -- CMD gives each task its TF_CONFIG and its exit code" {
  run --separate-stderr step -N2 -n2 tfd-resolve slurm --jobs chief=1,worker=1 -- bash -c 'echo "$TF_CONFIG" >"$OUT/$SLURM_PROCID.json"; exit "$SLURM_PROCID"'
  [ "$status" = 1 ]
  [ "$(jq -r .task.type "$OUT/0.json" "$OUT/1.json" | paste -sd,)" = chief,worker ]
}

@test "a signal to the step reaches the command, for tfd-resolve is replaced by it" {
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
  [ "${lines[2]}" = "tfd-resolve: no task here: SLURM_PROCID is the batch step's; srun starts the tasks" ]
  [ "${lines[3]}" = "code 65" ]
  [ "${lines[5]}" = "eval failed" ]
  [ "${lines[6]} ${lines[7]} ${lines[8]}" = "0 1 2" ]
}

@test "sbatch: a script that a step submitted is no task of that step" {
  printf '%s\n' '#!/bin/bash' 'tfd-resolve slurm' 'tfd-resolve slurm --format tf-config' >"$OUT/inner"
  step -N2 -n2 bash -c '[ "$SLURM_PROCID" = 0 ] || exit 0; sbatch --wait -w n3 -n2 -o "$OUT/inner.out" "$OUT/inner"; :'
  [ "$(head -n 1 "$OUT/inner.out" | jq -c '[.cluster.worker[] | sub(":.*"; "")], has("task")' | paste -sd' ')" = '["n3","n3"] false' ]
  grep -q "no task here: SLURM_PROCID is the batch step's" "$OUT/inner.out"
}

@test "the interactive step of salloc is no task" {
  run --separate-stderr timeout 60 salloc -N2 -n3 <<<'echo "step $SLURM_STEP_ID"; tfd-resolve slurm; tfd-resolve slurm --format tf-config 2>&1'
  [ "${lines[0]}" = "step 4294967290" ]
  [ "$(jq -c '.cluster.worker | length' <<<"${lines[1]}")" = 3 ]
  [ "$(jq 'has("task")' <<<"${lines[1]}")" = false ]
  [ "${lines[2]}" = "tfd-resolve: no task here: SLURM_PROCID is the interactive step's; srun starts the tasks" ]
}

@test "tasks of an array on one node don't share a port" {
  run batch --array=0-3 -w n1 -n1 <<'SCRIPT'
srun bash -c 'unset SLURM_STEP_RESV_PORTS; tfd-resolve slurm >"$OUT/$SLURM_ARRAY_TASK_ID.json"'
SCRIPT
  [ "$(ls "$OUT"/*.json | wc -l)" = 4 ]
  [ "$(cat "$OUT"/*.json | jq -r '.cluster.worker[]' | sort -u | wc -l)" = 4 ]
  [ "$(cat "$OUT"/*.json | jq -r '.cluster.worker[] | sub(":.*"; "")' | sort -u)" = n1 ]
}

@test "more tasks than cores, fewer tasks than the allocation, so many a node" {
  resolve_all -- -N1 -n9 --overcommit
  check_all 9
  rm -f "$OUT"/*
  timeout 60 salloc -N3 -n9 bash -c 'srun -n2 bash -c "$RESOLVE"'
  check_all 2
  rm -f "$OUT"/*
  resolve_all -- -N3 --ntasks-per-node=2
  check_all 6
  [ "$(hosts_of "$OUT/0.json" | uniq -c | awk '{print $1}' | paste -sd,)" = 2,2,2 ]
  rm -f "$OUT"/*
  timeout 60 salloc -N3 -n9 bash -c 'srun --preserve-env -N2 -n3 bash -c "$RESOLVE"'
  check_all 3
}

# Random expressions of what both understand: up to two groups, the last at the end.
random_hostlists() {  # COUNT SEED
  python3 - "$1" "$2" <<'PYTHON'
import random, sys
count, seed = int(sys.argv[1]), int(sys.argv[2])
random.seed(seed)
def ranges():
    parts = []
    for _ in range(random.randint(1, 4)):
        first = random.choice([random.randint(0, 12), random.randint(90, 1002)])
        text = str(first).zfill(random.choice([0, 0, 2, 3, 4]))
        parts.append(text if random.random() < 0.4 else f"{text}-{str(first + random.randint(0, 12)).zfill(random.choice([0, 2, 5]))}")
    return "[" + ",".join(parts) + "]"
def item():
    name = random.choice(["n", "node", "gpu-", "r2c", "x.y", "a0"])
    kind = random.random()
    if kind < 0.2: return name + str(random.randint(0, 99))
    if kind < 0.7: return name + ranges()
    if kind < 0.85: return name + ranges() + random.choice(["", "n", "-c"]) + ranges()
    return random.choice(["login", "db-master", "Zeta"])
for _ in range(count):
    print(",".join(item() for _ in range(random.randint(1, 4))))
PYTHON
}

@test "hostlists: 300 random ones expand as scontrol expands them, and fold into what it reads" {
  local list seed=$RANDOM
  echo "seed $seed"
  while read -r list; do
    tfd-resolve hostlist "$list" >"$OUT/own"
    scontrol show hostnames "$list" >"$OUT/slurm"
    cmp "$OUT/own" "$OUT/slurm" || { echo "differs: $list"; return 1; }
    scontrol show hostnames "$(tfd-resolve hostlist --fold <"$OUT/own")" | cmp - "$OUT/slurm" || { echo "folds wrongly: $list"; return 1; }
  done < <(random_hostlists 300 "$seed")
}

@test "hostlists: folded as scontrol folds them" {
  local list
  for list in n3,n1,n2,n1 n1,n2,n3,n5 r1n1,r1n2,r2n1 n08,n09,n10,n11 login,n1,n2 a,b,c 'n[1-400]' 'n[1-20],m[3-9],n[21-30]'; do
    [ "$(tfd-resolve hostlist --fold "$list")" = "$(scontrol show hostlist "$(scontrol show hostnames "$list" | paste -sd,)")" ]
    [ "$(tfd-resolve hostlist "$list" | sort -V | tfd-resolve hostlist --fold)" = "$(scontrol show hostlist "$(scontrol show hostnames "$list" | sort -V | paste -sd,)")" ]
  done
}

@test "hostlists: what scontrol refuses is refused" {
  local list
  for list in 'n[]' 'n[1,]' 'n[a]' 'n[3-1]' 'n[1-2-3]' 'n[-1]' 'n[[1]]' 'x[1-9999999]'; do
    [[ "$(scontrol show hostnames "$list" 2>&1)" == *"Invalid hostlist"* ]]
    run tfd-resolve hostlist "$list"
    [ "$status" = 65 ]
  done
}
