#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-serve: one process per task, the spec with real ports, what the processes are like.

load serve
setup() { serve_setup; }
teardown() { serve_teardown; }

@test "serve: announces every task's real port, and each accepts connections" {
  serve --jobs worker=2,ps=1
  [ "$(jq -c '[.cluster.worker, .cluster.ps | length]' <<<"$SPEC")" = "[2,1]" ]
  for at in .cluster.worker[0] .cluster.worker[1] .cluster.ps[0]; do
    [ "$(port_of "$at")" -gt 0 ]
    connects "$(port_of "$at")"
  done
  [ "$(cat "$T/spec.json")" = "$SPEC" ]
  [ "$(pgrep -c -P "$SERVE")" = 3 ]
}

@test "serve: the spec comes from stdin, a file or TF_CONFIG, with its other keys kept" {
  spec='{"cluster": {"worker": ["127.0.0.1:0"]}, "mine": {"kept": true}}'
  run -0 --separate-stderr timeout 30 bash -c "echo '$spec' | tfd-serve | head -n1"
  [ "$(jq -c .mine <<<"$output")" = '{"kept":true}' ]
  echo "$spec" >"$T/in.json"
  run -0 --separate-stderr timeout 30 bash -c "tfd-serve --cluster '$T/in.json' </dev/null | head -n1"
  [ "$(jq -c .mine <<<"$output")" = '{"kept":true}' ]
  export TF_CONFIG=$spec
  run -0 --separate-stderr timeout 30 bash -c "tfd-serve </dev/null | head -n1"
  [ "$(jq -c .mine <<<"$output")" = '{"kept":true}' ]
}

@test "serve: never the chief or an evaluator, though a local chief gets a port" {
  echo '{"cluster": {"chief": ["127.0.0.1:0"], "worker": ["127.0.0.1:0"], "evaluator": ["127.0.0.1:0"]}}' >"$T/in.json"
  serve --cluster "$T/in.json"
  [ "$(pgrep -c -P "$SERVE")" = 1 ]
  task_pid worker:0
  [ "$(port_of .cluster.chief[0])" -gt 0 ]
  run ! connects "$(port_of .cluster.chief[0])"
}

@test "serve: only the tasks whose address is this host's" {
  echo '{"cluster": {"worker": ["203.0.113.1:2222", "127.0.0.1:0"], "ps": ["203.0.113.2:2222"]}}' >"$T/in.json"
  serve --cluster "$T/in.json"
  [ "$(pgrep -c -P "$SERVE")" = 1 ]
  task_pid worker:1
  [ "$(jq -r '.cluster.worker[0]' <<<"$SPEC")" = 203.0.113.1:2222 ]
}

@test "serve: --task is that one alone, on all interfaces where its address is another host's" {
  echo '{"cluster": {"worker": ["203.0.113.1:2222"], "ps": {"3": "127.0.0.1:0"}}}' >"$T/in.json"
  serve --cluster "$T/in.json" --task ps:3
  [ "$(pgrep -c -P "$SERVE")" = 1 ]
  task_pid ps:3
  connects "$(port_of '.cluster.ps["3"]')"
  [ "$(jq -c .task <<<"$SPEC")" = '{"type":"ps","index":3}' ]
}

@test "serve: IPv6" {
  [ -e /proc/net/if_inet6 ] && grep -q ' lo$' /proc/net/if_inet6 || skip "no IPv6 here"
  echo '{"cluster": {"worker": ["[::1]:0"]}}' >"$T/in.json"
  serve --cluster "$T/in.json"
  address=$(jq -r .cluster.worker[0] <<<"$SPEC")
  [[ $address =~ ^\[::1\]:[1-9] ]]
  timeout 5 bash -c "exec 3<>/dev/tcp/::1/${address##*:}"
}

@test "serve: a task has /dev/null as stdin and stdout, and no descriptor but its own" {
  exec 19</dev/zero # what a careless parent leaves open
  serve --jobs worker=1,ps=1
  pid=$(task_pid ps:0)
  [ "$(readlink "/proc/$pid/fd/0")" = /dev/null ]
  [ "$(readlink "/proc/$pid/fd/1")" = /dev/null ]
  run ! grep -E '/dev/zero|/ready$' <(for fd in "/proc/$pid/fd/"*; do readlink "$fd"; done)
  [ "$(ps -o pgid= -p "$pid" | tr -d ' ')" = "$pid" ]
  [ "$(cat "/proc/$pid/comm")" = tfd-serve ]
}

@test "serve: an idle task takes less than 20 MiB" {
  serve --jobs worker=1,ps=1
  for task in worker:0 ps:0; do
    pid=$(task_pid $task)
    rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
    echo "# $task: $rss KiB"
    grep -q 'lib[at]san' "/proc/$pid/maps" || [ "$rss" -lt 20480 ]
  done
}

@test "serve: threads of XLA are divided among the workers, unless set" {
  fake_task 'ready; echo "nproc $PJRT_NPROC" >&2; exec sleep 600'
  launch --task-program "$T/fake-task" --jobs worker=64
  said 'worker:[0-9]+: nproc 1$'
  kill "$SERVE"; ends "$SERVE"
  PJRT_NPROC=7 launch --task-program "$T/fake-task" --jobs worker=2
  said 'worker:[0-9]: nproc 7$'
}

@test "serve: what a task says goes to stderr with its name in front" {
  fake_task 'ready; printf "tfd-serve: watch out\nno newline\033[31m" >&2; exec sleep 600 2>/dev/null'
  serve --task-program "$T/fake-task" --jobs worker=1
  said '^worker:0: watch out$'
  said '^worker:0: no newline.\[31m$'
}
