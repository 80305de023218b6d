#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The batch scripts of examples/slurm as they are, inside a real Slurm. Its nodes are one host, so tasks that serve are on one, and
# jobs may last ten minutes.

bats_require_minimum_version 1.5.0

source "$BATS_TEST_DIRNAME/slurm-trainings.bash"

setup() {
  [ -z "$MISSING" ] || skip "no Slurm here: $MISSING"
  OUT=$(mktemp -d "$BED/out-XXXXXX")
  cp -r "$BATS_TEST_DIRNAME"/../../examples/{slurm,digits} "$OUT"
  export OUT TFD_KEY_FILE=$OUT/key
  cd "$OUT"
  tfd-serve -q --generate-key
}

# Submits an example and waits for its end: STATUS, and its output in "out".
submit() { # SBATCH-OPTIONS… -- SCRIPT ARGS…
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  STATUS=0
  timeout 120 sbatch --wait -o out --time=5 "${options[@]}" "slurm/$1" "${@:2}" >/dev/null 2>&1 || STATUS=$?
  [ "$STATUS" = 0 ] || { echo "exit code $STATUS"; cat out; return 1; }
}

events() { grep -a '^{.*}$' "${1:-out}"; }

@test "examples/slurm: four workers of one srun make each step together" {
  submit --nodes=1 --ntasks-per-node=4 -- train.sbatch digits/program.json --set train.steps=300
  events | jq -es 'any(.[]; .event == "start" and .workers == 4)
    and any(.[]; .event == "end" and .reason == "done" and .step == 300) and any(.[]; .event == "eval" and .metrics.accuracy > 0.8)'
}

@test "examples/slurm: parameter servers and workers are one srun" {
  submit --nodes=1 --overcommit -- parameter-servers.sbatch digits/program.json --set train.steps=300
  events | jq -es '(map(select(.event == "end" and .reason == "done") | .task) | sort) == ["worker:0", "worker:1", "worker:2"]'
}

@test "examples/slurm: Slurm's signal before the time limit, twice, and the training is done in its third allocation" {
  local job last
  edit() { jq "$1" digits/program.json >edited && mv edited digits/program.json; }  # what a training reads when it begins
  edit '.train.steps = 100000000 | .train.log_every = 1000 | .train.checkpoint.every = 1000000 | .train.evaluate.every = 1000000'
  # Slurm looks at limits every half minute, so the signal comes in the first one.
  job=$(sbatch --parsable -o out --nodes=1 --ntasks-per-node=4 --time=1 --signal=TERM@10 slurm/requeue.sbatch digits/program.json)
  for allocation in 1 2; do
    EVENT_LIMIT=120 until_event out ".event == \"end\" and .reason == \"interrupted\" and .step > ${last:-0}"
    last=$(jq .step <<<"$EVENT")
    slurm_wait 60 eval "[ \"\$(squeue -h -j $job -o %T)\" = PENDING ]"
    [ "$allocation" = 1 ] || edit ".train.steps = $last + 50"
    slurm_wait 30 scontrol update "jobid=$job" StartTime=now  # which would be in two minutes
  done
  until_event out '.event == "end" and .reason == "done"'
  [ "$(jq .step <<<"$EVENT")" = $((last + 50)) ]
  events | jq -es '[.[] | select(.event == "start") | .step] as $begun | [.[] | select(.event == "end") | .step] as $ended
    | ($begun | length) == 3 and $begun[1:] == $ended[:2]'
  slurm_wait 30 eval "[ -z \"\$(squeue -h -j $job)\" ]"
}

