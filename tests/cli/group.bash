# SPDX-License-Identifier: Apache-2.0
# What the tests of tfd-run --strategy multi-worker-mirrored share: groups of workers on loopback.

# shellcheck source=run.bash
source "$(dirname "${BASH_SOURCE[0]}")/run.bash"

# The digits with a seeded shuffle; N workers at free ports of loopback in cluster.json.
SEEDED=(--set 'datasets.train[1]={"shuffle": {"buffer": 2000, "seed": 7}}')
group_of() { # N
  ports "$1" | jq -Rn '{cluster: {worker: [inputs | splits(" +") | "127.0.0.1:\(.)"]}}' >cluster.json
}
# Starts $1 workers; PIDS are their processes, the chief's first.
start_group() { # N PROGRAM ARGS…
  local i n=$1
  shift
  PIDS=()
  for ((i = n - 1; i >= 0; --i)); do
    worker "worker:$i" "$@" --strategy multi-worker-mirrored --key-file none
    PIDS=("$RUN" "${PIDS[@]}")
  done
}
group_ends() { # CODE
  local pid
  for pid in "${PIDS[@]}"; do run_ends "$pid" "$1" || return 1; done
}
# What a checkpoint's variables are, without what differs from run to run.
weights() { # FILE
  local size
  size=$(od -An -tu8 -N8 "$1" | tr -d ' ')
  tail -c +$((size + 9)) "$1" | sha256sum
}
