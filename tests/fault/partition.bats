#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A group of tfd-run --workers MIN:MAX over three hosts, which are network namespaces on one switch: cables that are pulled, and one
# that carries nothing in one direction. One side goes on, never two; in the end the weights are an undisturbed run's.
# bats file_tags=long

load ../cli/group
load switch
setup() {
  coordinate_setup
  OF_ALL=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 4 --set train.log_every=100 --set train.checkpoint.every=2000)
}
teardown() {
  run_teardown
  switched_hosts_end
}

hosts() {
  switched_hosts 3
  echo '{"cluster": {"worker": ["198.51.100.1:7000", "198.51.100.2:7000", "198.51.100.3:7000"]}}' >cluster.json
  tfd-serve -q --generate-key
}
member() { # I
  env --default-signal=INT ip netns exec "$NS-$1" tfd-run "${OF_ALL[@]}" --strategy multi-worker-mirrored ${WORKERS---workers 1:3} --cluster cluster.json \
    --task "worker:$1" --set train.steps=1000000 --set train.checkpoint.dir=ck </dev/null >"worker:$1.events" 2>"worker:$1.talk" 3>&- &
  PIDS[$1]=$!
  RUNS+=("$!")
}
members() {
  PIDS=()
  local i
  for i in 2 1 0; do member "$i"; done
  RUN=${PIDS[0]} until_event worker:0 '.event == "step" and .step >= 300'
}
talks() { # I TEXT
  RUN=${PIDS[$1]} until_talk "worker:$1" "$2"
}
@test "partition: the larger side goes on, the smaller one waits, and comes back when the cable does" {
  hosts
  members
  cut_off 2
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0, worker:1; worker:2 is lost (.*), on 198.51.100.3$'
  local at
  at=$(grep -c '"event":"step"' worker:0.events)
  talks 2 'waiting for worker:0, worker:1 to join'
  [ ! -s worker:2.events ] # it made no step as a chief
  plugged_in 2
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0, worker:1, worker:2; with worker:2 anew$'
  [ "$(grep -c '"event":"step"' worker:0.events)" -gt "$at" ]
  ends_with_undisturbed_bits
}

# The last steps of worker 0 are more than those that were on their way.
goes_on_from() { # STEP
  RUN=${PIDS[0]} until_event worker:0 ".event == \"step\" and .step >= $(($1 + 500))"
}

@test "partition: a cut that is shorter than --silence ends nothing, and nobody is lost" {
  WORKERS=
  hosts
  members
  local i
  for i in 2 1; do
    cut_off "$i"
    talks 0 "worker:$i doesn't answer (no heartbeat for 3s): it is lost after 10s"
    sleep 1 # four seconds in all: TCP goes on as long after it, which may not be as late as --silence
    plugged_in "$i"
    goes_on_from "$(jq -s 'map(select(.event == "step") | .step) | max' worker:0.events)"
  done
  run ! grep -E 'is lost \(|goes on at step' worker:*.talk
  kill -TERM "${PIDS[1]}"
  for i in 0 1 2; do run_ends "${PIDS[$i]}" 75; done
  local file
  file=$(jq -r .latest ck/index.json)
  undisturbed "$((10#$(tr -dc 0-9 <<<"$file")))"
  [ "$(weights "ck/$file")" = "$(weights "undisturbed/$file")" ]
}

@test "partition: a chief that nobody hears is done without, and takes no step with itself alone" {
  hosts
  members
  # Its messages are lost; it hears the others.
  ip -n "$NS-0" route add blackhole 198.51.100.2/32
  ip -n "$NS-0" route add blackhole 198.51.100.3/32
  RUN=${PIDS[1]} until_event worker:1 '.event == "start" and .workers == 2 and .adopted'
  local steps
  steps=$(jq -s 'map(select(.event == "step") | .step) | max' worker:0.events)
  RUN=${PIDS[1]} until_event worker:1 ".event == \"step\" and .step >= $((steps + 500))"
  [ "$(jq -s 'map(select(.event == "step") | .step) | max' worker:0.events)" -le "$((steps + 100))" ]
  ip -n "$NS-0" route del blackhole 198.51.100.2/32
  ip -n "$NS-0" route del blackhole 198.51.100.3/32
  talks 1 'generation [0-9]* goes on at step [0-9]*: worker:1, worker:2, worker:0; with worker:0 anew$'
  talks 0 'the group went on without this process: worker:1 decides now, and this one follows$'
  ends_with_undisturbed_bits
}
