#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Groups of tfd-run and a coordinator over hosts between which a firewall rejects connections, or drops what some of them carry. Hosts
# are network namespaces on one switch.
# bats file_tags=long

load ../cli/group
load switch
setup() {
  coordinate_setup
  command -v iptables >/dev/null || skip "needs iptables"
  OF_ALL=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 4 --set train.log_every=100 --set train.checkpoint.every=2000)
}
teardown() {
  run_teardown
  switched_hosts_end
}

hosts() { # COUNT
  switched_hosts "$1"
  wall 0 -L >/dev/null || skip "no iptables here"
  jq -n --argjson n "$1" '{cluster: {worker: [range($n) | "198.51.100.\(. + 1):7000"]}}' >cluster.json
  tfd-serve -q --generate-key
}
wall() { ip netns exec "$NS-$1" iptables -w "${@:2}"; } # I RULE…
# Packets to host I from host J are rejected, as by a firewall that answers for it.
rejects() { wall "$1" -A INPUT -s "198.51.100.$(($2 + 1))" -p tcp -j REJECT --reject-with tcp-reset; } # I J
drops() { wall "$1" -A INPUT -s "198.51.100.$(($2 + 1))" -j DROP; }                                    # I J
member() { # I ARGS…
  local i=$1
  shift
  env --default-signal=INT ip netns exec "$NS-$i" tfd-run "${OF_ALL[@]}" --strategy multi-worker-mirrored --silence 4s --cluster cluster.json \
    --task "worker:$i" --set train.steps=1000000 "$@" </dev/null >"worker:$i.events" 2>"worker:$i.talk" 3>&- &
  PIDS[i]=$!
  RUNS+=("$!")
}
members() { # COUNT ARGS…
  local i n=$1
  shift
  PIDS=()
  for ((i = n - 1; i >= 0; --i)); do member "$i" --set train.checkpoint.dir=ck "$@"; done
  reaches 0 300
}
reaches() { RUN=${PIDS[$1]} until_event "worker:$1" ".event == \"step\" and .step >= $2"; } # I STEP
talks() { RUN=${PIDS[$1]} until_talk "worker:$1" "$2"; }                                   # I TEXT
goes_on() { talks 0 "generation [0-9]* goes on at step [0-9]*: $1"; }                      # MEMBERS
makes_steps() {
  reaches 0 $(($(jq -s 'map(select(.event == "step") | .step) | max' worker:0.events) + 500))
}

@test "firewall: of two sides that reject each other's connections one goes on, and the other one comes back" {
  hosts 2
  members 2 --workers 1:2
  rejects 0 1
  rejects 1 0
  goes_on 'worker:0; worker:1 is lost (.*)'
  talks 1 'waiting for worker:0 to join'
  [ ! -s worker:1.events ] # it made no step as a chief
  run ! grep 'goes on at step' worker:1.talk
  wall 0 -F
  wall 1 -F
  goes_on 'worker:0, worker:1; with worker:1 anew'
  ends_with_undisturbed_bits
}

@test "firewall: a member whose host is gone without a word, and is rejected for, is lost after --silence" {
  hosts 2
  members 2
  wall 0 -A OUTPUT -p tcp -d 198.51.100.2 --syn -j REJECT
  drops 0 1
  drops 1 0
  kill -KILL "${PIDS[1]}"
  run_ends "${PIDS[0]}" 69
  grep -q 'worker:1 is lost' worker:0.talk
}

@test "firewall: two members that don't reach each other cost one of them, until they do" {
  hosts 3
  members 3 --workers 1:3
  drops 1 2
  drops 2 1
  goes_on 'worker:0, worker:1; worker:2 '
  makes_steps
  talks 2 'waiting for worker:1 (this task doesn.t reach it) to join'
  wall 1 -F
  wall 2 -F
  goes_on 'worker:0, worker:1, worker:2; with worker:2 anew'
  ends_with_undisturbed_bits
}

# The port at which a member listens beside its endpoint's, which others are connected to.
port_of_sums() { # I
  ip netns exec "$NS-$1" ss -tnH state established | awk -v own="198.51.100.$(($1 + 1)):" \
    'index($3, own) == 1 { sub(".*:", "", $3); print $3 }' | sort -u | grep -v '^7000$' |
    grep -xF -f <(ip netns exec "$NS-$1" ss -tlnH | awk '{ sub(".*:", "", $4); print $4 }')
}

@test "firewall: a member that answers, but not over the connection of the sums, is lost after --silence" {
  hosts 2
  members 2 --workers 1:2
  local port
  for port in $(port_of_sums 0); do wall 0 -A INPUT -p tcp --dport "$port" -j DROP; done
  talks 0 "is lost (its host doesn't answer over the connection of the collectives for 4s)\|meeting again"
  goes_on 'worker:0; worker:1 '
  makes_steps
  ends_with_undisturbed_bits
}

@test "firewall: of two groups that began on two sides of a cut one ends, 75, when they meet" {
  hosts 2
  cut_off 1
  PIDS=()
  member 1 --workers 1:2 --set train.checkpoint.dir=ck1
  member 0 --workers 1:2 --set train.checkpoint.dir=ck0
  RUN=${PIDS[1]} until_event worker:1 '.event == "step"'
  RUN=${PIDS[0]} until_event worker:0 '.event == "step"'
  plugged_in 1
  run_ends "${PIDS[1]}" 75
  grep -q 'two sides of the group went on as generation 1: worker:0 decides on the other side, and this side ends' worker:1.talk
  makes_steps
}

is_rejected() { [ "$(wall 0 -nvxL OUTPUT | awk '/REJECT/ { print $1 }')" -ge 2 ]; }

@test "firewall: a parameter server that is rejected for a while, for less than --rejoin, costs time alone" {
  hosts 2
  echo '{"cluster": {"worker": ["198.51.100.1:7000"], "ps": ["198.51.100.2:7010"]}}' >spec.json
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100}'
  local i serves=()
  for i in 0 1; do
    env --default-signal=INT ip netns exec "$NS-$i" tfd-serve --cluster spec.json --output "served$i" 2>"served$i.talk" 3>&- 6>&- 7>&- 8>&- &
    serves+=("$!")
    RUNS+=("$!")
  done
  env --default-signal=INT ip netns exec "$NS-0" tfd-coordinate -v program.json --cluster spec.json <&0 >"$T/events" 2>"$T/talk" 5>&- 6>&- 7>&- 8>&- &
  COORDINATOR=$!
  event '.event == "step"'
  wall 0 -A OUTPUT -p tcp -d 198.51.100.2 --syn -j REJECT
  drops 0 1
  drops 1 0
  until_true is_rejected
  wall 0 -F
  wall 1 -F
  until_true grep -q 'ps:0 answers again' talk
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted"'
  coordinator_ends 143 # nothing to save
  kill -TERM "${serves[@]}" 2>/dev/null || true # they may have ended with their coordinator
  wait "${serves[@]}" || true
}
