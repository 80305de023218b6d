#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-resolve union: specs from stdin and files, TensorFlow's rules and errors, --watch of files.

bats_require_minimum_version 1.5.0
load until.bash

setup() {
  unset TF_CONFIG CUDA_VISIBLE_DEVICES TFD_LOG "${!SLURM_@}" "${!OMPI_@}" "${!PMI_@}" "${!PMIX_@}"
  cd "$BATS_TEST_TMPDIR" || return
  echo '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}, "rpc_layer": "grpc", "mine": [1.50]}' >a.json
  echo '{"cluster": {"ps": ["p:1"], "worker": ["c:1"]}, "rpc_layer": "http"}' >b.json
}

refused() {  # CODE MESSAGE ARGUMENTS…
  run --separate-stderr -"$1" tfd-resolve "${@:3}"
  [ -z "$output" ]
  [ "${stderr_lines[0]}" = "tfd-resolve: $2" ] || { echo "got: ${stderr_lines[0]}"; return 1; }
  [ "${#stderr_lines[@]}" = 1 ]
}

MERGED='{"cluster": {"worker": ["a:1", "b:1", "c:1"], "ps": ["p:1"]}, "task": {"type": "worker", "index": 1}, "rpc_layer": "grpc", "master": "grpc://b:1", "resolver": "union", "mine": [1.50]}'

@test "union: stdin to its end, files, both" {
  run -0 bash -c 'cat a.json b.json | tfd-resolve union'
  [ "$output" = "$MERGED" ]
  run -0 tfd-resolve union a.json b.json
  [ "$output" = "$MERGED" ]
  run -0 bash -c 'tfd-resolve union a.json - <b.json'
  [ "$output" = "$MERGED" ]
  run -0 tfd-resolve union <(cat a.json) <(cat b.json)
  [ "$output" = "$MERGED" ]
}

@test "union: everything but the cluster is the first one's, unless given" {
  run -0 tfd-resolve union b.json a.json --get rpc_layer
  [ "$output" = http ]
  run -0 tfd-resolve union a.json b.json --task ps:0 --rpc-layer grpcs --get master
  [ "$output" = grpcs://p:1 ]
  run -0 tfd-resolve union a.json --task worker:0 --get task.index
  [ "$output" = 0 ]
  run -0 tfd-resolve union a.json --task worker:0 --compat tensorflow --get task.index
  [ "$output" = 1 ]
}

@test "union: sparse jobs keep their indices" {
  run -0 bash -c 'echo "{\"cluster\": {\"worker\": {\"1\": \"b:1\", \"3\": \"d:1\"}}} {\"cluster\": {\"worker\": {\"5\": \"f:1\"}}}" | tfd-resolve union --get cluster'
  [ "$output" = '{"worker": {"1": "b:1", "3": "d:1", "5": "f:1"}}' ]
}

@test "union: bad input" {
  echo '{"cluster": {"worker": {"0": "x:1", "1": "y:1", "9": "z:1"}}}' >sparse.json
  refused 65 "cluster.worker: [0] of a.json and [1] of a.json are also in sparse.json: sparse jobs keep their indices, so each may appear only once" union a.json sparse.json
  refused 65 "no cluster specs: at least one is needed" union /dev/null
  refused 65 "cannot open nowhere: no such file or directory" union a.json nowhere
  echo '{"cluster": {"worker": ["a:1"]}}{"cluster": {"worker": 3}}' >bad.json
  refused 65 "bad.json (spec 2): cluster.worker: the tasks for job 'worker' must be a list or an object from integers to strings, not a number" union bad.json
  echo '{"cluster": {"worker": ["a:1"]}}{"clus' >cut.json
  refused 65 "cut.json: the spec is cut off" union cut.json
  echo '[1]' >list.json
  refused 65 "list.json: a spec is a JSON object, but this begins with '['" union list.json
  echo '{"cluster": {}}' >empty.json
  refused 65 "the cluster is empty: no task in any job" union empty.json empty.json
  refused 65 "task ps:4: job 'ps' has 1 task, but none with index 4" union a.json b.json --task ps:4
}

@test "union: says what it waits for, and gives up after --timeout" {
  run -75 --separate-stderr bash -c 'tfd-resolve union --timeout 2500ms < <(exec sleep 20)'
  [ "${stderr_lines[0]}" = "tfd-resolve: waiting for cluster specs on stdin, up to its end (2s so far)" ]
  [ "${stderr_lines[1]}" = "tfd-resolve: stdin: nothing arrived in time" ]
}

@test "union --watch: a new line for each real change, ends with its reader" {
  mkfifo lines
  tfd-resolve union a.json b.json --watch --get cluster.worker >lines 2>talk 3>&- &
  local pid=$!
  exec 5<lines
  read -rt 60 line <&5
  [ "$line" = '["a:1", "b:1", "c:1"]' ]
  cp a.json same.json && mv same.json a.json      # nothing new
  echo '{"cluster": ' >half.json && mv half.json a.json  # half a file; and never an empty one, which has no cluster
  until_true grep -q "a.json: the spec is cut off; keeping the last answer" talk
  echo '{"cluster": {"worker": ["z:1"]}}' >new.json && mv new.json a.json
  read -rt 60 line <&5
  [ "$line" = '["z:1", "c:1"]' ]
  exec 5<&-
  run -0 timeout 10 tail --pid=$pid -f /dev/null  # it notices by itself
}

@test "--watch of what can't change prints once and ends" {
  run -0 --separate-stderr timeout 10 tfd-resolve local --jobs worker=1 --watch -v
  [ "$output" = '{"cluster": {"worker": ["127.0.0.1:0"]}, "resolver": "local"}' ]
  [ "$stderr" = "tfd-resolve: local: its answer no longer changes" ]
  run -0 bash -c 'timeout 10 tfd-resolve union --watch <a.json | wc -l'
  [ "$output" = 1 ]
  run -65 timeout 10 tfd-resolve union nowhere --watch
}
