#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-serve as process 1 of a container: in a PID namespace of its own.

load serve
setup() {
  serve_setup
  INIT=(unshare --pid --fork --kill-child --mount-proc)
  export UNTIL=$BATS_TEST_DIRNAME/until.bash
  "${INIT[@]}" true 2>/dev/null || skip "PID namespaces need root"
}
teardown() { serve_teardown; }

# Makes orphans that end, and waits until all children of process 1 but its tasks and this command are gone.
orphans='source "$UNTIL"
  for i in 1 2 3 4 5; do (true & :) & done
  wait
  no_dead() { [ -z "$(ps -o pid=,stat= --ppid 1 | grep " Z")" ]; }
  until_true no_dead && echo "none left"'

@test "serve as process 1: it reaps processes whose parent has ended, and still knows how its command did" {
  run -7 --separate-stderr timeout 60 "${INIT[@]}" tfd-serve --jobs worker=1,ps=1 -- bash -c "$orphans; exit 7"
  [ "$output" = "none left" ]
}

@test "serve as process 1: a task that is killed among orphans is started again" {
  run -0 timeout 100 "${INIT[@]}" tfd-serve --jobs worker=1,ps=1 -- bash -c "
    for task in \$(ps -o pid=,args= --ppid 1 | awk '/[-]-serve-task/ { print \$1 }'); do kill -KILL \$task; done
    $orphans
    tfd-status --wait --timeout 50s >/dev/null"
  [[ $output == *"worker:0 died of signal 9"* && $output == *"none left"* ]]
}

@test "serve as process 1: SIGTERM ends it with its tasks, or goes to its command" {
  "${INIT[@]}" tfd-serve --jobs worker=1,ps=1 --output "$T/spec.json" --ready-fd 9 2>"$T/err" 7>&- 8>&- 9>"$T/ready" &
  SERVE=$!
  IFS= read -r -t 60 -u 8 SPEC
  kill -TERM "$(pgrep -P "$SERVE")"
  serve_ends 0
  [ -z "$(marked)" ]

  "${INIT[@]}" tfd-serve --jobs worker=1 -- sh -c 'trap "exit 9" TERM; echo here >&2; while :; do sleep 600 & wait $!; done' 2>"$T/err" 7>&- 8>&- &
  SERVE=$!
  said here
  kill -TERM "$(pgrep -P "$SERVE")"
  serve_ends 9
  [ -z "$(marked)" ]
}
