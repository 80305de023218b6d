#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A training's coordinator on another host, in another directory: the first one was killed, or its host was cut off. Hosts are network
# namespaces on one switch; the tasks are on host 1, coordinators on hosts 0 and 2.
# bats file_tags=long

load ../cli/coordinate
load switch
setup() {
  coordinate_setup
  switched_hosts 3
  echo '{"cluster": {"worker": ["198.51.100.2:7000", "198.51.100.2:7001"], "ps": ["198.51.100.2:7010", "198.51.100.2:7011"]}}' >spec.json
  tfd-serve -q --generate-key
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 1000}}'
  env --default-signal=INT ip netns exec "$NS-1" tfd-serve --cluster spec.json --output served.json --ready-fd 9 2>served 3>&- 6>&- 7>&- 8>&- 9>"$T/ready" &
  SERVE=$!
  IFS= read -r -t 60 -u 8 SPEC
}
teardown() {
  coordinate_teardown
  switched_hosts_end
}
# tfd-coordinate on host I, in the folder of that name.
coordinate_on() { # I ARGS…
  local host=$1
  shift
  mkdir -p "host$host"
  cp -r count.mlir program.json "host$host"
  (cd "host$host" && exec env --default-signal=INT ip netns exec "$NS-$host" tfd-coordinate program.json --cluster ../spec.json --keep-servers "$@" \
    <&0 >"$T/events" 2>"$T/talk" 5>&- 6>&- 7>&- 8>&-) &
  COORDINATOR=$!
}
# The training is told to end, and all of it is counted.
ends_with_all_counted() { # DIRECTORY
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted"'
  local step
  step=$(jq .step <<<"$EVENT")
  coordinator_ends 75
  [ "$(unset TFD_KEY_FILE; counts_in "$1")" = "$step $step $step" ]
}

@test "coordinator on another host: one that was killed is continued from what the parameter servers have" {
  coordinate_on 0
  event '.event == "checkpoint" and .step >= 2000'
  kill_coordinator
  cp -r host0 host2
  coordinate_on 2
  event '.event == "start"'
  jq -e '.adopted and .step >= 2000' <<<"$EVENT"
  event '.event == "checkpoint"'
  ends_with_all_counted "$T/host2/ck"
}

@test "coordinator on another host: one whose host is cut off is succeeded, and fenced off when the cable is back" {
  coordinate_on 0
  event '.event == "checkpoint" and .step >= 2000'
  local first=$COORDINATOR step
  cut_off 0
  cp -r host0 host2
  exec 5<&6 6>&- # what the first one prints has a reader
  mv events first-events && mv talk first-talk && mkfifo "$T/events" && exec 6<>"$T/events"
  coordinate_on 2
  event '.event == "start"'
  jq -e '.adopted and .step >= 2000' <<<"$EVENT"
  step=$(jq .step <<<"$EVENT")
  plugged_in 0
  ends "$first"
  local code=0
  wait "$first" || code=$?
  [ "$code" = 77 ]
  grep -q 'another coordinator has taken the cluster over' first-talk
  exec 5<&-
  event ".event == \"checkpoint\" and .step > $step"
  ends_with_all_counted "$T/host2/ck"
}
