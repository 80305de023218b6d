#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# train.checkpoint.on: three processes on two hosts, which are network namespaces, each with a directory of its own. The chief's host is
# lost with its disk, and the training goes on from what the other one has written.

load ../cli/group
setup() {
  coordinate_setup
  NS=tfd-$$-${BATS_TEST_NUMBER:-0}
  OF_ALL=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 3 --set train.checkpoint.every=100)
  [ "$(id -u)" = 0 ] && command -v ip >/dev/null || skip "needs root and iproute2"
  ip netns add "$NS-0" 2>/dev/null && ip netns add "$NS-1" && ip -n "$NS-0" link add eth0 type veth peer name eth0 netns "$NS-1" ||
    skip "no namespaces here"
  local i
  for i in 0 1; do
    ip -n "$NS-$i" link set lo up
    ip -n "$NS-$i" address add "198.51.100.$((i + 1))/24" dev eth0
    ip -n "$NS-$i" link set eth0 up
    mkdir "host$i"
  done
  echo '{"cluster": {"worker": ["198.51.100.1:7000", "198.51.100.2:7000", "198.51.100.2:7001"]}}' >cluster.json
  tfd-serve -q --generate-key
}
teardown() {
  run_teardown
  ip netns del "$NS-0" 2>/dev/null || true
  ip netns del "$NS-1" 2>/dev/null || true
}
member() { # HOST I ARGS…
  local host=$1 i=$2
  shift 2
  (cd "host$host" && exec env --default-signal=INT ip netns exec "$NS-$host" tfd-run "${OF_ALL[@]}" --strategy multi-worker-mirrored \
    --cluster ../cluster.json --task "worker:$i" --set train.checkpoint.dir=ck "$@" </dev/null >"../worker:$i.events" 2>"../worker:$i.talk" 3>&-) &
  PIDS[i]=$!
  RUNS+=("$!")
}
members() { # ARGS…
  PIDS=()
  member 1 2 "$@"
  member 1 1 "$@"
  member 0 0 "$@"
  group_ends 0
}

@test "train.checkpoint.on hosts: each host has the same checkpoints, and what the lost host's chief had saved isn't lost" {
  members --set train.checkpoint.on=hosts --set train.checkpoint.keep=2 --set train.steps=250
  [ "$(cd host0/ck && ls ./*.safetensors)" = $'./step-00000200.safetensors\n./step-00000250.safetensors' ]
  local file
  for file in step-00000200 step-00000250; do cmp "host0/ck/$file.safetensors" "host1/ck/$file.safetensors"; done
  [ "$(jq -c '[.run, .latest]' host0/ck/index.json)" = "$(jq -c '[.run, .latest]' host1/ck/index.json)" ]
  [ "$(cat worker:1.events worker:2.events)" = "" ]
  rm -r host0/ck
  members --set train.checkpoint.on=hosts --set train.steps=300
  grep -q '^tfd-run: ck/step-00000250.safetensors is the newest checkpoint of the group: it goes on from that$' worker:1.talk
  undisturbed 300
  [ "$(weights host0/ck/step-00000300.safetensors)" = "$(weights undisturbed/step-00000300.safetensors)" ]
  cmp host0/ck/step-00000300.safetensors host1/ck/step-00000300.safetensors
}

@test "train.checkpoint.on hosts: a host whose disk refuses says so, and the training goes on" {
  mkdir host1/ck && mount -t tmpfs -o size=8k,nr_inodes=2 none host1/ck || skip "no tmpfs here"
  touch host1/ck/full
  members --set train.checkpoint.on=hosts --set train.steps=200
  umount host1/ck
  grep -q "cannot write this host's checkpoint: " worker:1.talk
  run ! grep -s "cannot write" worker:2.talk # one process of each host writes
  [ -e host0/ck/step-00000200.safetensors ]
}

@test "train.checkpoint.on chief: the chief alone writes" {
  members --set train.steps=200
  [ -e host0/ck/step-00000200.safetensors ]
  [ ! -e host1/ck ]
}
