#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy multi-worker-mirrored before its first step: which workers wait for which, and the ends of a wait.

load group
setup() {
  coordinate_setup
  PROGRAM=("$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --set train.steps=20)
}
teardown() { run_teardown; }

@test "multi-worker: each that waits says for whom, and SIGTERM ends the wait with a line and 75" {
  group_of 3
  local i
  PIDS=()
  for i in 0 1; do
    worker "worker:$i" "${PROGRAM[@]}" --key-file none
    PIDS+=("$RUN")
  done
  for i in 0 1; do RUN=${PIDS[$i]} until_talk "worker:$i" '^tfd-run: waiting for worker:2 to join ([0-9a-z]* so far)$'; done
  for i in 1 0; do
    kill -TERM "${PIDS[$i]}"
    run_ends "${PIDS[$i]}" 75
    grep -q '^tfd-run: interrupted while waiting for .*worker:2 to join; the same command joins again$' "worker:$i.talk"
  done
  group_of 2
  worker worker:1 "${PROGRAM[@]}" --key-file none --predict predict --dataset test --untrained
  until_talk worker:1 '^tfd-run: waiting for worker:0 to join ([0-9a-z]* so far)$'
  kill -TERM "$RUN"
  run_ends "$RUN" 75
  grep -q '^tfd-run: interrupted while waiting for worker:0 to join$' worker:1.talk
}

@test "multi-worker: a worker whose port another process has names that process" {
  group_of 2
  worker worker:0 "${PROGRAM[@]}" --key-file none
  until_true connects "$(jq -r '.cluster.worker[0]' cluster.json | sed 's/.*://')"
  run -71 --separate-stderr timeout 60 tfd-run "${PROGRAM[@]}" --key-file none --cluster cluster.json --task worker:0
  [[ $stderr == "tfd-run: worker:0: cannot bind 127.0.0.1:"*": address already in use (tfd-run, process $RUN)" ]]
  kill -TERM "$RUN"
  run_ends "$RUN" 75
}

# Two workers with these key files end with 77, and what each says.
keys_differ() { # KEY0 TEXT0 KEY1 TEXT1 ARGS…
  local keys=("$1" "$3") texts=("$2" "$4") i
  shift 4
  group_of 2
  PIDS=()
  for i in 0 1; do
    worker "worker:$i" "${PROGRAM[@]}" --key-file "${keys[$i]}" "$@"
    PIDS+=("$RUN")
  done
  group_ends 77
  for i in 0 1; do
    grep -q "^tfd-run: worker:$((1 - i)) at 127\.0\.0\.1:[0-9]* ${texts[$i]}$" "worker:$i.talk" || { cat ./*.talk && return 1; }
  done
}

@test "multi-worker: without a cluster there is one worker, so MIN:MAX can be 1:1" {
  run -0 timeout 60 tfd-run "${PROGRAM[@]}" --set train.checkpoint.dir=ck --workers 1:1 </dev/null
  run -64 --separate-stderr timeout 60 tfd-run "${PROGRAM[@]}" --set train.checkpoint.dir=ck --workers 1:2 </dev/null
  [[ $stderr == 'tfd-run: --workers 1:2: the cluster has 1 worker, which is the most that there can be'* ]]
}

@test "multi-worker: a spec whose ports nobody knows yet is refused at once" {
  tfd-resolve local --jobs worker=2 >unserved.json
  run -65 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --cluster unserved.json --task worker:0
  [[ $stderr == "tfd-run: --strategy multi-worker-mirrored: cluster.worker:1: cannot connect to port 0"*"tfd-launch"* ]]
}

@test "multi-worker: workers whose keys differ, or of which one has none, end soon, and each says so" {
  tfd-serve -q --generate-key --key-file key
  tfd-serve -q --generate-key --key-file other
  local differs="uses a different key; pass the cluster's key with --key-file"
  local required="requires the cluster's key, and none was found here; pass it with --key-file"
  local unexpected='serves without a key, and one was found here; connect without it with --key-file none'
  keys_differ key "$differs" other "$differs"
  keys_differ none "$required" key "$unexpected"
  keys_differ key "$unexpected" none "$required" --workers 1:2
}

@test "multi-worker: the others of a group whose first worker was refused end for the same reason" {
  tfd-serve -q --generate-key --key-file key
  tfd-serve -q --generate-key --key-file other
  group_of 3
  local i keys=(key other key)
  PIDS=()
  for i in 2 1 0; do
    worker "worker:$i" "${PROGRAM[@]}" --key-file "${keys[$i]}"
    PIDS[i]=$RUN
  done
  group_ends 77
  for i in 0 2; do grep -q "^tfd-run: worker:1 at 127\.0\.0\.1:[0-9]* uses a different key; pass the cluster's key with --key-file$" "worker:$i.talk"; done
}

@test "multi-worker: with MIN:MAX a task with another key ends by itself, and the others go on" {
  tfd-serve -q --generate-key --key-file key
  tfd-serve -q --generate-key --key-file other
  group_of 3
  local i
  PIDS=()
  for i in 0 1; do
    worker "worker:$i" "${PROGRAM[@]}" --workers 2:3 --key-file key
    PIDS+=("$RUN")
  done
  worker worker:2 "${PROGRAM[@]}" --workers 2:3 --key-file other
  run_ends "$RUN" 77
  grep -q "^tfd-run: worker:[01] at 127\.0\.0\.1:[0-9]* uses a different key; pass the cluster's key with --key-file$" worker:2.talk
  group_ends 0
  for i in 0 1; do grep -q "^tfd-run: worker:2 can't join: it uses a different key" "worker:$i.talk"; done
}

# A name that isn't known yet, as a pod's own in its first seconds: /etc/hosts is hosts, in a mount namespace.
in_names() { # COMMAND ARGS…
  unshare -m bash -c 'mount --bind hosts /etc/hosts && mount --bind nsswitch /etc/nsswitch.conf && exec "$@"' in "$@"
}

@test "multi-worker: names that don't resolve yet are waited for, the own one and another's, and both are named" {
  if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then skip "names of a test's own need root and unshare"; fi
  local own i wait='waiting for train-[01].test to resolve: Name or service not known'
  tfd-serve -q --generate-key --key-file key
  group_of 2
  jq '.cluster.worker |= (to_entries | map("train-\(.key).test:\(.value | split(":")[1])"))' cluster.json >named.json
  own=$(jq -r '.cluster.worker[1]' named.json)
  echo '127.0.0.1 localhost' >hosts
  echo 'hosts: files' >nsswitch
  for i in 0 1; do
    in_names tfd-run "${PROGRAM[@]}" --key-file key --cluster named.json --task "worker:$i" \
      <&0 >"worker:$i.events" 2>"worker:$i.talk" 5>&- 6>&- 7>&- 8>&- &
    PIDS[i]=$!
    RUNS+=("$!")
  done
  for i in 0 1; do RUN=${PIDS[$i]} until_talk "worker:$i" "^tfd-run: worker:$i: $wait (1[0-9]s so far)$"; done
  echo '127.0.0.1 train-0.test' >>hosts
  RUN=${PIDS[0]} until_talk worker:0 "^tfd-run: worker:0: train-0.test resolves after [0-9]*s$"
  RUN=${PIDS[0]} until_talk worker:0 "^tfd-run: waiting for worker:1 ($own: the name doesn't resolve) to join (1[0-9]s so far)$"
  echo '127.0.0.1 train-1.test' >>hosts
  for i in 0 1; do run_ends "${PIDS[$i]}" 0; done
  grep -q '^tfd-run: worker:1 has joined after [0-9]*s$' worker:0.talk
}

@test "multi-worker: an own name, or another's, that doesn't resolve within --join ends with 75" {
  if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then skip "names of a test's own need root and unshare"; fi
  printf '127.0.0.1 localhost train-0.test\n' >hosts
  echo 'hosts: files' >nsswitch
  tfd-serve -q --generate-key --key-file key
  local port
  port=$(ports 1)
  echo "{\"cluster\": {\"worker\": [\"train-0.test:$port\", \"train-1.test:7000\", \"train-2.test:7000\"]}}" >cluster.json
  run -75 --separate-stderr in_names tfd-run "${PROGRAM[@]}" --key-file key --cluster cluster.json --task worker:0 --join 1500ms
  [[ $stderr == "tfd-run: waited 1s"*" for worker:1 (train-1.test:7000: the name doesn't resolve), worker:2 (train-2.test:7000: the name doesn't resolve) to join"* ]]
  run -75 --separate-stderr in_names tfd-run "${PROGRAM[@]}" --key-file key --cluster cluster.json --task worker:1 --join 1s
  [[ $stderr == "tfd-run: worker:1: waited 1s"*" for train-1.test to resolve: Name or service not known"* ]]
}

@test "multi-worker: each that gives up names all who are missing, in the same words" {
  group_of 4
  local i
  PIDS=()
  for i in 1 0; do # worker:1 would have waited for longer: it is told
    worker "worker:$i" "${PROGRAM[@]}" --key-file none --join $((i * 27 + 3))s
    PIDS[i]=$RUN
  done
  group_ends 75
  for i in 0 1; do grep -q '^tfd-run: \(worker:0: \)\?waited 3[0-9ms]* for worker:2, worker:3 to join' "worker:$i.talk" || { cat ./*.talk && return 1; }; done
}

@test "multi-worker: --explain says which command explains the step that the workers share" {
  group_of 2
  run -64 --separate-stderr timeout 60 tfd-run "${PROGRAM[@]}" --cluster cluster.json --task worker:0 --explain
  [ "$stderr" = "tfd-run: --explain is about a training in this process, not on a cluster (see tfd-run --help)
hint: --strategy mirrored --replicas 2 explains the step that the 2 workers of this cluster share, in one process" ]
}
