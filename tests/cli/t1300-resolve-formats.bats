#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The formats of tfd-resolve for other launchers, and what eval makes of the worst values.

bats_require_minimum_version 1.5.0

setup() {
  unset TF_CONFIG CUDA_VISIBLE_DEVICES TFD_LOG "${!SLURM_@}" "${!OMPI_@}" "${!PMI_@}" "${!PMIX_@}"
  cd "$BATS_TEST_TMPDIR" || return
}

spec() { tfd-resolve simple --job chief=h0:1000 --job ps=h0:1001 --job 'worker=h1:1000,h1:1001,[::1]:1000' "$@"; }

@test "mpi: hosts and slots in the order of the tasks" {
  run -0 spec --format mpi
  [ "$output" = $'h0 slots=2\nh1 slots=2\n::1 slots=1' ]
}

@test "pytorch, torchrun, jax: variables for eval, and false where there are none" {
  run -0 bash -c 'eval "$(tfd-resolve simple --job worker=h1:29500,h1:2 --task worker:1 --format pytorch)"; echo "$MASTER_ADDR $MASTER_PORT $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK/$GROUP_WORLD_SIZE"'
  [ "$output" = "h1 29500 1/2 1/2 0/1" ]
  run -0 bash -c 'eval "$(tfd-resolve simple --job worker=h1:29500,h2:2 --task worker:1 --format torchrun)"; echo "$PET_MASTER_ADDR $PET_MASTER_PORT $PET_NODE_RANK/$PET_NNODES $PET_NPROC_PER_NODE"'
  [ "$output" = "h1 29500 1/2 1" ]
  run -0 bash -c 'eval "$(tfd-resolve simple --job worker=[::1]:1234,h2:2 --task worker:1 --format jax)"; echo "$JAX_COORDINATOR_ADDRESS $JAX_PROCESS_ID/$JAX_NUM_PROCESSES"'
  [ "$output" = "[::1]:1234 1/2" ]
  local format
  for format in pytorch torchrun jax env; do
    run -1 --separate-stderr bash -ec 'eval "$(tfd-resolve simple --job worker=h1:1 --format "$0")"; echo not reached' $format
    [ -z "$output" ]
    [ "$stderr" = "tfd-resolve: no task here: the spec names none; give --task JOB:INDEX" ]
  done
}

@test "a command gets the variables of --format beside TF_CONFIG" {
  run -0 spec --task worker:1 --format pytorch -- sh -c 'echo "$RANK $(echo "$TF_CONFIG" | jq -c .task)"'
  [ "$output" = '2 {"type":"worker","index":1}' ]
  run -65 --separate-stderr spec --task worker:1 --format torchrun -- echo not reached
  [ -z "$output" ]
  [ "$stderr" = "tfd-resolve: torchrun is started once per host, here by worker:0; worker:1 is its process 1 there" ]
  run -65 --separate-stderr spec --format env -- echo not reached
  [ -z "$output" ]
}

@test "task-prolog: bare export lines" {
  run -0 spec --task chief:0 --format task-prolog
  [ "$output" = 'export TF_CONFIG={"cluster": {"chief": ["h0:1000"], "ps": ["h0:1001"], "worker": ["h1:1000", "h1:1001", "[::1]:1000"]}, "task": {"type": "chief", "index": 0}}' ]
}

@test "eval of --format env is safe whatever the values hold" {
  # As tf-config passes it on: quotes, line breaks, command substitutions, in a job's name too.
  local nasty=$'{"cluster": {"work\'er": ["a\'; touch pwned; \':1", "$(touch pwned)`touch pwned`\\n\\u0007\\"\\u00ff:1", "*:1"]}, "task": {"type": "work\'er", "index": 0}}'
  local shell
  for shell in sh bash zsh; do
    command -v $shell >/dev/null || continue
    TF_CONFIG=$nasty run -0 --separate-stderr $shell -c '
      eval "$(tfd-resolve tf-config --compat tensorflow --format env)" || exit
      printf "%s\n" "$TF_CONFIG"'
    [ ! -e pwned ]
    [ "$(jq -r '.cluster["work'"'"'er"][0]' <<<"$output")" = "a'; touch pwned; ':1" ]
    [ "$(jq -c '.cluster["work'"'"'er"][1]' <<<"$output")" = '"$(touch pwned)`touch pwned`\n\u0007\"ÿ:1"' ]
  done
  # Bytes that are no UTF-8, as Slurm might set them.
  local gpus=$'0\'$(touch pwned)\n\xff\xfe"'
  run -0 env SLURM_STEP_ID=0 SLURM_STEP_NODELIST=n1 SLURM_STEP_TASKS_PER_NODE=1 SLURM_PROCID=0 CUDA_VISIBLE_DEVICES="$gpus" \
    sh -c 'eval "$(tfd-resolve slurm --format env)"; printf "%s." "$CUDA_VISIBLE_DEVICES"'
  [ ! -e pwned ]
  [ "$output" = "$gpus." ]
}

@test "a spec that no variable can hold is refused" {
  tfd-resolve simple --job "worker=$(seq -s , -f 'node%04g.example.org:8888' 5000)" >big.json  # fits argv, not a variable
  run -65 --separate-stderr tfd-resolve union big.json --task worker:0 --format env
  [ "$output" = false ]
  [[ $stderr == "tfd-resolve: TF_CONFIG would be "*" bytes long, and an environment variable can't be longer than 131061" ]]
  run -126 --separate-stderr tfd-resolve union big.json --task worker:0 -- true
  [[ $stderr == "tfd-resolve: cannot run true: argument list too long: TF_CONFIG alone has "*" bytes" ]]
}

@test "simple: accelerators" {
  run -0 spec --task worker:0 --accelerators GPU=2,TPU=4 --accelerators GPU=3 --get num_accelerators
  [ "$output" = '{"GPU": 3, "TPU": 4}' ]
}
