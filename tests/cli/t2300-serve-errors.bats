#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-serve: bad input of each kind is one line and its exit code.

load serve
setup() { serve_setup; }
teardown() { serve_teardown; }

# CODE SPEC [ARGS…]: the spec on stdin.
refuses() {
  local code=$1 spec=$2
  shift 2
  run "-$code" --separate-stderr timeout 30 tfd-serve "$@" < <(printf '%s' "$spec")
  [ "$output" = "" ]
  echo "$stderr"
  [ "$(grep -vc '^hint: ' <<<"$stderr")" = 1 ]
  [[ ${stderr_lines[0]} == "tfd-serve: "* ]]
}

@test "serve: broken JSON, wrong types and no cluster" {
  refuses 65 '{"cluster": {"worker": ['
  refuses 65 'hello'
  refuses 65 '{"cluster": {"worker": 5}}'
  refuses 65 '{"cluster": {}}'
  refuses 65 '{}'
  refuses 64 ''
}

@test "serve: addresses that can't be" {
  refuses 65 '{"cluster": {"worker": ["127.0.0.1:70000"]}}'
  [[ $stderr == *"cluster.worker[0]"*"70000"* ]]
  refuses 65 '{"cluster": {"worker": ["127.0.0.1"]}}'
  refuses 65 '{"cluster": {"worker": ["127.0.0.1:4000", "127.0.0.1:4000"]}}'
}

@test "serve: a port that is taken" {
  serve --jobs worker=1
  port=$(port_of .cluster.worker[0])
  refuses 71 "{\"cluster\": {\"worker\": [\"127.0.0.1:$port\"]}}"
  [[ $stderr =~ ^"tfd-serve: cannot bind 127.0.0.1:$port: address already in use (tfd-serve, process "[0-9]+")"$ ]]
}

@test "serve: tasks that aren't there, or aren't served" {
  spec='{"cluster": {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:0"]}}'
  refuses 65 "$spec" --task worker:1
  refuses 65 "$spec" --task chief:0
  [[ $stderr == *"chief:0 is not served"* ]]
  refuses 64 "$spec" --task worker
  refuses 65 '{"cluster": {"chief": ["127.0.0.1:1"]}}'
  refuses 78 '{"cluster": {"worker": ["203.0.113.1:2222"]}}'
  [ "${stderr_lines[1]}" = "hint: --task JOB:INDEX serves one anyway" ]
}

@test "serve: port 0 of a task that isn't started here" {
  refuses 65 '{"cluster": {"worker": ["127.0.0.1:0", "203.0.113.1:0"]}}'
  [ "$stderr" = "tfd-serve: cluster.worker[1]: port 0 means any free one, but worker:1 is not started here" ]
  refuses 65 '' --jobs worker=2 --task worker:0
}

@test "serve: off loopback only with --insecure" {
  refuses 77 '{"cluster": {"worker": ["0.0.0.0:0"]}}'
  [[ ${stderr_lines[1]} == "hint: use --insecure "* ]]
  refuses 77 '{"cluster": {"worker": ["203.0.113.1:0"]}}' --task worker:0
  refuses 77 '' --jobs worker=1 --bind 0.0.0.0
  serve --jobs worker=1 --bind 0.0.0.0 --insecure
  connects "$(port_of .cluster.worker[0])"
}

@test "serve: the command line" {
  refuses 64 '' --jobs worker
  refuses 64 '' --jobs worker=1 --cluster x.json
  refuses 64 '' --jobs worker=1 --detach -- true
  refuses 64 '' --jobs worker=1 --bind 203.0.113.1
  refuses 64 '' --jobs worker=1 --ready-fd 99
  refuses 64 '' --jobs worker=1 --ready-fd x
  refuses 64 '' --timeout soon
  refuses 65 '' --cluster "$T/none.json"
}

@test "serve: a spec that never comes" {
  mkfifo "$T/silent"
  run -75 --separate-stderr timeout 30 tfd-serve --timeout 300ms <>"$T/silent"
}

@test "serve: a task that never becomes ready is named, exit 75" {
  fake_task 'case $2 in worker:1) exec sleep 600 ;; esac; ready; exec sleep 600'
  refuses 75 '' --task-program "$T/fake-task" --jobs worker=3 --timeout 500ms
  [ "$stderr" = "tfd-serve: worker:1 not ready after 500ms" ]
  [ -z "$(marked)" ]
}

@test "serve: a task that dies at once is named, after what it said" {
  fake_task 'case $2 in ps:0) echo "cannot do it" >&2; exit 3 ;; esac; ready; exec sleep 600'
  run -69 --separate-stderr timeout 30 tfd-serve --task-program "$T/fake-task" --jobs worker=2,ps=1
  [ "${stderr_lines[0]}" = "ps:0: cannot do it" ]
  [ "${stderr_lines[1]}" = "tfd-serve: ps:0 exited with 3 before it was ready" ]
  [ "$output" = "" ]
  [ -z "$(marked)" ]
}
