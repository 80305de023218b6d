#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-serve when tasks die, and when it dies itself.

load ../cli/serve
setup() { serve_setup; }
teardown() { serve_teardown; }

@test "serve: a killed task is restarted on its port, as another process" {
  serve -v --jobs worker=2,ps=1
  for task in worker:1 ps:0; do
    before=$(task_pid $task)
    kill -KILL "$before"
    said "^tfd-serve: $task died of signal 9 \(killed\); restarting in 100ms\$"
    said "$task is ready again"
    after=$(task_pid $task)
    [ "$after" != "$before" ]
  done
  connects "$(port_of .cluster.worker[1])"
  connects "$(port_of .cluster.ps[0])"
}

@test "serve: a task that was asked to end by somebody else is restarted too" {
  serve -v --jobs worker=2
  kill -TERM "$(task_pid worker:0)"
  said 'worker:0 died of signal 15 \(terminated\); restarting in 100ms'
  said 'worker:0 is ready again'
}

@test "serve: the waits between restarts double" {
  # Serves once; every later start dies at once.
  fake_task 'ready; [ ! -e "$TFD_SERVE_TEST/again" ] || exit 9; : >"$TFD_SERVE_TEST/again"; exec sleep 600'
  serve --task-program "$T/fake-task" --jobs worker=1
  pkill -KILL -P "$SERVE"
  said 'died of signal 9 \(killed\); restarting in 100ms'
  said 'exited with 9; restarting in 200ms'
  said 'exited with 9; restarting in 400ms'
  said 'exited with 9; restarting in 800ms'
}

@test "serve: a connection that came while the task was away is served by the next one" {
  serve -v --jobs ps=1,worker=1
  kill -STOP "$SERVE" # so that the restart waits for us
  pid=$(task_pid ps:0)
  kill -KILL "$pid"
  exec 5<>"/dev/tcp/127.0.0.1/$(port_of .cluster.ps[0])"
  kill -CONT "$SERVE"
  said 'ps:0 is ready again'
  # ZMTP: a server speaks first, with the ten bytes of its signature.
  [ "$(timeout 10 head -c1 <&5 | od -An -tx1)" = " ff" ]
  exec 5<&-
}

@test "serve: no task survives a killed supervisor" {
  serve --jobs worker=3,ps=2
  pids=$(pgrep -P "$SERVE")
  [ "$(wc -w <<<"$pids")" = 5 ]
  kill -KILL "$SERVE"
  LIMIT=5 ends $pids
  [ -z "$(marked)" ]
  SERVE=
}

@test "serve: a task ends with its lifeline, should the kernel not kill it" {
  run -0 timeout 30 python3 - <<'PY'
import os, socket, subprocess
listener = socket.create_server(("127.0.0.1", 0))
ready, ready_end = os.pipe()
lifeline_end, lifeline = os.pipe()
def place():  # as tfd/launch/supervisor.hpp has them
    for number, fd in enumerate([os.dup(fd) for fd in (listener.fileno(), ready_end, lifeline_end)], start=3):
        os.dup2(fd, number)
task = subprocess.Popen(["tfd-serve", "--serve-task", "ps:0", "--bind", "127.0.0.1:%d" % listener.getsockname()[1]],
                        stdin=subprocess.DEVNULL, close_fds=False, preexec_fn=place)
os.close(ready_end)
assert os.read(ready, 100) == b"ready\n"
assert task.poll() is None
os.close(lifeline)
assert task.wait(10) == -15, task.returncode
PY
}

@test "serve: stderr that nobody reads doesn't stop it" {
  fake_task 'ready; while :; do echo "a line that nobody reads, again and again and again"; done >&2'
  mkfifo "$T/deaf"
  exec 5<>"$T/deaf"
  tfd-serve --task-program "$T/fake-task" --jobs worker=2 --output "$T/spec.json" --ready-fd 9 2>"$T/deaf" 3>&- 5>&- 7>&- 8>&- \
    9>"$T/ready" &
  SERVE=$!
  IFS= read -r -t 30 -u 8 SPEC
  kill -TERM "$SERVE"
  serve_ends 0
  exec 5<&-
}

@test "serve: a pipeline whose every stage gets Ctrl-C ends when its last stage does" {
  # The last stage catches SIGINT and goes on for a while, as a coordinator that writes its checkpoint.
  cat >"$T/stage" <<'SCRIPT'
#!/bin/bash
trap 'caught=1' INT
IFS= read -r spec
echo ready >&9
until [ -n "$caught" ]; do sleep 0.05; done
address=$(jq -r .cluster.ps[0] <<<"$spec")
exec 3<>"/dev/tcp/${address%:*}/${address#*:}" && echo "still there" >"$TFD_SERVE_TEST/out"
SCRIPT
  chmod +x "$T/stage"
  env --default-signal=INT setsid bash -c "tfd-resolve local --jobs worker=1,ps=1 | tfd-serve | '$T/stage'" \
    3>&- 7>&- 8>&- 9>"$T/ready" &
  pipeline=$!
  IFS= read -r -t 30 -u 8 _
  kill -INT -- "-$pipeline"
  ends "$pipeline"
  [ "$(cat "$T/out")" = "still there" ]
  [ -z "$(marked)" ]
}
