#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-launch: signals, time limits, and that nothing is left.

load launch
setup() { launch_setup; }
teardown() { launch_teardown; }

@test "launch: signals reach all processes of all tasks, and it ends by the signal that ended them" {
  launch -n 2 -- sh -c ': >"up$RANK"; sleep 60; true'
  are_up up0 up1
  kill -INT "$LAUNCHER"
  launcher_ends 130
  [ "$(cat err)" = "" ]
  [ -z "$(marked)" ]
  rm up?
  launch -n 2 -- sh -c ': >"up$RANK"; exec sleep 60'
  are_up up0 up1
  kill -TERM "$LAUNCHER"
  launcher_ends 143
}

@test "launch: a task's answer to a signal is the exit code" {
  launch -n 2 -- sh -c 'trap "exit 0" TERM; : >"up$RANK"; while :; do sleep 0.05; done'
  are_up up0 up1
  kill -TERM "$LAUNCHER"
  launcher_ends 0
  rm up?
  launch -n 1 -- sh -c 'trap "exit 75" TERM; : >"up$RANK"; while :; do sleep 0.05; done'
  are_up up0
  kill -TERM "$LAUNCHER"
  launcher_ends 75
  [ "$(grep ^tfd-launch err)" = "tfd-launch: worker:0 exited with 75" ]
}

@test "launch: SIGUSR1 is passed on, and ends nothing by itself" {
  launch -n 2 -- sh -c 'trap "echo got; exit 0" USR1; : >"up$RANK"; while :; do sleep 0.05; done'
  are_up up0 up1
  kill -USR1 "$LAUNCHER"
  launcher_ends 0
  [ "$(sort out)" = $'worker:0: got\nworker:1: got' ]
}

@test "launch: Ctrl-C on a terminal reaches each task once, and ends it all" {
  run -0 python3 - <<'PY'
import os, pty, time
pid, master = pty.fork()
if pid == 0:
    os.execvp("tfd-launch", ["tfd-launch", "-n", "2", "--", "sh", "-c",
        "trap 'echo got; exit 3' INT; echo up; while :; do sleep 0.05; done"])
text, sent = b"", False
while True:
    try:
        more = os.read(master, 4096)
    except OSError:
        break
    if not more:
        break
    text += more
    if not sent and text.count(b"up") == 2:
        sent = True
        os.write(master, b"\x03")
assert text.count(b": got") == 2, text
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
PY
}

@test "launch: tasks that ignore signals are killed when --grace is over, or with the third signal" {
  launch -n 2 --grace 200ms -- sh -c 'trap "" TERM; : >"up$RANK"; while :; do sleep 0.05; done'
  are_up up0 up1
  kill -TERM "$LAUNCHER"
  launcher_ends 137
  rm up?
  launch -n 2 -- sh -c 'trap "echo >>\"got\$RANK\"" INT; : >"up$RANK"; while :; do sleep 0.05; done'
  are_up up0 up1
  kill -INT "$LAUNCHER"
  are_up got0 got1
  kill -INT "$LAUNCHER"
  until_true has_lines got0 2
  kill -INT "$LAUNCHER"
  launcher_ends 137
}

@test "launch: Ctrl-Z stops the tasks, SIGCONT continues them" {
  # The task starts no process: a shell that has just called vfork() waits for its stopped child and is never stopped itself.
  launch -n 1 -- bash -c 'exec {clock}<> <(:); : >up0; while :; do echo >>count; read -rt 0.05 -u "$clock" || :; done'
  are_up up0
  task=$(pgrep -P "$LAUNCHER")
  kill -TSTP "$LAUNCHER"
  stopped() { grep -qs '^State:.[Tt]' "/proc/$1/status"; }
  until_true stopped "$LAUNCHER"
  until_true stopped "$task"
  kill -CONT "$LAUNCHER"
  before=$(wc -l <count)
  until_true has_lines count "$((before + 2))"
  kill -TERM "$LAUNCHER"
  launcher_ends 143
}

@test "launch: a stopped task ends, too, when another fails" {
  run -5 --separate-stderr tfd-launch -n 2 -- sh -c '[ "$RANK" = 1 ] || { echo $$ >pid.new; mv pid.new pid; kill -STOP $$; }; until [ -e pid ] && grep -q "^State:.T" /proc/$(cat pid)/status; do :; done; exit 5'
  [ "$stderr" = "tfd-launch: worker:1 exited with 5" ]
}

@test "launch: --timeout limits the whole run, 75, and names who still runs" {
  run -75 --separate-stderr tfd-launch -n 2 --timeout 2s -- sh -c '[ "$RANK" = 0 ] || exec sleep 60'
  [ "$stderr" = "tfd-launch: worker:1 still runs after 2s (--timeout)" ]
}

@test "launch: of several that are killed at once each is named" {
  launch -n 3 -- sh -c 'echo $$ >"pid.$RANK"; : >"up$RANK"; exec sleep 60'
  are_up up0 up1 up2
  kill -STOP "$LAUNCHER" # so that it sees both ends before it ends anybody
  kill -KILL "$(<pid.0)" "$(<pid.2)"
  kill -CONT "$LAUNCHER"
  launcher_ends 137
  [ "$(sort err)" = $'tfd-launch: worker:0 was killed by SIGKILL\ntfd-launch: worker:2 was killed by SIGKILL' ]
}

@test "launch: a killed launcher takes its tasks along" {
  launch -n 3 -- sh -c 'echo $$ >"pid.$RANK"; : >"up$RANK"; exec sleep 60'
  are_up up0 up1 up2
  kill -KILL "$LAUNCHER"
  launcher_ends 137
  for pid in $(cat pid.?); do until_true ended "$pid"; done
}

@test "launch: what a task leaves behind doesn't hold up the end, nor lose its output before" {
  run -0 --separate-stderr timeout 20 tfd-launch -n 2 -- sh -c 'sleep 60 & echo $! >"stray$RANK"; echo said'
  [ "$(sort <<<"$output")" = $'worker:0: said\nworker:1: said' ]
  kill "$(cat stray0)" "$(cat stray1)"
}

@test "launch: children of a task that are ended have the same time as the task" {
  run -5 --separate-stderr tfd-launch -n 2 -- sh -c '
    if [ "$RANK" = 0 ]; then until [ -e up ]; do sleep 0.02; done; exit 5; fi
    sh -c "trap \"sleep 0.3; : >saved; exit\" TERM; : >up; while :; do sleep 0.02; done"; true'
  [ -e saved ]
}

@test "launch: nothing stays in TMPDIR" {
  mkdir tmp
  TMPDIR=$T/tmp run -3 tfd-launch -n 2 -- sh -c 'echo "{\"message\": \"why\"}" >"$TFD_ERROR_FILE"; exit 3'
  [ -z "$(ls tmp)" ]
  TMPDIR=$T/none run -65 tfd-launch -n 2 -- true
  [ "$output" = "tfd-launch: cannot make a directory in $T/none: no such file or directory" ]
}
