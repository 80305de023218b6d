#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-launch on one host: which tasks, what they are told, their output, and the exit code.

load launch
setup() { launch_setup; }
teardown() { launch_teardown; }

@test "launch: -n workers, each told who it is, in the words of torch, JAX, TensorFlow and tfd" {
  run -0 --separate-stderr tfd-launch -n 2 -- sh -c 'echo "$RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK $TFD_TASK $TFD_GENERATION $TFD_RESTARTS $TFD_WORKERS"'
  [ "$(sort <<<"$output")" = $'worker:0: 0 2 0 2 0 worker:0 0 0 2\nworker:1: 1 2 1 2 0 worker:1 0 0 2' ]
  run -0 --separate-stderr tfd-launch -n 2 --no-prefix -- sh -c 'echo "$TF_CONFIG"'
  [ "$(jq -sc 'map(.cluster.worker) | unique | length' <<<"$output")" = 1 ]
  [ "$(jq -sc 'map(.task.index) | sort' <<<"$output")" = "[0,1]" ]
  run -0 --separate-stderr tfd-launch -n 2 --no-prefix -- sh -c '[ "$MASTER_ADDR:$MASTER_PORT" = "$JAX_COORDINATOR_ADDRESS" ] && echo "$TF_CONFIG" | jq -c ".cluster.worker[0] == env.JAX_COORDINATOR_ADDRESS"'
  [ "$output" = $'true\ntrue' ]
}

@test "launch: a port of TF_CONFIG is the task's own: it can be bound, and stays the task's" {
  run -0 --separate-stderr tfd-launch -n 3 --no-prefix -- python3 -c '
import json, os, socket
config = json.loads(os.environ["TF_CONFIG"])
host, port = config["cluster"]["worker"][config["task"]["index"]].split(":")
with socket.socket() as server:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((host, int(port)))
    server.listen()
    socket.create_connection(server.getsockname()).close()
print("bound")'
  [ "$output" = $'bound\nbound\nbound' ]
}

@test "launch: --jobs; ps and evaluator have no rank" {
  run -0 --separate-stderr tfd-launch --jobs worker=1,chief=1,ps=1,evaluator=1 -- sh -c 'echo "${RANK-none} ${WORLD_SIZE-none} ${TFD_WORKERS-none} ${TFD_ERROR_FILE+file}"; [ "$(echo "$TF_CONFIG" | jq .task.index)" = 0 ]'
  [ "$(sort <<<"$output")" = $'chief:0: 0 2 2 file\nevaluator:0: none none none \nps:0: none none none \nworker:0: 1 2 2 file' ]
}

@test "launch: what an outer launcher said isn't passed on" {
  RANK=5 WORLD_SIZE=9 TFD_TASK=worker:7 run -0 --separate-stderr tfd-launch --jobs ps=1,worker=1 -- sh -c 'echo "${RANK-none} $TFD_TASK"'
  [ "$(sort <<<"$output")" = $'ps:0: none ps:0\nworker:0: 0 worker:0' ]
}

@test "launch: a spec's tasks of this host, from a file, stdin, or TF_CONFIG; its task alone where it names one" {
  echo '{"cluster": {"worker": ["127.0.0.1:0", "203.0.113.1:2222", "127.0.0.1:0"]}}' >spec.json
  run -0 --separate-stderr tfd-launch --cluster spec.json -- sh -c 'echo "$RANK $LOCAL_RANK $LOCAL_WORLD_SIZE"'
  [ "$(sort <<<"$output")" = $'worker:0: 0 0 2\nworker:2: 2 1 2' ]
  run -0 --separate-stderr bash -c 'tfd-launch -- true <spec.json && tfd-launch --cluster - -- true <spec.json'
  TF_CONFIG='{"cluster": {"worker": ["127.0.0.1:0", "127.0.0.1:0"]}, "task": {"type": "worker", "index": 1}}' run -65 --separate-stderr tfd-launch -- true
  [[ $stderr == *"port is not known yet"* ]]
  TF_CONFIG='{"cluster": {"worker": ["203.0.113.1:2222", "127.0.0.1:0"]}, "task": {"type": "worker", "index": 1}}' run -0 --separate-stderr tfd-launch -- sh -c 'echo $RANK'
  [ "$output" = "worker:1: 1" ]
}

@test "launch: one worker where nothing says otherwise; with -n stdin is left alone" {
  run -0 --separate-stderr tfd-launch -- sh -c 'echo $WORLD_SIZE' </dev/null
  [ "$output" = "worker:0: 1" ]
  run -0 --separate-stderr bash -c '{ echo one; echo two; } | { tfd-launch -n 1 -- cat; cat; }'
  [ "$output" = $'one\ntwo' ]
}

