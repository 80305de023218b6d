#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-launch --workers MIN:MAX: a failure starts all again; faults on purpose.

load launch
setup() { launch_setup; }
teardown() { launch_teardown; }

@test "launch: with MIN:MAX a failure starts all tasks again, with the same indices, and doesn't count at the end" {
  run -0 --separate-stderr tfd-launch -n 3 --workers 1:3 -- sh -c '
    echo "$RANK of $WORLD_SIZE ($TFD_WORKERS): generation $TFD_GENERATION, restart $TFD_RESTARTS"
    touch "said-$RANK"
    [ "$TFD_GENERATION" = 0 ] || exit 0
    [ "$RANK" = 1 ] || exec sleep 60
    until [ -e said-0 ] && [ -e said-2 ]; do sleep 0.05; done
    exit 7'
  [ "$(sort <<<"$output")" = $'worker:0: 0 of 3 (1:3): generation 0, restart 0
worker:0: 0 of 3 (1:3): generation 1, restart 1
worker:1: 1 of 3 (1:3): generation 0, restart 0
worker:1: 1 of 3 (1:3): generation 1, restart 1
worker:2: 2 of 3 (1:3): generation 0, restart 0
worker:2: 2 of 3 (1:3): generation 1, restart 1' ]
  [ "$stderr" = "tfd-launch: worker:1 exited with 7; starting all again in 1s (failure 1, at most 3)" ]
}

@test "launch: with MIN:MAX only those that failed are started again where the others say that they go on" {
  run -0 --separate-stderr tfd-launch -n 3 --workers 1:3 -- sh -c '
    echo "$RANK: generation $TFD_GENERATION, restart $TFD_RESTARTS"
    echo member >"$TFD_MEMBER_FILE"; touch "said-$RANK-$TFD_RESTARTS"
    [ "$RANK" = 0 ] || [ "$TFD_RESTARTS" = 1 ] || { until [ -e said-0-0 ] && [ -e said-1-0 ] && [ -e said-2-0 ]; do sleep 0.05; done; exit 7; }
    until [ -e said-1-1 ] && [ -e said-2-1 ]; do sleep 0.05; done'
  [ "$(sort <<<"$output")" = $'worker:0: 0: generation 0, restart 0
worker:1: 1: generation 0, restart 0
worker:1: 1: generation 1, restart 1
worker:2: 2: generation 0, restart 0
worker:2: 2: generation 1, restart 1' ]
  [[ $stderr == "tfd-launch: worker:"[12]" exited with 7; starting worker:1 and worker:2 again in 1s (failures 1 to 2, at most 3)" ]]
}

@test "launch: two that die of their own are two failures, though it is decided about both at once; one cause is one" {
  local both='
    echo member >"$TFD_MEMBER_FILE"; touch "said$SAYS-$RANK-$TFD_RESTARTS"
    [ "$RANK" != 0 ] || exec sleep 60
    until [ -e "said$SAYS-0-0" ] && [ -e "said$SAYS-1-$TFD_RESTARTS" ] && [ -e "said$SAYS-2-$TFD_RESTARTS" ]; do sleep 0.05; done
    [ -z "$SAYS" ] || echo "{\"message\": \"$SAYS\"}" >"$TFD_ERROR_FILE"
    exit 7'
  SAYS='' run -7 --separate-stderr tfd-launch -n 3 --workers 1:3 --max-failures 1 -- sh -c "$both"
  [[ $stderr == "tfd-launch: worker:"[12]" exited with 7; 2 failures in 10m are too many (--max-failures 1)" ]]
  SAYS='they differ' run -7 --separate-stderr tfd-launch -n 3 --workers 1:3 --max-failures 1 -- sh -c "$both"
  [[ $stderr == "tfd-launch: worker:"[12]" exited with 7: they differ; starting worker:1 and worker:2 again in 1s (failure 1, at most 1)
tfd-launch: worker:"[12]" exited with 7: they differ; 2 failures in 10m are too many (--max-failures 1)" ]]
}

@test "launch: a command whose line is wrong isn't started again" {
  run -64 --separate-stderr tfd-launch -n 2 --workers 1:2 -- sh -c '[ "$RANK" = 0 ] || exec sleep 60; exit 64'
  [ "$stderr" = "tfd-launch: worker:0 exited with 64" ]
}

@test "launch: a command that can't be run or found isn't started again" {
  run -127 --separate-stderr tfd-launch -n 2 --workers 1:2 -- sh -c '[ "$RANK" = 0 ] || exec sleep 60; exec no-such-command 2>/dev/null'
  [ "$stderr" = "tfd-launch: worker:0 exited with 127" ]
  echo >plain
  run -126 --separate-stderr tfd-launch -n 2 --workers 1:2 -- sh -c '[ "$RANK" = 0 ] || exec sleep 60; exec ./plain 2>/dev/null'
  [ "$stderr" = "tfd-launch: worker:0 exited with 126" ]
}

@test "launch: wrong input (65) is final where the task states that code, as tfd's tools do, and also of a member" {
  run -65 --separate-stderr tfd-launch -n 2 --workers 1:2 -- sh -c '[ "$RANK" = 0 ] || exec sleep 60; exec tfd-data no-such.json 2>/dev/null'
  [[ $stderr == "tfd-launch: worker:0 exited with 65: "*no-such.json* ]]
  [[ $stderr != *starting* ]]
  run -65 --separate-stderr tfd-launch -n 2 --workers 1:2 -- sh -c '
    echo "member 7" >"$TFD_MEMBER_FILE"; touch "said-$RANK"; until [ -e said-0 ] && [ -e said-1 ]; do sleep 0.05; done
    [ "$RANK" = 0 ] || exec sleep 60
    echo "{\"message\": \"a bad line\", \"code\": 65}" >"$TFD_ERROR_FILE"; exit 65'
  [ "$stderr" = "tfd-launch: worker:0 exited with 65: a bad line" ]
  run -0 --separate-stderr tfd-launch -n 2 --workers 1:2 -- sh -c '[ "$TFD_RESTARTS" = 0 ] || exit 0; [ "$RANK" = 0 ] || exec sleep 60; exit 65'
  [ "$stderr" = "tfd-launch: worker:0 exited with 65; starting all again in 1s (failure 1, at most 3)" ]
}

@test "launch: who died right before the others' end is named" {
  run -0 --separate-stderr tfd-launch -n 2 --workers 1:2 -- sh -c '
    echo member >"$TFD_MEMBER_FILE"; touch "said-$RANK"
    until [ -e said-0 ] && [ -e said-1 ]; do sleep 0.05; done
    [ "$RANK" = 0 ] || { echo $$ >pid; exec sleep 60; }
    until [ -s pid ]; do sleep 0.05; done
    kill -KILL "$(cat pid)"
    while kill -0 "$(cat pid)" 2>/dev/null; do sleep 0.05; done'
  [ "$stderr" = "tfd-launch: worker:1 was killed by SIGKILL; the others ended without it" ]
}

@test "launch: a group whose last member ends well is done, and who failed before isn't waited for" {
  run -0 --separate-stderr tfd-launch -n 2 --workers 1:2 --error-dir errors -- sh -c '
    [ "$RANK" = 0 ] || { until [ -e said-0 ]; do sleep 0.05; done; exit 9; }
    echo member >"$TFD_MEMBER_FILE"; touch said-0
    until [ -e errors/worker-1.json ]; do sleep 0.05; done'
  [ "$stderr" = "tfd-launch: worker:1 exited with 9; the others ended without it" ]
  [ "$(ls errors)" = worker-1.json ]
}

@test "launch: if none is left of a group that goes on, all are started again; too many failures end it" {
  run -5 --separate-stderr tfd-launch -n 2 --workers 1:2 --max-failures 1 -- sh -c '
    echo joining >"$TFD_MEMBER_FILE"; touch "said-$RANK-$TFD_RESTARTS"
    until [ -e "said-0-$TFD_RESTARTS" ] && [ -e "said-1-$TFD_RESTARTS" ]; do sleep 0.05; done; exit 5'
  [[ $stderr == "tfd-launch: worker:"[01]" exited with 5; starting all again in 1s (failure 1, at most 1)
tfd-launch: worker:"[01]" exited with 5; 2 failures in 10m are too many (--max-failures 1)" ]]
}

@test "launch: a third death in one step ends it, whatever --max-failures says" {
  run -9 --separate-stderr tfd-launch -n 2 --workers 1:2 --max-failures 10 -- sh -c '
    echo "member 412" >"$TFD_MEMBER_FILE"; touch "said-$RANK"
    [ "$RANK" = 1 ] || exec sleep 60
    until [ -e said-0 ]; do sleep 0.05; done; exit 9'
  [ "$stderr" = "tfd-launch: worker:1 exited with 9; starting worker:1 again in 1s (failure 1, at most 10)
tfd-launch: worker:1 exited with 9; starting worker:1 again in 2s (failure 2, at most 10)
tfd-launch: worker:1 exited with 9; worker:1 died three times in step 412" ]
}

@test "launch: a signal reaches a group of which one waits for its next start" {
  launch -n 2 --workers 1:2 -- sh -c '
    echo member >"$TFD_MEMBER_FILE"; touch "said-$RANK"
    [ "$RANK" = 0 ] || { until [ -e said-0 ]; do sleep 0.05; done; exit 3; }
    exec sleep 60'
  until_true grep -q 'starting worker:1 again' err
  kill -TERM "$LAUNCHER"
  launcher_ends 143
}

@test "launch: ports stay the same from start to start, and files go on" {
  run -0 --separate-stderr tfd-launch -n 2 --workers 1:2 --output logs -- sh -c '
    echo "$MASTER_PORT"; touch "said-$RANK"
    [ "$TFD_GENERATION" = 0 ] || exit 0
    until [ -e said-0 ] && [ -e said-1 ]; do sleep 0.05; done
    exit 1'
  [ "$(cat logs/*.out | sort -u | wc -l)" = 1 ]
  [ "$(wc -l <logs/worker-0.out)" = 2 ]
}

@test "launch: too many failures end it with the code of the last, and it waits longer each time" {
  run -9 --separate-stderr tfd-launch -n 2 --workers 1:2 --max-failures 2 -- sh -c '[ "$RANK" = 1 ] || exec sleep 60; exit 9'
  [ "$stderr" = "tfd-launch: worker:1 exited with 9; starting all again in 1s (failure 1, at most 2)
tfd-launch: worker:1 exited with 9; starting all again in 2s (failure 2, at most 2)
tfd-launch: worker:1 exited with 9; 3 failures in 10m are too many (--max-failures 2)" ]
}

@test "launch: a preemption (75) isn't counted" {
  run -0 --separate-stderr tfd-launch -n 1 --workers 1:1 --max-failures 0 -- sh -c '[ "$TFD_RESTARTS" = 1 ] || exit 75'
  [ "$stderr" = "tfd-launch: worker:0 exited with 75; starting all again in 1s (a preemption, no failure)" ]
}

@test "launch: a signal ends the wait for the next start" {
  launch -n 2 --workers 1:2 -- sh -c 'echo >>starts; exit 3'
  until_true grep -q 'starting all again in 2s' err
  kill -TERM "$LAUNCHER"
  launcher_ends 143
  [ "$(wc -l <starts)" -le 4 ]
}

@test "launch: --timeout ends a group that is started again and again" {
  run -75 --separate-stderr tfd-launch -n 1 --workers 1:1 --max-failures 9 --timeout 1500ms -- false
  [[ $stderr == *$'\ntfd-launch: nothing still runs after 1s500ms (--timeout)' ]]
}

@test "launch: --workers says how many where nothing else does; a bound alone replaces nobody" {
  run -0 --separate-stderr tfd-launch --workers 1:2 --no-prefix -- sh -c 'echo $WORLD_SIZE' </dev/null
  [ "$output" = $'2\n2' ]
  run -7 --separate-stderr tfd-launch -n 2 --workers 2 -- sh -c 'exit 7'
  [[ $stderr != *again* ]]
  run -64 tfd-launch -n 3 --workers 1:2 -- true
  [ "$output" = "tfd-launch: --workers 1:2: there are 3 tasks with a rank, which is the most that there can be (see tfd-launch --help)" ]
  run -64 tfd-launch -n 3 --workers 3:1 -- true
  run -64 tfd-launch -n 3 --workers 1:2:3 -- true
  run -64 tfd-launch -n 3 --max-failures 3 -- true
  [ "$output" = "tfd-launch: --max-failures: failed tasks are replaced only with --workers MIN:MAX (see tfd-launch --help)" ]
}

@test "launch: when the reader goes, nobody is started again" {
  run -0 --separate-stderr bash -c 'tfd-launch -n 3 --workers 1:3 --max-failures 10 -- sh -c "
    echo member >\$TFD_MEMBER_FILE
    while :; do echo restart \$TFD_RESTARTS; sleep 0.05; done" | head -n 1; [ ${PIPESTATUS[0]} = 141 ]'
  [ "$stderr" = "" ]
}

@test "launch: --fault kills, stops and continues tasks" {
  run -137 --separate-stderr tfd-launch -n 2 --fault 'kill worker:1 after 200ms' -- sleep 60
  [ "$stderr" = "tfd-launch: worker:1 was killed by SIGKILL" ]
  run -143 --separate-stderr tfd-launch -n 2 --fault 'term worker:0 after 200ms' -- sleep 60
  [ "$stderr" = "tfd-launch: worker:0 was killed by SIGTERM" ]
  launch -n 1 --fault 'stop worker:0 after 300ms' --fault 'cont worker:0 after 3s' -- sh -c ': >up; while [ ! -e done ]; do sleep 0.05; done; echo over'
  are_up up
  task=$(pgrep -P "$LAUNCHER")
  stopped() { grep -qs '^State:.T' "/proc/$task/status"; }
  until_true stopped
  : >done
  [ ! -s out ]
  launcher_ends 0
  [ "$(cat out)" = "worker:0: over" ]
}

@test "launch: wrong faults are one line and 64" {
  run -64 tfd-launch -n 2 --fault 'kill worker:2 after 1s' -- true
  [ "$output" = "tfd-launch: --fault: no task worker:2 here, did you mean 'worker:0'? (see tfd-launch --help)" ]
  run -64 tfd-launch -n 2 --fault 'kill worker:1 at step 0' -- true
  run -64 tfd-launch -n 2 --fault 'cont worker:1 at step 7' -- true
  [ "$output" = "tfd-launch: --fault: cont: a task that is stopped makes no step (see tfd-launch --help)" ]
  run -64 tfd-launch -n 2 --fault 'kill worker:1 at 7' -- true
}
