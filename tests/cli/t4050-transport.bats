#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How tasks of one host talk to each other: through shared memory, or over the network where TFD_TRANSPORT says so.

load coordinate
setup() { coordinate_setup; }
teardown() {
  coordinate_teardown
  [ -z "${OPEN:-}" ] || rm -rf "$OPEN"
}

rings_of() { grep -c 'memfd:tfd-ring.* 00000000\|00000000 .*memfd:tfd-ring' "/proc/$1/maps" || true; }

# Trains for a while, and says how many other processes the worker shares memory with meanwhile.
rings_while_training() { # ENVIRONMENT of the coordinator…
  counting_program '{"function": "count", "steps": 1000000, "log_every": 100}'
  env "$@" --default-signal=INT tfd-coordinate program.json --cluster spec.json <&0 >"$T/events" 2>"$T/talk" 5>&- 6>&- 7>&- 8>&- &
  COORDINATOR=$!
  event '.event == "step" and .step >= 300'
  RINGS=$(rings_of "$(task_pid worker:0)")
}

@test "transport: tasks of one host and their coordinator share memory, under a key too" {
  tfd-serve -q --generate-key --key-file key
  serve --jobs worker=1,ps=2 --key-file key
  rings_while_training TFD_KEY_FILE=key
  [ "$RINGS" = 3 ] # the coordinator and two parameter servers
}

@test "transport: with TFD_TRANSPORT=tcp they don't, whoever has it" {
  TFD_TRANSPORT=tcp serve --jobs worker=1,ps=2
  rings_while_training TFD_TRANSPORT=
  [ "$RINGS" = 0 ]
}

@test "transport: a coordinator that has it talks over the network, the tasks among each other don't" {
  serve --jobs worker=1,ps=2
  rings_while_training TFD_TRANSPORT=tcp
  [ "$RINGS" = 2 ]
}

@test "transport: who says ring refuses tasks that don't share memory, at once and with a line" {
  TFD_TRANSPORT=tcp serve --jobs worker=1,ps=1
  counting_program '{"function": "count", "steps": 10}'
  TFD_TRANSPORT=ring run -77 --separate-stderr tfd-coordinate program.json --cluster spec.json
  [[ $stderr == *"ps:0"*"isn't on this host, or is another user's, and TFD_TRANSPORT says ring"* ]]
}

@test "transport: one that there isn't is a line and 64" {
  counting_program '{"function": "count", "steps": 10}'
  echo '{"cluster": {"worker": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"]}}' >spec.json
  TFD_TRANSPORT=shm run -64 --separate-stderr tfd-coordinate program.json --cluster spec.json
  [[ "$stderr" == "tfd-coordinate: TFD_TRANSPORT: 'shm' is no transport: auto, tcp and ring are"* ]]
  TFD_TRANSPORT=shm run -64 --separate-stderr tfd-serve --jobs worker=3,ps=2
  [[ "$stderr" == "tfd-serve: TFD_TRANSPORT: 'shm' is no transport: auto, tcp and ring are"* ]]
  [ "${#stderr_lines[@]}" -le 2 ]
}

@test "transport: another user's tasks are talked to over the network" {
  [ "$(id -u)" = 0 ] && command -v setpriv || skip "needs root"
  serve --jobs worker=1,ps=1
  counting_program '{"function": "count", "steps": 1000000, "log_every": 100}'
  OPEN=$(mktemp -d) # the test's own folder is for its user
  cp program.json count.mlir spec.json "$OPEN"
  chmod -R a+rX "$OPEN"
  cd "$OPEN"
  setpriv --reuid 65534 --regid 65534 --clear-groups env TFD_KEY_FILE=none --default-signal=INT tfd-coordinate program.json --cluster spec.json \
    <&0 >"$T/events" 2>"$T/talk" 5>&- 6>&- 7>&- 8>&- &
  COORDINATOR=$!
  event '.event == "step" and .step >= 300'
  [ "$(rings_of "$(task_pid worker:0)")" = 1 ] # the parameter server
}
