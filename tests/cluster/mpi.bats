#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-resolve mpi, and tfd-run --collectives mpi, under the real mpirun of Open MPI and mpiexec of MPICH: on one host, and on two
# that are UTS namespaces of this one, reached by a stand-in for ssh. Needs openmpi-bin and mpich, for plug-ins also libopenmpi-dev
# and libmpich-dev; two hosts need root. Skipped otherwise.

bats_require_minimum_version 1.5.0
# shellcheck source=../cli/until.bash
source "$BATS_TEST_DIRNAME/../cli/until.bash"

setup() {
  unset TF_CONFIG TFD_LOG "${!SLURM_@}" "${!OMPI_@}" "${!PMI_@}" "${!PMIX_@}"
  cd "$BATS_TEST_TMPDIR" || return
  printf 'nodea slots=2\nnodeb slots=2\n' >hosts
  cat >agent <<'SCRIPT'
#!/bin/sh
# In ssh's place: [OPTION…] HOST COMMAND…, in a UTS namespace whose hostname is HOST.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec unshare --uts sh -c 'hostname "$1"; shift; exec sh -c "$*"' sh "$host" "$@"
SCRIPT
  chmod +x agent
}

teardown() {
  # timeout, and with it the launcher and its ranks, of a test that has failed.
  [ -z "${LAUNCHER:-}" ] || kill "$LAUNCHER" 2>/dev/null || true
}

need() {  # COMMAND PACKAGE
  command -v "$1" >/dev/null || skip "no $1 here: install $2"
}
two_hosts() {
  [ "$(id -u)" = 0 ] || skip "two hosts on one need root"
  unshare --uts true 2>/dev/null || skip "no UTS namespaces here"
}
open_mpi() {  # MPIRUN-OPTIONS… COMMAND…
  need mpirun.openmpi openmpi-bin
  timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl self,tcp --mca oob_tcp_if_include lo "$@"
}
hydra() {
  need mpiexec.hydra mpich
  timeout 60 mpiexec.hydra -iface lo "$@"
}

# The plug-in of each, built from the installed source's text, and a training by it: digits in an order of their own, in steps of
# four replicas. Each rank's process id is in pid.RANK.
plug_in() {  # open_mpi|hydra
  local of=openmpi
  [ "$1" = open_mpi ] || of=mpich
  need "mpicc.$of" "lib$of-dev"
  "mpicc.$of" -std=c99 -Wall -Wextra -Werror -pedantic -shared -fPIC -O2 -o "$1.so" "$TFD_SOURCE/share/mpi/tfd-mpi.c"
  export TFD_MPI_PLUGIN=$PWD/$1.so
}
DIGITS=(tfd-run digits/program.json --strategy multi-worker-mirrored --cluster mpi --key-file none --replicas 4
  --set 'datasets.train[1]={"shuffle": {"buffer": 2000, "seed": 7}}')
copy_digits() { cp -r "$TFD_SOURCE/examples/digits" digits; }
# shellcheck disable=SC2016  # the rank is each process's own
AS_RANK=(sh -c 'echo $$ >"pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"; exec "$@" 2>"talk.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"' sh)
makes_steps() { grep -q '"event":"step"' events; }

# Every rank's line is RANK HOSTNAME SPEC; the spec must be the same and put the rank where it is.
REPORT='echo "${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $(hostname) $(tfd-resolve mpi --jobs chief=1,worker=2 "$@")"'
check_ranks() {  # COUNT
  [ "$(wc -l <<<"$output")" = "$1" ]
  [ "$(cut -d' ' -f3- <<<"$output" | jq -cS .cluster | sort -u | wc -l)" = 1 ]
  local rank host spec
  while read -r rank host spec; do
    jq -e --argjson rank "$rank" --arg host "$host" '
      ([.cluster.chief[], .cluster.worker[]][$rank]) as $own
      | ($own | startswith("127.0.0.1:") or startswith($host + ":")) and .master == "grpc://" + $own
        and .task == [{type: "chief", index: 0}, {type: "worker", index: 0}, {type: "worker", index: 1}][$rank]' <<<"$spec" ||
      { echo "rank $rank on $host: $spec"; return 1; }
  done <<<"$output"
}

