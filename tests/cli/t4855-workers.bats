#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A strategy over several processes in a C++ program: examples/library/workers.cpp.

load group
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

@test "workers: the example under tfd-launch prints what its page says, whatever the number of workers" {
  ln -s "$TFD_BUILD/tests/unit/strategy/example-workers" workers
  page=$(awk '/^```/ { on = !on; next } on && /^rows/' "$EXAMPLES/library/README.md")
  command=$(grep -E '^tfd-launch .* ./workers' "$EXAMPLES/library/README.md")
  run -0 --separate-stderr timeout 60 bash -c "$command" </dev/null
  [ "$output" = "$page" ]
  run -0 --separate-stderr timeout 60 tfd-launch -n 1 --no-prefix -- ./workers </dev/null
  [ "$output" = "${page/3 workers/1 workers}" ]
}

# A worker of the example with an endless number of rows, with its task of the cluster in TF_CONFIG.
start() { # INDEX
  TF_CONFIG=$(jq -c --argjson i "$1" '. + {task: {type: "worker", index: $i}}' cluster.json) \
    stdbuf -oL ./workers 1000000000000 >"out.$1" 2>"err.$1" </dev/null 3>&- &
  PIDS+=($!)
}
prepare() {
  ln -s "$TFD_BUILD/tests/unit/strategy/example-workers" workers
  group_of 2
  PIDS=()
}
start_two() {
  prepare
  start 0
  start 1
}

ends_with_1() { # PID
  local code=0
  ends "$1" || { kill -KILL "${PIDS[@]}"; return 1; }
  wait "$1" || code=$?
  [ "$code" = 1 ]
}

@test "workers: one that is killed ends the other, with its name" {
  start_two
  until_true has_lines out.0 3
  kill -KILL "${PIDS[1]}"
  ends_with_1 "${PIDS[0]}"
  [ "$(wc -l <err.0)" = 1 ]
  [[ $(<err.0) == "workers: "*"worker:1 "* ]]
}

@test "workers: one that is stopped is lost after its silence, and named" {
  start_two
  until_true has_lines out.0 3
  kill -STOP "${PIDS[1]}"
  ends_with_1 "${PIDS[0]}"
  kill -KILL "${PIDS[1]}"
  [[ $(<err.0) == "workers: "*"worker:1 "* ]]
}

@test "workers: one that is stopped before the chief has found it is lost as well" {
  prepare
  start 0
  sleep 4 # its pauses between tries to find the other one get longer: the other one comes, and is stopped, within such a pause
  start 1
  until_true has_lines out.0 1
  kill -STOP "${PIDS[1]}"
  ends_with_1 "${PIDS[0]}"
  kill -KILL "${PIDS[1]}"
  [[ $(<err.0) == "workers: "*"worker:1 is lost (no heartbeat for 10s)"* ]]
}
