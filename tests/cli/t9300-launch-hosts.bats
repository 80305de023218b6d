#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-launch --rendezvous: one on each host. Hosts are addresses of loopback here.

load launch
setup() { launch_setup && hosts_setup; }
teardown() { hosts_teardown; }

@test "launch hosts: all tasks are told about all, the rendezvous' host first" {
  TELL='echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK/$GROUP_WORLD_SIZE $TFD_TASK $TFD_WORKERS $TFD_GENERATION $MASTER_ADDR"'
  host 0 --nnodes 2 -n 1 -- sh -c "$TELL"
  host 1 --nnodes 2 -n 2 -- sh -c "$TELL"
  hosts_end 0 0
  [ "$(cat out.0)" = "worker:0: 0/3 0/1 0/2 worker:0 3 0 127.0.0.1" ]
  [ "$(sort out.1)" = $'worker:1: 1/3 0/2 1/2 worker:1 3 0 127.0.0.1\nworker:2: 2/3 1/2 1/2 worker:2 3 0 127.0.0.1' ]
  [ ! -s err.0 ]
  [ ! -s err.1 ]
}

@test "launch hosts: TF_CONFIG has the ports that the tasks can bind, and JAX's coordinator is rank 0's" {
  BIND='import json, os, socket
config = json.loads(os.environ["TF_CONFIG"])
host, port = config["cluster"]["worker"][config["task"]["index"]].split(":")
with socket.socket() as server:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((host, int(port)))
assert os.environ["JAX_COORDINATOR_ADDRESS"] == config["cluster"]["worker"][0]
print(host, os.environ["TFD_RENDEZVOUS"].split(":")[0])'
  host 0 --nnodes 2 --no-prefix -- python3 -c "$BIND"
  host 1 --nnodes 2 --no-prefix -- python3 -c "$BIND"
  hosts_end 0 0
  [ "$(cat out.0 out.1)" = $'127.0.0.1 127.0.0.1\n127.0.0.2 127.0.0.1' ]
}

@test "launch hosts: the first failure ends all hosts, with its code and its line on each" {
  host 0 --nnodes 3 -- sleep 60
  host 1 --nnodes 3 -n 2 -- sh -c 'sleep 60'
  host 2 --nnodes 3 --error-dir errors -- sh -c 'echo "{\"message\": \"no such shard\"}" >"$TFD_ERROR_FILE"; exit 7'
  hosts_end 7 7 7
  for i in 0 1 2; do [ "$(grep ^tfd-launch "err.$i")" = "$(cat err.0)" ]; done
  [[ $(cat err.0) =~ ^"tfd-launch: worker:"[13]" exited with 7: no such shard"$ ]]
  [ "$(cat errors/*.json | jq .code)" = 7 ]
}

@test "launch hosts: a command that isn't on one host is an error on all" {
  host 0 --nnodes 2 -- sleep 60
  host 1 --nnodes 2 -- no-such-command
  hosts_end 127 127
  [ "$(cat err.0 err.1)" = $'tfd-launch: cannot run no-such-command: command not found\ntfd-launch: cannot run no-such-command: command not found' ]
}

@test "launch hosts: those who come first wait for the rendezvous, then for the others" {
  port_is_taken
  host 1 --nnodes 2 -v -- true
  until_true grep -q 'asking the rendezvous' err.1
  port_is_free
  host 0 --nnodes 2 -v -- true
  hosts_end 0 0
  grep -q 'holding the rendezvous' err.0
}