@test "Open MPI on one host: auto finds it, the loopback, a rank each" {
  run -0 --separate-stderr open_mpi -n 3 sh -c "$REPORT" sh
  check_ranks 3
  run -0 --separate-stderr open_mpi -n 2 tfd-resolve auto --get resolver
  [ "$output" = $'mpi\nmpi' ]
}

@test "Open MPI: two runs have ports of their own" {
  one=$(open_mpi -n 1 tfd-resolve mpi --get 'cluster.worker[0]')
  two=$(open_mpi -n 1 tfd-resolve mpi --get 'cluster.worker[0]')
  [ "$one" != "$two" ]
}

@test "Open MPI on two hosts: the slots of the hostfile say where each rank is" {
  two_hosts
  run -0 --separate-stderr open_mpi --mca plm rsh --mca plm_rsh_agent "$PWD/agent" --hostfile hosts -n 3 \
    sh -c "$REPORT" sh --hostfile "$PWD/hosts"
  check_ranks 3
  [[ $output == *nodeb* ]]
}

@test "Open MPI on two hosts, by node: refused, naming both hosts" {
  two_hosts
  run --separate-stderr open_mpi --mca plm rsh --mca plm_rsh_agent "$PWD/agent" --map-by node --hostfile hosts -n 3 \
    tfd-resolve mpi --hostfile "$PWD/hosts"
  [ "$status" = 78 ]
  [[ $stderr == *"rank 1 should be on nodea by the slots of --hostfile, but runs on nodeb: use mpirun's --map-by slot"* ]]
}

@test "Open MPI on two hosts without a list: one clear error" {
  two_hosts
  run --separate-stderr open_mpi --mca plm rsh --mca plm_rsh_agent "$PWD/agent" --hostfile hosts -n 3 tfd-resolve mpi
  [ "$status" = 78 ]
  [[ $stderr == *"nothing here says which hosts the 3 ranks are on: give --hostfile FILE with a line 'HOST slots=N' for each host"* ]]
}

@test "MPICH's Hydra on one host, and on two" {
  run -0 --separate-stderr hydra -n 3 sh -c "$REPORT" sh --port-base 7000
  check_ranks 3
  two_hosts
  printf 'nodea:2\nnodeb:2\n' >machines
  run -0 --separate-stderr hydra -launcher ssh -launcher-exec "$PWD/agent" -f machines -n 3 \
    sh -c "$REPORT" sh --hostfile "$PWD/machines"
  check_ranks 3
  [[ $output == *nodeb* ]]
}

@test "the hostfile that tfd-resolve prints starts the ranks where the spec has them" {
  two_hosts
  tfd-resolve simple --job chief=nodea:1 --job worker=nodea:2,nodeb:1 --format mpi >printed
  run -0 --separate-stderr open_mpi --mca plm rsh --mca plm_rsh_agent "$PWD/agent" --hostfile printed -n 3 \
    sh -c 'echo "$OMPI_COMM_WORLD_RANK $(hostname)"'
  [ "$(sort <<<"$output")" = $'0 nodea\n1 nodea\n2 nodeb' ]
}

@test "the manual's example with mpirun runs" {
  need mpirun.openmpi openmpi-bin
  mkdir bin
  # In Python's place: prints its task, from TF_CONFIG.
  printf '#!/bin/sh\n[ "$1" = train.py ] && printf "%%s\\n" "$TF_CONFIG" | jq -e ".cluster.worker | length == 3"\n' >bin/python
  chmod +x bin/python
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  line=$(grep -n -A 1 '^# needs: mpi$' "$TFD_SOURCE/man/tfd-resolve-mpi.1.scd" | tail -n 1 | cut -d- -f1)
  TFD_HAVE_MPI=1 PATH=$PWD/bin:$PATH run -0 "$TFD_SOURCE/tests/dist/run-examples.sh" "man/tfd-resolve-mpi.1.scd:$((line - 2))"
  [ "${lines[0]}" = "ok man/tfd-resolve-mpi.1.scd:$((line - 2))" ]
}

