#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Heterogeneous jobs in a real Slurm: the batch script, steps over one component and over all, components as jobs,
# `srun A : B`, salloc. Needs root, slurm-wlm, munge and jq; skipped otherwise.

bats_require_minimum_version 1.5.0

source "$BATS_TEST_DIRNAME/slurm-steps.bash"

# Component 0 on n3 and n4, 1 on n1 and n2: ranks begin on n3, though every nodelist begins with n1.
hetjob() {  # SCRIPT-LINES on stdin
  { printf '#SBATCH %s\n' '-w n[3-4] -N2 -n4' hetjob '-w n[1-2] -N2 -n3 --gres=gpu:2'; cat; } | batch --export=ALL
}

@test "a batch script sees all components, in the order of the ranks" {
  run hetjob <<'SCRIPT'
tfd-resolve slurm | jq -c '[.cluster.worker[] | sub(":.*"; "")], has("task")'
srun --het-group=0,1 bash -c 'tfd-resolve slurm | jq -c "[.cluster.worker[] | sub(\":.*\"; \"\")]"' | sort -u
tfd-resolve slurm --format tf-config
SCRIPT
  echo "$output"
  [ "${lines[0]}" = '["n3","n3","n3","n4","n1","n1","n2"]' ]
  [ "${lines[1]}" = false ]
  [ "${lines[2]}" = "${lines[0]}" ]
  [[ "${lines[3]}" == *"no task here: SLURM_PROCID is the batch step's"* ]]
}

@test "a step over all components is one cluster, however it is distributed" {
  local kind
  for kind in block cyclic plane=2; do
    rm -f "$OUT"/*
    export OPTIONS=
    hetjob <<<"srun -m $kind --het-group=0,1 bash -c \"\$RESOLVE\""
    check_all 7
  done
}

@test "components become jobs, also in the batch script" {
  export OPTIONS='--jobs ps=het:0,worker=het:1'
  run hetjob <<'SCRIPT'
tfd-resolve slurm $OPTIONS | jq -c '.cluster | map_values(map(sub(":.*"; "")))'
srun --het-group=1,0 bash -c "$RESOLVE"
SCRIPT
  echo "$output"
  [ "${lines[0]}" = '{"ps":["n3","n3","n3","n4"],"worker":["n1","n1","n2"]}' ]
  check_places 7
  [ "$(jq -r .task.type "$OUT"/[0-3].json | sort -u)" = ps ]
  [ "$(jq -r .task.type "$OUT"/[4-6].json | sort -u)" = worker ]
  rm -f "$OUT"/*
  export OPTIONS='--jobs chief=1,worker=3,ps=het:1'
  hetjob <<<'srun --het-group=0,1 bash -c "$RESOLVE"'
  check_places 7
  [ "$(jq -r .task.type "$OUT"/?.json | paste -sd,)" = chief,worker,worker,worker,ps,ps,ps ]
}

@test "only the component with GPUs has some" {
  hetjob <<<'srun --het-group=0,1 bash -c "tfd-resolve slurm --format env >\$OUT/\$SLURM_PROCID.env; eval \"\$(cat \$OUT/\$SLURM_PROCID.env)\"; echo \${CUDA_VISIBLE_DEVICES-none} >\$OUT/\$SLURM_PROCID.gpus"'
  [ "$(cat "$OUT"/*.gpus | paste -sd' ')" = 'none none none none 0 1 0' ]
}

@test "a step over one component is a cluster of its own" {
  run hetjob <<'SCRIPT'
srun --het-group=1 bash -c 'tfd-resolve slurm | jq -c "[.cluster.worker[] | sub(\":.*\"; \"\")]"' | sort -u
srun --het-group=1 -n1 -N1 tfd-resolve slurm --jobs ps=het:0,worker=het:1
SCRIPT
  echo "$output"
  [ "${lines[0]}" = '["n1","n1","n2"]' ]
  [[ "$output" == *"job 'ps' is component 0, but no task runs there"* ]]
}

@test "components with commands and sizes of their own: srun A : B" {
  export OPTIONS='--jobs ps=het:0,worker=het:1'
  hetjob <<<'srun --het-group=0 -n1 -N1 bash -c "$RESOLVE" : --het-group=1 -n3 bash -c "$RESOLVE"'
  check_places 4
  rm -f "$OUT"/*  # components whose default distributions differ
  hetjob <<<'srun --het-group=0 -n2 -N2 bash -c "$RESOLVE" : --het-group=1 -n3 bash -c "$RESOLVE"'
  check_places 5
  rm -f "$OUT"/*
  timeout 90 srun -w n3 -N1 -n2 bash -c "$RESOLVE" : -w n[1-2] -N2 -n3 bash -c "$RESOLVE"
  check_places 5
  [ "$(jq -r .task.type "$OUT"/?.json | paste -sd,)" = ps,ps,worker,worker,worker ]
}

@test "components that are distributed differently are noticed" {
  # Output of tasks is kept in files: srun may go before it has passed on the last words of tasks that failed. It has the
  # distribution of its own component or of the other one, whichever srun came to last: then it notices.
  export SAY='tfd-resolve slurm &>"$OUT/$SLURM_PROCID.said"; echo "$SLURM_DISTRIBUTION" >"$OUT/$SLURM_PROCID.seen"'
  hetjob <<<'srun --het-group=0 -m cyclic bash -c "$SAY" : --het-group=1 -m block bash -c "$SAY"'
  tail "$OUT"/*
  notice cyclic 0,2,3 0 1 2 3
  notice block 4,5 4 5 6
}

# The tasks of a component of this distribution. GTIDS are those on the node of the first one.
notice() { # KIND GTIDS TASKS…
  local kind=$1 gtids=$2 task
  shift 2
  for task in "$@"; do
    if [[ $(<"$OUT/$task.seen") == "$kind"* ]]; then
      jq -e --argjson task "$task" '.task.index == $task' "$OUT/$task.said"
    else
      [ "$task" != "$1" ] || grep -F "SLURM_GTIDS is $gtids: give all components the same srun -m" "$OUT/$task.said"
      run ! grep -F '"task"' "$OUT/$task.said"
    fi
  done
}

@test "salloc: all components, and no task" {
  run --separate-stderr timeout 90 salloc -w n3 -N1 -n2 : -w n[1-2] -N2 -n3 tfd-resolve slurm --jobs ps=het:1,worker=het:0
  [ "$status" = 0 ]
  [ "$(jq -c '.cluster | map_values(map(sub(":.*"; "")))' <<<"$output")" = '{"ps":["n1","n1","n2"],"worker":["n3","n3"]}' ]
  [ "$(jq 'has("task")' <<<"$output")" = false ]
}

@test "each component has the ports that were reserved on its hosts" {
  hetjob <<<'srun --het-group=0,1 bash -c "$RESOLVE; echo \$SLURM_STEP_RESV_PORTS >\$OUT/ports"'
  check_all 7
  local all
  all=$(tfd-resolve hostlist "[$(cat "$OUT/ports")]")
  # 3 tasks and one more on n3, 2 and one more on n1
  [ "$(wc -w <<<$all)" = 7 ]
  [ "$(jq -r '.cluster.worker[] | sub(".*:"; "")' "$OUT/0.json" | sort -u | wc -l)" = 5 ]
}