@test "launch hosts: --join is how long they wait, 75, and who is missing is said" {
  port_is_taken
  local code=0
  host 1 --nnodes 2 --join 300ms -- true
  wait "${HOSTS[1]}" || code=$?
  [ "$code" = 75 ]
  port_is_free
  grep -Eq "^tfd-launch: waited [0-9.ms]+ for the rendezvous at 127.0.0.1:$PORT.* \\(--join\\)$" err.1
  host 0 --nnodes 3 --join 2s -- true
  host 1 --nnodes 3 --join 2s -- true
  hosts_end 75 75
  [[ $(cat err.0) == "tfd-launch: gave up waiting for 1 more launcher; 127.0.0.1 and 127.0.0.2 are here (2s"*" so far) (--join)" ]]
  [ "$(cat err.1)" = "$(cat err.0)" ]
}

@test "launch hosts: a port of this host that another program has ends them at once, 71, by its name" {
  port_is_taken listens
  host 1 --nnodes 1 -- true
  local code=0
  wait "${HOSTS[1]}" || code=$?
  port_is_free
  [ "$code" = 71 ]
  grep -Eq "^tfd-launch: cannot bind 127.0.0.1:$PORT: address already in use \\(python3[^ ]*, process $OTHER\\)$" err.1
}

@test "launch hosts: a launcher that dies ends the others, 69, by name" {
  host 0 --nnodes 2 -- sh -c ': >up0; exec sleep 60'
  host 1 --nnodes 2 -n 2 -- sh -c ': >"up$RANK"; exec sleep 60'
  are_up up0 up1 up2
  kill -KILL "${HOSTS[1]}"
  hosts_end 69 137
  [ "$(cat err.0)" = "tfd-launch: the launcher of 127.0.0.2 is lost (it has ended, or doesn't answer), and worker:1 and worker:2 with it" ]
}

@test "launch hosts: the launcher that holds the rendezvous dies: the others end, 69" {
  host 0 --nnodes 2 -- sh -c ': >up0; exec sleep 60'
  host 1 --nnodes 2 -- sh -c ': >up1; exec sleep 60'
  are_up up0 up1
  kill -KILL "${HOSTS[0]}"
  hosts_end 137 69
  [[ $(cat err.1) == "tfd-launch: the launcher at 127.0.0.1:$PORT, which holds the rendezvous, is lost ("*")" ]]
}

@test "launch hosts: a launcher that is silent is lost after --silence, whichever it is" {
  host 0 --nnodes 2 --silence 2s -- sh -c ': >up0; exec sleep 60'
  host 1 --nnodes 2 -- sh -c ': >up1; exec sleep 60'
  are_up up0 up1
  kill -STOP "${HOSTS[1]}"
  hosts_end 69
  kill -KILL "${HOSTS[1]}"
  rm up?
  host 0 --nnodes 2 -- sh -c ': >up0; exec sleep 60'
  host 1 --nnodes 2 --silence 2s -- sh -c ': >up1; exec sleep 60'
  are_up up0 up1
  kill -STOP "${HOSTS[0]}"
  local code=0
  wait "${HOSTS[1]}" || code=$?
  [ "$code" = 69 ]
  kill -KILL "${HOSTS[0]}"
}

@test "launch hosts: a signal to one launcher reaches all tasks, and all end by its code" {
  for to in 0 1; do
    host 0 --nnodes 2 -- sh -c ': >up0; exec sleep 60'
    host 1 --nnodes 2 -- sh -c ': >up1; exec sleep 60'
    are_up up0 up1
    kill -TERM "${HOSTS[$to]}"
    hosts_end 143 143
    [ ! -s "err.$to" ]
    [ "$(cat "err.$((1 - to))")" = "tfd-launch: SIGTERM at 127.0.0.$((to + 1))" ]
    rm up0 up1
  done
}

@test "launch hosts: signals to all launchers are one signal, and a task's answer counts" {
  host 0 --nnodes 2 -- sh -c 'trap "echo got; exit 0" TERM; : >up0; while :; do sleep 0.05; done'
  host 1 --nnodes 2 -- sh -c 'trap "echo got; sleep 0.3; exit 75" TERM; : >up1; while :; do sleep 0.05; done'
  are_up up0 up1
  kill -TERM "${HOSTS[@]}"
  hosts_end 75 75
  [ "$(cat out.0 out.1)" = $'worker:0: got\nworker:1: got' ]
}

