# SPDX-License-Identifier: Apache-2.0
# Code shared by the tests inside a real Slurm: one for a file, steps with a limit, each rank's result.
# shellcheck source=/dev/null
source "$BATS_TEST_DIRNAME/slurm-bed.bash"

setup_file() {
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

# The same where the jobs are components: each task is at its own place, all in one cluster.
check_places() {  # TASKS
  local rank
  for ((rank = 0; rank < $1; rank++)); do
    jq -e --arg where "$(cat "$OUT/$rank.where")" '
      .task as $task | .master == "grpc://" + .cluster[$task.type][$task.index] and (.master | startswith("grpc://" + $where + ":"))' \
      "$OUT/$rank.json" || { echo "rank $rank:"; cat "$OUT/$rank.json" "$OUT/$rank.where"; return 1; }
    diff <(jq -S .cluster "$OUT/0.json") <(jq -S .cluster "$OUT/$rank.json")
  done
  [ "$(jq -c .task "$OUT"/*.json | sort -u | wc -l)" = "$1" ]
  [ "$(jq -r '.cluster[][]' "$OUT/0.json" | sort -u | wc -l)" = "$1" ]
}

# For the shell of a task: the same two files.
# shellcheck disable=SC2016
RESOLVE='tfd-resolve slurm $OPTIONS >"$OUT/$SLURM_PROCID.json" || exit; echo "$SLURMD_NODENAME" >"$OUT/$SLURM_PROCID.where"'
export RESOLVE

hosts_of() {  # FILE: the spec's hosts by rank
  jq -r '.cluster | to_entries | sort_by(.key)[] | .value[] | sub(":[0-9]+$"; "")' "$1"
}

batch() {  # [SBATCH-OPTIONS]; SCRIPT-LINES on stdin: as a batch script; prints its output
  { echo '#!/bin/bash'; cat; } >"$OUT/script"
  [ $# -gt 0 ] || set -- -N2 -n3
  timeout "${BATCH_LIMIT:-90}" sbatch --wait "$@" -o "$OUT/batch.out" "$OUT/script" >/dev/null 2>&1
  BATCH=$?
  cat "$OUT/batch.out"
}