@test "launch: wrong command lines are one line and 64" {
  run -64 tfd-launch -n 2 --jobs worker=2 -- true
  [ "$output" = "tfd-launch: -n, --jobs and --cluster exclude each other: each names the tasks (see tfd-launch --help)" ]
  run -64 tfd-launch -n 2
  [ "$output" = "tfd-launch: a command is missing: -- CMD [ARG…] (see tfd-launch --help)" ]
  run -64 tfd-launch -n 0 -- true
  run -64 tfd-launch --jobs worker=x -- true
  run -65 bash -c 'echo "{\"cluster\": {}}" | tfd-launch -- true'
  echo '{"cluster": {"worker": ["203.0.113.1:2222"]}}' >spec.json
  run -78 tfd-launch --cluster spec.json -- true
  [ "$output" = "tfd-launch: no task of the cluster is on this host, only on 203.0.113.1" ]
}

@test "launch: a stated port that is taken is an error, 71, and names its owner" {
  python3 -c '
import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(60)' >port 3>&- &
  local holder=$!
  until_true has_lines port 1
  echo "{\"cluster\": {\"worker\": [\"127.0.0.1:$(cat port)\"]}}" >spec.json
  run -71 tfd-launch --cluster spec.json -- true
  local name
  name=$(cat "/proc/$holder/comm")
  kill "$holder"
  [ "$output" = "tfd-launch: cannot bind 127.0.0.1:$(cat port): address already in use ($name, process $holder)" ]
}

@test "launch: whole lines with names, stdout and stderr apart, a last line without a newline" {
  run -0 --separate-stderr tfd-launch -n 2 -- sh -c 'printf "a\nb"; printf "c\n\nd" >&2'
  [ "$(sort <<<"$output")" = $'worker:0: a\nworker:0: b\nworker:1: a\nworker:1: b' ]
  [ "$(sort <<<"$stderr")" = $'worker:0: \nworker:0: c\nworker:0: d\nworker:1: \nworker:1: c\nworker:1: d' ]
}

@test "launch: 64 tasks that write at once: every line whole" {
  run -0 --separate-stderr bash -c "tfd-launch -n 64 -- sh -c 'i=0; while [ \$i -lt 50 ]; do echo \$RANK line \$i; i=\$((i + 1)); done' |
    awk '{ split(\$1, name, \":\"); if (NF != 4 || name[2] != \$2 || \$3 != \"line\") bad++; else n++ } END { print n, bad + 0 }'"
  [ "$output" = "3200 0" ]
}

@test "launch: a line of a mebibyte stays whole, and binary output is passed on byte by byte" {
  run -0 --separate-stderr bash -c "tfd-launch -n 2 -- sh -c 'head -c 1048576 /dev/zero | tr \"\\\\0\" x; echo' | awk '{ print length(\$2) }'"
  [ "$output" = $'1048576\n1048576' ]
  head -c 3000000 /dev/urandom >random
  tfd-launch -n 1 --no-prefix -- cat random | cmp - random
  tfd-launch -n 2 --output logs -- cat random
  cmp logs/worker-0.out random
  cmp logs/worker-1.out random
  run -0 --separate-stderr bash -c "tfd-launch -n 1 -- printf 'a\0b' | tr '\0' 0"
  [ "$output" = "worker:0: a0b" ]
}

@test "launch: --output writes a file per task and stream, anew each time" {
  run -0 tfd-launch --jobs chief=1,worker=1 --output logs/of -- sh -c 'echo "to out"; printf "to err" >&2'
  [ "$output" = "" ]
  tfd-launch --jobs chief=1,worker=1 --output logs/of -- sh -c 'echo "to out"; printf "to err" >&2'
  [ "$(ls logs/of | tr '\n' ' ')" = "chief-0.err chief-0.out worker-0.err worker-0.out " ]
  [ "$(cat logs/of/worker-0.out logs/of/worker-0.err)" = $'to out\nto err' ]
}

@test "launch: a slow reader loses nothing" {
  run -0 --separate-stderr bash -c "tfd-launch -n 2 -- seq 100000 | { read -r first; sleep 0.5; wc -l; }"
  [ "$output" = 199999 ]
}

@test "launch: when the reader goes, tasks get SIGPIPE, as without it" {
  run -0 --separate-stderr bash -c 'tfd-launch -n 2 -- yes | head -n 1; [ ${PIPESTATUS[0]} = 141 ]'
  [ "$stderr" = "" ]
}

@test "launch: a full disk is an error, 71" {
  run -71 --separate-stderr bash -c 'tfd-launch -n 2 -- echo x >/dev/full'
  [ "${stderr_lines[-1]}" = "tfd-launch: cannot write to stdout: no space left on device" ]  # one may have died of SIGPIPE before
}

