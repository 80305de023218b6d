#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-resolve mpi under the real mpirun of Open MPI and mpiexec of MPICH: on one host, and on two that are UTS namespaces
# of this one, reached by a stand-in for ssh. Needs openmpi-bin and mpich; two hosts need root. Skipped otherwise.

bats_require_minimum_version 1.5.0

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
  # In Python's place: who it is, from TF_CONFIG.
  printf '#!/bin/sh\n[ "$1" = train.py ] && printf "%%s\\n" "$TF_CONFIG" | jq -e ".cluster.worker | length == 3"\n' >bin/python
  chmod +x bin/python
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  line=$(grep -n -A 1 '^# needs: mpi$' "$TFD_SOURCE/man/tfd-resolve.1.scd" | tail -n 1 | cut -d- -f1)
  TFD_HAVE_MPI=1 PATH=$PWD/bin:$PATH run -0 "$TFD_SOURCE/tests/dist/run-examples.sh" "man/tfd-resolve.1.scd:$((line - 2))"
  [ "${lines[0]}" = "ok man/tfd-resolve.1.scd:$((line - 2))" ]
}

@test "mpirun tfd-run: the ranks of both make each step together" {
  cp -r "$BATS_TEST_DIRNAME/../../examples/digits" digits
  local of line=(tfd-run digits/program.json --strategy multi-worker-mirrored --cluster mpi --key-file none --set train.steps=50)
  for of in open_mpi hydra; do
    run -0 --separate-stderr "$of" -n 3 "${line[@]}" --set "train.checkpoint.dir=$of" --replicas 3
    jq -es 'any(.[]; .event == "start" and .workers == 3) and any(.[]; .event == "end" and .reason == "done" and .step == 50)' <<<"$output"
  done
}
