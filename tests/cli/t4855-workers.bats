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

# Two workers of the example with an endless number of rows, each with its task of the cluster in TF_CONFIG.
start_two() {
  local i
  ln -s "$TFD_BUILD/tests/unit/strategy/example-workers" workers
  group_of 2
  PIDS=()
  for i in 0 1; do
    TF_CONFIG=$(jq -c --argjson i "$i" '. + {task: {type: "worker", index: $i}}' cluster.json) \
      stdbuf -oL ./workers 1000000000000 >"out.$i" 2>"err.$i" </dev/null 3>&- &
    PIDS+=($!)
  done
}

ends_with_1() { # PID
  local code=0
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