@test "mpirun without a cluster: tfd-run and tfd-launch refuse, and what they say trains" {
  local linear=("$TFD_SOURCE/examples/linear/program.json" --set train.steps=3) mpi size
  for mpi in open_mpi hydra; do
    size=OMPI_COMM_WORLD_SIZE
    [ $mpi = open_mpi ] || size=PMI_SIZE
    for strategy in "" "--strategy mirrored" "--strategy multi-worker-mirrored"; do
      # shellcheck disable=SC2086
      run --separate-stderr $mpi -n 2 tfd-run "${linear[@]}" $strategy
      [ "$status" = 64 ] || { echo "$status: $stderr"; false; }
      [[ $stderr == *"$size is 2: 2 processes were started together"*"--cluster mpi makes one training of them"* ]]
    done
    run --separate-stderr $mpi -n 2 tfd-launch -- sh -c 'echo rank $RANK of $WORLD_SIZE'
    [ "$status" = 64 ] && [ -z "$output" ] || { echo "$status: $output"; false; }
    run -0 --separate-stderr $mpi -n 2 tfd-run "${linear[@]}" --cluster mpi --replicas 2
    jq -es '[.[] | select(.event == "start")] | length == 1 and .[0].workers == 2' <<<"$output"
    # An open stdin, which each launcher gives to some ranks, doesn't hide what tfd-resolve sets.
    run -0 --separate-stderr $mpi -n 2 tfd-resolve mpi -- tfd-run "${linear[@]}" --strategy multi-worker-mirrored --replicas 2
    run -0 --separate-stderr $mpi -n 2 tfd-run "${linear[@]}" --cluster none
    [ "$(grep -c '"event":"end"' <<<"$output")" = 2 ]
  done
}

@test "mpirun tfd-run: the ranks of both make each step together" {
  cp -r "$BATS_TEST_DIRNAME/../../examples/digits" digits
  local of line=(tfd-run digits/program.json --strategy multi-worker-mirrored --cluster mpi --key-file none --set train.steps=50)
  for of in open_mpi hydra; do
    run -0 --separate-stderr "$of" -n 3 "${line[@]}" --set "train.checkpoint.dir=$of" --replicas 3
    jq -es 'any(.[]; .event == "start" and .workers == 3) and any(.[]; .event == "end" and .reason == "done" and .step == 50)' <<<"$output"
  done
}

@test "--collectives mpi: sums by both MPIs give the losses of shared memory, to rounding" {
  local of n how loss first
  copy_digits
  for of in open_mpi hydra; do
    plug_in "$of"
    for n in 2 3; do
      for how in shm mpi; do
        run -0 --separate-stderr "$of" -n "$n" "${DIGITS[@]}" --set train.steps=50 --set "train.checkpoint.dir=$of-$n-$how" \
          --collectives "$how"
        loss=$(jq -r 'select(.event == "eval" and .step == 50) | .metrics.loss' <<<"$output")
        [ -n "$loss" ]
        jq -en --argjson a "$loss" --argjson b "${first:=$loss}" '($a - $b) / $b | fabs < 1e-5'
      done
    done
  done
}

@test "--collectives mpi goes by MPI: a training's values that a counting MPI has seen" {
  copy_digits
  plug_in open_mpi
  # In front of MPI's functions: how often they were called, and with how many bytes.
  cat >count.c <<'SOURCE'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static long sums, bytes;
int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm of, MPI_Request *out) {
  int size;
  PMPI_Type_size(type, &size);
  ++sums;
  bytes += (long)count * size;
  return PMPI_Iallreduce(from, to, count, type, op, of, out);
}
int MPI_Finalize(void) {
  FILE *file = fopen(getenv("COUNTS"), "a");
  fprintf(file, "%ld %ld\n", sums, bytes);
  fclose(file);
  return PMPI_Finalize();
}
SOURCE
  mpicc.openmpi -shared -fPIC -o counting.so "$TFD_SOURCE/share/mpi/tfd-mpi.c" count.c
  TFD_MPI_PLUGIN=$PWD/counting.so COUNTS=$PWD/counts run -0 --separate-stderr open_mpi -n 2 "${DIGITS[@]}" --set train.steps=50 \
    --collectives mpi
  # Each rank: gradients of each step, and an end in order.
  [ "$(wc -l <counts)" = 2 ]
  awk '$1 < 50 || $2 < 100000 { exit 1 }' counts
}