@test "launch: stdin is /dev/null, and there are no other descriptors" {
  run -0 --separate-stderr bash -c "echo secret | tfd-launch -n 2 --no-prefix -- python3 -c '
import os, sys
print(repr(sys.stdin.read()), os.readlink(\"/proc/self/fd/0\"), [fd for fd in range(3, 256) if os.path.exists(f\"/proc/self/fd/{fd}\")])'"
  [ "$(sort -u <<<"$output")" = "'' /dev/null []" ]
}

@test "launch: the code of the first that fails, named; the others are ended" {
  run -7 --separate-stderr tfd-launch -n 3 -- sh -c '[ "$RANK" != 1 ] || exit 7; sleep 60'
  [ "$stderr" = "tfd-launch: worker:1 exited with 7" ]
  run -137 --separate-stderr tfd-launch -n 3 -- sh -c '[ "$RANK" != 1 ] || kill -9 $$; sleep 60'
  [ "$stderr" = "tfd-launch: worker:1 was killed by SIGKILL" ]
  run -0 tfd-launch -n 3 -q -- true
  [ "$output" = "" ]
}

@test "launch: 69 is another's loss, and never hides the first cause" {
  run -137 --separate-stderr tfd-launch -n 3 -- sh -c '[ "$RANK" = 1 ] || exit 69; until [ "$(ls /proc/$PPID/task/$PPID/children)" ] && [ "$(wc -w </proc/$PPID/task/$PPID/children)" = 1 ]; do :; done; kill -9 $$'
  [ "$stderr" = "tfd-launch: worker:1 was killed by SIGKILL" ]
  run -69 --separate-stderr tfd-launch -n 2 -- sh -c 'exit 69'
  [[ $stderr =~ ^"tfd-launch: worker:"[01]" exited with 69"$ ]]
}

@test "launch: 126 and 127 where the command can't run" {
  run -127 --separate-stderr tfd-launch -n 3 -- no-such-command
  [ "$stderr" = "tfd-launch: cannot run no-such-command: command not found" ]
  : >plain
  run -126 --separate-stderr tfd-launch -n 3 -- ./plain
  [ "$stderr" = "tfd-launch: cannot run ./plain: permission denied" ]
}

@test "launch: --error-dir has a file for each that failed, with what the task said" {
  run -4 --separate-stderr tfd-launch -n 2 --error-dir errors -- sh -c '[ "$RANK" = 1 ] || exec sleep 60; echo "{\"message\": \"no such shard\", \"step\": 12}" >"$TFD_ERROR_FILE"; exit 4'
  [ "$stderr" = "tfd-launch: worker:1 exited with 4: no such shard" ]
  [ "$(jq -c '[.task, .code, .message, .signal, .step, (.pid > 1), (.time > 1e9), (.host | length > 0)]' errors/worker-1.json)" = '["worker:1",4,"no such shard",0,12,true,true,true]' ]
  [ "$(jq -c '[.code, .signal, .message]' errors/worker-0.json)" = '[143,15,"was killed by SIGTERM"]' ]
}

@test "launch: --error-dir has the step of each task that says which one it makes, without MIN:MAX, too" {
  run -137 --separate-stderr tfd-launch -n 2 --error-dir errors -- sh -c '
    echo "step 41$RANK" >"$TFD_MEMBER_FILE"; touch "said-$RANK"
    until [ -e said-0 ] && [ -e said-1 ]; do sleep 0.05; done
    [ "$RANK" = 0 ] || kill -KILL $$; exec sleep 60'
  [ "$(jq -c '[.code, .step]' errors/worker-1.json errors/worker-0.json | paste -sd' ')" = '[137,411] [143,410]' ]
}

@test "launch: the first cause is the earliest that a task states, though it took longer to exit; torch's form too" {
  run -3 --separate-stderr tfd-launch -n 2 --error-dir errors -- sh -c '
    [ "$RANK" = 0 ] || { trap "exit 4" TERM; printf "%s" "{\"message\": {\"message\": \"ValueError: bad\", \"extraInfo\": {\"timestamp\": \"17\"}}}" >"$TORCHELASTIC_ERROR_FILE"; : >up; while :; do sleep 0.1; done; }
    until [ -e up ]; do sleep 0.05; done; exit 3'
  # Shells say themselves that what they ran was terminated.
  [ "$(grep ^tfd-launch <<<"$stderr")" = $'tfd-launch: worker:0 exited with 3\ntfd-launch: worker:1 failed before that: ValueError: bad' ]
  [ "$(jq -c '[.code, .message, .time == 17]' errors/worker-1.json)" = '[4,"ValueError: bad",true]' ]
}

@test "launch: a tool of tfd says why it failed" {
  run -64 --separate-stderr tfd-launch -n 1 --error-dir errors -- tfd-launch -n 0 -- true
  [ "$(tail -n 1 <<<"$stderr")" = "tfd-launch: worker:0 exited with 64: $(jq -r .message errors/worker-0.json)" ]
  [[ $(jq -r .message errors/worker-0.json) == "--tasks: 0 is out of range"* ]]
}