@test "launch hosts: a signal while they wait ends them" {
  port_is_taken
  local code=0
  host 1 --nnodes 3 -v -- true
  until_true grep -q 'asking the rendezvous' err.1
  kill -TERM "${HOSTS[1]}"
  wait "${HOSTS[1]}" || code=$?
  [ "$code" = 143 ]
  port_is_free
  host 0 --nnodes 3 -v -- true
  host 1 --nnodes 3 -- true
  until_true grep -q '127.0.0.2 brings 1' err.0
  kill -INT "${HOSTS[0]}"
  hosts_end 130 130
}

@test "launch hosts: --timeout ends all, 75" {
  host 0 --nnodes 2 --timeout 1s -- sleep 60
  host 1 --nnodes 2 -- sleep 60
  hosts_end 75 75
  [ "$(cat err.1)" = "tfd-launch: worker:0 still runs after 1s (--timeout)" ]
}

@test "launch hosts: with MIN:MAX a failure starts all again, on all hosts, and is counted once" {
  TRY='[ "$TFD_GENERATION" = 0 ] || { echo "$RANK: $TFD_GENERATION $TFD_RESTARTS $TFD_WORKERS"; exit 0; }
    : >"up$RANK"; [ "$RANK" = 1 ] || exec sleep 60; until [ -e up0 ]; do sleep 0.05; done; exit 7'
  host 0 --nnodes 1:2 -- sh -c "$TRY"
  host 1 --nnodes 1:2 -- sh -c "$TRY"
  hosts_end 0 0
  [ "$(cat out.0 out.1)" = $'worker:0: 0: 1 1 1:2\nworker:1: 1: 1 1 1:2' ]
  [ "$(cat err.0)" = "tfd-launch: worker:1 exited with 7; starting all again in 1s (failure 1, at most 3)" ]
  [ "$(cat err.1)" = "$(cat err.0)" ]
  host 0 --workers 1:2 --max-failures 1 -- sh -c '[ "$RANK" = 0 ] || exit 9; sleep 60'
  host 1 --workers 1:2 --max-failures 1 -- sh -c '[ "$RANK" = 0 ] || exit 9; sleep 60'
  hosts_end 9 9
  [ "$(tail -n 1 err.0)" = "tfd-launch: worker:1 exited with 9; 2 failures in 10m are too many (--max-failures 1)" ]
}

@test "launch hosts: with MIN:MAX a lost host's place is taken by a newcomer" {
  STAY='echo "$TFD_GENERATION: $RANK of $WORLD_SIZE"; : >"up$TFD_GENERATION-$RANK"; until [ -e done ]; do sleep 0.05; done'
  host 0 --nnodes 1:2 -- sh -c "$STAY"
  host 1 --nnodes 1:2 -- sh -c "$STAY"
  are_up up0-0 up0-1
  kill -KILL "${HOSTS[1]}"
  until_true grep -q 'is lost' err.0
  host 2 --nnodes 1:2 -- sh -c "$STAY"
  are_up up1-0 up1-1
  : >done
  hosts_end 0 137 0
  [ "$(cat out.0)" = $'worker:0: 0: 0 of 2\nworker:0: 1: 0 of 2' ]
  [ "$(cat out.2)" = "worker:1: 1: 1 of 2" ]
}

@test "launch hosts: with MIN:MAX it goes on without a lost host, and a newcomer is taken in later" {
  STAY='echo "$TFD_GENERATION: $RANK of $WORLD_SIZE"; : >"up$TFD_GENERATION-$RANK"; until [ -e done ]; do sleep 0.05; done'
  host 0 --nnodes 1:2 --settle 200ms -- sh -c "$STAY"
  are_up up0-0
  host 1 --nnodes 1:2 -- sh -c "$STAY"
  are_up up1-0 up1-1
  kill -KILL "${HOSTS[1]}"
  are_up up2-0
  : >done
  hosts_end 0 137
  [ "$(cat out.0)" = $'worker:0: 0: 0 of 1\nworker:0: 1: 0 of 2\nworker:0: 2: 0 of 1' ]
  grep -qxF 'tfd-launch: 127.0.0.2 joins; starting all again' err.0
}