@test "examples/slurm: a sweep over learning rates, and its table" {
  local array
  array=$(sbatch --parsable --time=5 slurm/sweep.sbatch digits/program.json --set train.steps=100 --set train.evaluate.every=100)
  STATUS=0
  timeout 120 sbatch --wait --dependency="afterany:$array" slurm/sweep-table.sbatch >/dev/null || STATUS=$?
  cat sweep-table.txt
  [ "$STATUS" = 0 ]
  [ "$(head -n 1 sweep-table.txt)" = $'rate\taccuracy\tloss' ]
  [ "$(tail -n +2 sweep-table.txt | cut -f 1 | sort | paste -sd ' ')" = '0.0001 0.001 0.003 0.01 0.1' ]
  tail -n +2 sweep-table.txt | cut -f 2 | sort -gcr
  [ "$(ls -d sweep/*/checkpoints/*.safetensors | wc -l)" = 5 ]
}

@test "examples/slurm: TensorFlow's scripts have TF_CONFIG, JAX's their numbers, torchrun its options" {
  mkdir bin
  # shellcheck disable=SC2016
  printf '#!/bin/sh\necho "$PET_NODE_RANK/$PET_NNODES at $PET_MASTER_ADDR runs $*"\n' >bin/torchrun && chmod +x bin/torchrun
  cat >train.py <<'PYTHON'
import json, os
task = json.loads(os.environ["TF_CONFIG"])["task"]
print(f"{task['type']}:{task['index']}", os.environ.get("JAX_PROCESS_ID", "-"), os.environ.get("JAX_NUM_PROCESSES", "-"))
PYTHON
  submit -- tensorflow.sbatch train.py
  [ "$(sort out)" = $'chief:0 - -\nworker:0 - -\nworker:1 - -\nworker:2 - -' ]
  submit -- jax.sbatch train.py
  [ "$(sort out)" = $'worker:0 0 4\nworker:1 1 4\nworker:2 2 4\nworker:3 3 4' ]
  PATH=$PWD/bin:$PATH submit -- torchrun.sbatch train.py --epochs 2
  [ "$(sort out)" = $'0/2 at n1 runs train.py --epochs 2\n1/2 at n1 runs train.py --epochs 2' ]
}

@test "docs/start/tutorial.md: from a Keras model to a Slurm job, as it stands there" {
  [ -n "${TFD_KERAS_PYTHON:-}" ] || skip "TFD_KERAS_PYTHON names no Python with keras and jax"
  mkdir tutorial
  cd tutorial
  unset TFD_KEY_FILE  # it makes its own
  export HOME=$PWD XDG_CONFIG_HOME=$PWD/config PYTHONPATH=$TFD_SOURCE/share KERAS_BACKEND=jax JAX_PLATFORMS=cpu
  sed 's/--nodes=2 --ntasks-per-node=1/--nodes=1 --ntasks=2/' "$TFD_SOURCE/docs/start/tutorial.md" >../tutorial.md  # two nodes are one host here
  TFD_HAVE_SLURM=1 "$TFD_KERAS_PYTHON" "$BATS_TEST_DIRNAME/run-page.py" ../tutorial.md
  tfd-checkpoint list in-slurm
}

@test "docs/how-to: the commands for Slurm run as they stand there, but for their two nodes, which are one host here" {
  unset TFD_KEY_FILE  # the first block makes one
  mkdir -p source/{man,docs} home
  export HOME=$OUT/home XDG_CONFIG_HOME=$OUT/home/.config TFD_HAVE_SLURM=1 SLURM_OVERCOMMIT=1 SLURM_NNODES=1
  printf 'x(1)\n\n# NAME\n\nx - y\n' >source/man/x.1.scd
  : >source/README.md
  cp -r "$TFD_SOURCE/examples" source
  sed 's/--nodes=2 --ntasks-per-node=1/--nodes=1 --ntasks=2/' "$TFD_SOURCE/docs/how-to/slurm.md" >source/docs/1.md
  cp "$TFD_SOURCE/docs/how-to/parameter-servers.md" source/docs/2.md
  TFD_SOURCE=$PWD/source run -0 salloc -N1 -n5 --overcommit "$TFD_SOURCE/tests/dist/run-examples.sh" docs/1.md docs/2.md
  [[ $output != *skip* && $output == *" 0 failed"* ]]
  [ "$(grep -c '^ok docs/1.md' <<<"$output")" -ge 3 ]
}