# Three ranks that train on and on, once they make steps: LAUNCHER has started them.
train_on_three() { # OF
  plug_in "$1"
  rm -f events pid.* talk.*
  "$1" -n 3 "${AS_RANK[@]}" "${DIGITS[@]}" --set train.steps=100000000 --set "train.checkpoint.dir=$1" --collectives mpi \
    >events 2>launcher &
  LAUNCHER=$!
  until_true makes_steps
}

@test "--collectives mpi: a rank that is killed ends all, without a hang" {
  local of code
  copy_digits
  for of in open_mpi hydra; do
    train_on_three "$of"
    kill -KILL "$(cat pid.1)"
    code=0
    wait "$LAUNCHER" || code=$?
    [ "$code" != 0 ]
    [ "$code" != 124 ]  # ended by timeout
    # The launcher may end the others before they say what they have seen, and MPI itself may, in words of its own.
    if grep -h "^tfd-run: " talk.0 talk.2 | grep -v -e 'worker:1 is \(lost\|gone\)' -e interrupted -e 'the same command' -e 'saving to' -e 'replicas take a batch'; then
      return 1
    fi
  done
}

@test "--collectives mpi: a rank that is killed before MPI has begun is named by the others at once" {
  local of rank
  copy_digits
  # MPI's start never ends in rank 1, and so in no other.
  cat >stuck.c <<'SOURCE'
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int MPI_Init_thread(int *argc, char ***argv, int asked, int *level) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  if (atoi(rank) == 1) {
    close(open(getenv("STUCK"), O_CREAT | O_WRONLY, 0600));
    for (;;) pause();
  }
  return PMPI_Init_thread(argc, argv, asked, level);
}
SOURCE
  # The launcher's own processes outlive tfd-run, so that it doesn't end the others because one has died.
  cat >rank <<'SCRIPT'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
"$@" 2>"talk.$rank" &
echo $! >"pid.$rank"
wait $!
echo $? >"code.$rank"
until [ -e end ]; do sleep 0.05; done
SCRIPT
  chmod +x rank
  for of in open_mpi hydra; do
    rm -f code.* pid.* talk.* stuck end
    plug_in "$of"
    local mpicc=mpicc.openmpi
    [ "$of" = open_mpi ] || mpicc=mpicc.mpich
    "$mpicc" -shared -fPIC -o stuck.so "$TFD_SOURCE/share/mpi/tfd-mpi.c" stuck.c
    TFD_MPI_PLUGIN=$PWD/stuck.so STUCK=$PWD/stuck "$of" -n 3 ./rank "${DIGITS[@]}" --collectives mpi >/dev/null 2>launcher &
    LAUNCHER=$!
    until_true [ -e stuck ]
    kill -KILL "$(cat pid.1)"
    for rank in 0 2; do
      until_true has_lines "code.$rank" 1
      [ "$(cat "code.$rank")" = 69 ]
      grep "^tfd-run: " "talk.$rank" | grep 'worker:1 is \(lost\|gone\)'
    done
    : >end
    wait "$LAUNCHER" || true  # MPI has no end in order
  done
}

@test "--collectives mpi: SIGTERM to one rank: all save, end MPI in order, and end with 75" {
  local of code
  copy_digits
  for of in open_mpi hydra; do
    train_on_three "$of"
    kill -TERM "$(cat pid.2)"
    code=0
    wait "$LAUNCHER" || code=$?
    [ "$code" = 75 ]
    jq -es 'any(.[]; .event == "end" and .reason == "interrupted")' events
    grep -q "the same command continues from $of/" talk.0
  done
}

@test "--collectives mpi: what doesn't fit is said by each rank" {
  local of other
  copy_digits
  plug_in open_mpi
  plug_in hydra
  for of in open_mpi hydra; do
    other=hydra
    [ "$of" = open_mpi ] || other=open_mpi
    # Each process is alone in the other one's MPI.
    TFD_MPI_PLUGIN=$PWD/$other.so run -78 --separate-stderr "$of" -n 2 "${DIGITS[@]}" --collectives mpi
    [[ $stderr == *"has this process alone, but the group has 2: start them by its own mpirun, or srun --mpi"* ]]
    TFD_MPI_PLUGIN=$PWD/$of.so run -64 --separate-stderr "$of" -n 2 "${DIGITS[@]}" --collectives mpi --workers 1:2
    [[ $stderr == *"--collectives mpi: MPI ends all when one ends, so that none can be lost: it takes no --workers"* ]]
  done
}
