#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-serve: when it ends, and how: its reader, signals, goodbye, the background.

load serve
setup() { serve_setup; }
teardown() { serve_teardown; }

@test "serve: in a pipe it ends with its reader, exit 0, and leaves nothing" {
  run -0 --separate-stderr timeout 30 bash -c \
    'tfd-resolve local --jobs worker=2,ps=1 | tfd-serve | head -c1; echo " ${PIPESTATUS[*]}"'
  [ "$output" = "{ 0 0 0" ]
  [ "$stderr" = "" ]
  [ -z "$(marked)" ]
}

@test "serve: a reader that is gone before anything was ready ends it too" {
  fake_task 'exec sleep 600' # never ready
  run -0 timeout 30 bash -c "tfd-serve --task-program '$T/fake-task' --jobs worker=2 | true"
  [ -z "$(marked)" ]
}

@test "serve: a socket as stdout ends it as a pipe does" {
  run -0 timeout 30 python3 - <<'PY'
import socket, subprocess, sys
ours, theirs = socket.socketpair()
serve = subprocess.Popen(["tfd-serve", "--jobs", "worker=1"], stdin=subprocess.DEVNULL, stdout=theirs)
theirs.close()
assert ours.recv(1) == b"{"
ours.close()
sys.exit(serve.wait(20))
PY
}

@test "serve: while the reader lives a first signal is held back, a second one ends it" {
  mkfifo "$T/out"
  exec 6<>"$T/out"
  launch -v --jobs worker=1,ps=1 >"$T/out"
  IFS= read -r -t 30 -u 6 SPEC
  kill -INT "$SERVE"
  said 'SIGINT held back'
  connects "$(port_of .cluster.ps[0])"
  kill -TERM "$SERVE"
  serve_ends 0
  exec 6<&-
  [ -z "$(marked)" ]
}

@test "serve: with a file as stdout SIGTERM ends it with 0, SIGINT as a signal" {
  serve --jobs worker=1,ps=1 >"$T/out"
  kill -TERM "$SERVE"
  serve_ends 0
  serve --jobs worker=1,ps=1 >"$T/out"
  kill -INT "$SERVE"
  serve_ends 130
}

@test "serve: before all is ready the first signal ends it, and that is no success" {
  fake_task 'echo started >&2; exec sleep 600'
  launch --task-program "$T/fake-task" --jobs worker=2 >"$T/out"
  said started
  kill -TERM "$SERVE"
  serve_ends 143
}

@test "serve: a task that doesn't end by itself is killed after the grace, or at the next signal" {
  fake_task 'trap "echo asked >&2" TERM; ready; while :; do sleep 600 & wait $!; kill %1; done'
  serve --task-program "$T/fake-task" --jobs worker=1 --grace 100ms
  kill -TERM "$SERVE"
  said asked
  serve_ends 0
  kill -KILL $(marked) 2>/dev/null || true # the fake's own sleep
  serve --task-program "$T/fake-task" --jobs worker=1 --grace 1h
  kill -TERM "$SERVE"
  said asked
  kill -TERM "$SERVE"
  serve_ends 0
  kill -KILL $(marked) 2>/dev/null || true
}

@test "serve: goodbye ends a server of one task, and one of many with --once" {
  fake_task 'ready; exit 0'
  serve --task-program "$T/fake-task" --jobs worker=1
  serve_ends 0
  serve --task-program "$T/fake-task" --jobs worker=2,ps=1 --once
  serve_ends 0
}

@test "serve: a coordinator's goodbye ends real tasks, and with them the server" {
  serve --jobs worker=2,ps=1 --once
  timeout 60 tfd-coordinate --cluster "$T/spec.json" "$EXAMPLES/linear/program.json" \
    --set train.checkpoint.dir="$T/ck" >"$T/events" || [ $? = 78 ] # 78: no PJRT plug-in here
  jq -e 'select(.event == "end")' "$T/events" || skip "no PJRT plug-in"
  serve_ends 0
}

@test "serve: else a task that was told goodbye is there again for the next coordinator" {
  fake_task 'ready; echo "here, $$" >&2; exit 0'
  serve -v --task-program "$T/fake-task" --jobs worker=2
  said 'worker:1: here, '
  first=$LINE
  said 'worker:1 was told to end; restarting in 100ms'
  said 'worker:1: here, '
  [ "$LINE" != "$first" ]
}

@test "serve: --output is written whole, and stdout stays empty" {
  serve --jobs worker=1 >"$T/out"
  jq -e .cluster.worker[0] "$T/spec.json"
  [ ! -s "$T/out" ]
  [ "$(find "$T" -name '.*.tmp' | wc -l)" = 0 ]
}

@test "serve: --output where it can't be written ends it, with the reason" {
  run --separate-stderr -65 timeout 30 tfd-serve --jobs worker=1 --output "$T/none/spec.json"
  [ "$stderr" = "tfd-serve: cannot write $T/none/spec.json: no such file or directory" ]
}

@test "serve: --detach prints the spec and returns; the rest goes on by itself" {
  SPEC=$(timeout 30 tfd-serve --detach --jobs worker=1,ps=1 2>&1) # returns though the server holds no pipe of ours
  pid=$(jq .supervisor.pid <<<"$SPEC")
  connects "$(port_of .cluster.ps[0])"
  [ "$(ps -o sid= -p "$pid" | tr -d ' ')" = "$pid" ]
  kill "$pid"
  ends "$pid"
  [ -z "$(marked)" ]
}

@test "serve: --detach says in the foreground what is wrong, with its exit code" {
  fake_task 'echo "no disk" >&2; exit 71'
  run --separate-stderr -71 timeout 30 tfd-serve --detach --task-program "$T/fake-task" --jobs worker=1
  [ "${stderr_lines[0]}" = "worker:0: no disk" ]
  [ "${stderr_lines[1]}" = "tfd-serve: worker:0 exited with 71 before it was ready" ]
  [ "$output" = "" ]
}

@test "serve: the service manager is told" {
  run -0 timeout 30 python3 - "$T/notify" <<'PY'
import os, socket, subprocess, sys
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(sys.argv[1])
notify.settimeout(20)
serve = subprocess.Popen(["tfd-serve", "--jobs", "worker=1", "--output", "/dev/null"], stdin=subprocess.DEVNULL,
                         env=dict(os.environ, NOTIFY_SOCKET=sys.argv[1]))
assert notify.recv(100) == b"READY=1"
serve.terminate()
assert notify.recv(100) == b"STOPPING=1"
sys.exit(serve.wait(20))
PY
}