@test "launch hosts: with MIN:MAX only those that failed are started again where all say that they go on" {
  GROUP='echo "$RANK/$WORLD_SIZE: $TFD_GENERATION $TFD_RESTARTS $TFD_WORKERS"; echo member >"$TFD_MEMBER_FILE"; : >"up$RANK-$TFD_RESTARTS"
    [ "$RANK$TFD_RESTARTS" != 20 ] || { until [ -e up0-0 ] && [ -e up1-0 ]; do sleep 0.05; done; exit 7; }
    until [ -e up2-1 ]; do sleep 0.05; done'
  host 0 --nnodes 1:2 -- sh -c "$GROUP"
  host 1 --nnodes 1:2 -n 2 -- sh -c "$GROUP"
  hosts_end 0 0
  [ "$(cat out.0)" = "worker:0: 0/3: 0 0 1:4" ]
  [ "$(sort out.1)" = $'worker:1: 1/3: 0 0 1:4\nworker:2: 2/3: 0 0 1:4\nworker:2: 2/3: 1 1 1:4' ]
  [ "$(cat err.0)" = "tfd-launch: worker:2 exited with 7; starting worker:2 again in 1s (failure 1, at most 3)" ]
  [ "$(cat err.1)" = "$(cat err.0)" ]
}

@test "launch hosts: with MIN:MAX hosts come to those who go on, and take lost ones' places; nobody else is started again" {
  GROUP='echo member >"$TFD_MEMBER_FILE"; echo "$RANK/$WORLD_SIZE: $TFD_GENERATION $TF_CONFIG"; : >"up$RANK-$TFD_GENERATION"; until [ -e done ]; do sleep 0.05; done'
  host 0 --nnodes 1:3 --settle 200ms -- sh -c "$GROUP"
  are_up up0-0
  host 1 --nnodes 1:3 -- sh -c "$GROUP"
  are_up up1-1
  host 2 --nnodes 1:3 -n 1 -- sh -c "$GROUP"
  are_up up2-2
  kill -KILL "${HOSTS[1]}"
  host 3 --nnodes 1:3 -- sh -c "$GROUP" # the group may not know yet that one is gone
  are_up up1-4
  : >done
  hosts_end 0 137 0 0
  [ "$(wc -l <out.0)" = 1 ]
  [ "$(wc -l <out.2)" = 1 ]
  [[ $(cat out.3) == 'worker:1: 1/3: 4 {"cluster": {"worker": ["127.0.0.1:'*'", "127.0.0.4:'*'", "127.0.0.3:'* ]]
  [ "$(grep -v '^tfd-launch: SIG' err.0)" = "tfd-launch: 127.0.0.2 joins with worker:1
tfd-launch: 127.0.0.3 joins with worker:2
tfd-launch: the launcher of 127.0.0.2 is lost (it has ended, or doesn't answer), and worker:1 with it; the others go on (failure 1, at most 3)
tfd-launch: 127.0.0.4 joins with worker:1" ]
}

@test "launch hosts: a group whose last member ends well is done, though one waits for its next start" {
  GROUP='[ "$RANK" = 0 ] || { until [ -e up0 ]; do sleep 0.05; done; exit 7; }; echo member >"$TFD_MEMBER_FILE"; : >up0
    until grep -q "starting worker:1 again in 1s" err.0; do sleep 0.05; done'
  host 0 --nnodes 1:2 -- sh -c "$GROUP"
  host 1 --nnodes 1:2 -- sh -c "$GROUP"
  hosts_end 0 0
}

@test "launch hosts: with too few left it waits up to --join, 75" {
  GROUP='echo member >"$TFD_MEMBER_FILE"; : >"up$RANK"; exec sleep 60'
  host 0 --nnodes 2:3 --settle 200ms --join 1s -- sh -c "$GROUP"
  host 1 --nnodes 2:3 -- sh -c "$GROUP"
  are_up up0 up1
  kill -KILL "${HOSTS[1]}"
  hosts_end 75 137
  [[ $(tail -n 1 err.0) == "tfd-launch: gave up waiting for 1 more launcher; 127.0.0.1 is here (1s"*" so far) (--join)" ]]
}

@test "launch hosts: a signal reaches a group of which one waits for its next start" {
  GROUP='echo member >"$TFD_MEMBER_FILE"; : >"up$RANK"; [ "$RANK" = 0 ] || { until [ -e up0 ]; do sleep 0.05; done; exit 7; }; exec sleep 60'
  host 0 --nnodes 1:2 -- sh -c "$GROUP"
  host 1 --nnodes 1:2 -- sh -c "$GROUP"
  until_true grep -q 'starting worker:1 again' err.1
  kill -INT "${HOSTS[1]}"
  hosts_end 130 130
}

@test "launch hosts: SIGTERM to a host whose task waits for its next start takes that host away, and the holder's ends all" {
  GROUP='echo member >"$TFD_MEMBER_FILE"; : >"up$RANK"; [ "$RANK" = 0 ] || { until [ -e up0 ]; do sleep 0.05; done; exit 7; }; exec sleep 60'
  host 0 --nnodes 1:2 -- sh -c "$GROUP"
  host 1 --nnodes 1:2 -- sh -c "$GROUP"
  until_true grep -q 'starting worker:1 again' err.1
  kill -TERM "${HOSTS[1]}"
  until_true ended "${HOSTS[1]}"
  kill -TERM "${HOSTS[0]}"
  hosts_end 143 75
}

@test "launch hosts: under a key; without the same one nobody takes part" {
  tfd-serve --generate-key --key-file key
  tfd-serve --generate-key --key-file other
  host 0 --nnodes 2 --key-file key -- true
  host 1 --nnodes 2 --key-file other -- true
  local code=0
  wait "${HOSTS[1]}" || code=$?
  [ "$code" = 77 ]
  host 1 --nnodes 2 --key-file key -- true
  hosts_end 0 0
  # A waiting launcher says that one came that may not take part.
  host 0 --nnodes 2 --key-file key --join 3s -- true
  host 1 --nnodes 2 --key-file other -- true
  hosts_end 75 77
  grep -q '^tfd-launch: gave up waiting for 1 more launcher; .* is here, and a launcher with another key, or none, was rejected (.* so far) (--join)$' err.0
}

@test "launch hosts: where others can connect there must be a key, or --insecure" {
  run -77 tfd-launch --rendezvous 192.0.2.1:2222 --nnodes 2 -- true
  [ "${lines[0]}" = "tfd-launch: launchers meet at 192.0.2.1:2222, where other hosts can connect, and there is no key" ]
  [[ ${lines[1]} == "hint: make one with tfd-serve --generate-key"* ]]
  run -77 tfd-launch --rendezvous "127.0.0.1:$PORT" --advertise 192.0.2.1 --nnodes 2 -- true
  run -75 tfd-launch --rendezvous 192.0.2.1:2222 --nnodes 2 --insecure --join 200ms -- true
}

@test "launch hosts: who says something else is refused, and who is too many" {
  host 0 --nnodes 2 -- true
  run -78 tfd-launch --rendezvous "127.0.0.1:$PORT" --advertise 127.0.0.2 --nnodes 3 -- true
  [ "$output" = "tfd-launch: the launchers differ in --nnodes: 127.0.0.1 has 2, 127.0.0.2 has 3" ]
  host 1 --nnodes 2 -- true
  hosts_end 0 0
}

@test "launch hosts: the launchers of a Slurm step meet on its first node" {
  export SLURM_JOB_ID=70 SLURM_STEP_ID=1 SLURM_STEP_NODELIST=localhost SLURM_STEP_NUM_TASKS=1 TFD_KEY_FILE=none
  run -0 --separate-stderr tfd-launch -n 2 --cluster slurm -- sh -c 'echo "$RANK/$WORLD_SIZE $TFD_RENDEZVOUS"'
  [ "$(sort <<<"$output")" = $'worker:0: 0/2 localhost:63622\nworker:1: 1/2 localhost:63622' ]
  unset SLURM_STEP_NUM_TASKS
  run -78 --separate-stderr tfd-launch -n 2 --cluster slurm -- true
  [ "$stderr" = "tfd-launch: -n with --cluster slurm: SLURM_STEP_NUM_TASKS isn't set: run it by srun, one for each node" ]
}

@test "launch hosts: wrong command lines are one line and 64" {
  run -64 tfd-launch --nnodes 2 -- true
  [ "$output" = "tfd-launch: --nnodes: hosts meet at --rendezvous HOST:PORT, which is missing (see tfd-launch --help)" ]
  run -64 tfd-launch --rendezvous 127.0.0.1:1 --nnodes 2 --workers 2 -- true
  [ "$output" = "tfd-launch: --nnodes and --workers exclude each other: one counts hosts, the other tasks (see tfd-launch --help)" ]
  run -64 tfd-launch --rendezvous 127.0.0.1:1 --jobs ps=1 -- true
  run -64 tfd-launch --rendezvous 127.0.0.1 --nnodes 2 -- true
  run -64 tfd-launch --rendezvous 127.0.0.1:0 --nnodes 2 -- true
  run -64 tfd-launch --rendezvous 127.0.0.1:1 --nnodes 2:1 -- true
  run -64 tfd-launch --rendezvous 127.0.0.1:1 --workers 2 -n 3 -- true
}

@test "launch hosts: nothing is left where output can't be written" {
  host 1 --nnodes 2 -- sleep 60
  local code=0
  timeout 30 tfd-launch --rendezvous "127.0.0.1:$PORT" --nnodes 2 -- sh -c 'echo x; sleep 60' >/dev/full 2>err.0 || code=$?
  [ "$code" = 71 ]
  code=0
  wait "${HOSTS[1]}" || code=$?
  [ "$code" = 71 ]
}

@test "launch: the name of the rendezvous may resolve later, and the host whose it is holds it then; else --join ends the wait" {
  if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then skip "names of a test's own need root and unshare"; fi
  echo '127.0.0.1 localhost' >hosts
  echo 'hosts: files' >nsswitch
  local named=(unshare -m bash -c 'mount --bind hosts /etc/hosts && mount --bind nsswitch /etc/nsswitch.conf && exec tfd-launch "$@"' in
    --rendezvous "train-0.test:$PORT" --insecure)
  run -75 --separate-stderr "${named[@]}" --join 1s -- true
  [[ $stderr == "tfd-launch: --rendezvous: waited 1s"*" for train-0.test to resolve: Name or service not known" ]]
  env --default-signal=INT,QUIT "${named[@]}" -- sh -c 'echo "rank $RANK at $MASTER_ADDR"' >out 2>err 3>&- &
  LAUNCHER=$!
  until_true grep -q '^tfd-launch: waiting for train-0.test to resolve: Name or service not known (1[0-9]s so far)$' err
  echo '127.0.0.1 train-0.test' >>hosts
  launcher_ends 0
  [ "$(cat out)" = 'worker:0: rank 0 at train-0.test' ]
  grep -q '^tfd-launch: train-0.test resolves after [0-9]*s$' err
}
