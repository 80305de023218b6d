#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-launch --hosts: through ssh, which is a script here that runs everything on this host.

load launch
setup() {
  launch_setup
  export TFD_SSH=$BATS_TEST_DIRNAME/fake-ssh.bash SSH_LOG=$T/ssh.log SSH_PIDS=$T/pids HOME=$T
  unset TFD_KEY_FILE XDG_CONFIG_HOME
  mkdir pids
  PAIR=127.0.0.1:1,me@127.0.0.2:2
}
teardown() { launch_teardown; }

@test "launch ssh: a tfd-launch on each host, output with the names of tasks" {
  run -0 --separate-stderr tfd-launch --hosts "$PAIR" -- sh -c 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR"; pwd; echo err >&2'
  [ "$(grep -vF "$T" <<<"$output" | sort)" = "worker:0: 0/3 0/1 0 127.0.0.1
worker:1: 1/3 0/2 1 127.0.0.1
worker:2: 2/3 1/2 1 127.0.0.1" ]
  [ "$(grep -F "$T" <<<"$output" | sort)" = "worker:0: $T
worker:1: $T
worker:2: $T" ]
  [ "$(sort <<<"$stderr")" = $'worker:0: err\nworker:1: err\nworker:2: err' ]
  [ "$(cat ssh.log)" = $'127.0.0.1\nme@127.0.0.2' ]
}

@test "launch ssh: the first failure's code, said once" {
  run -7 --separate-stderr tfd-launch --hosts "$PAIR" -- sh -c '[ "$RANK" != 1 ] || exit 7; sleep 60'
  [ "$(grep -v ^worker <<<"$stderr")" = "tfd-launch: worker:1 exited with 7" ]
  run -255 --separate-stderr tfd-launch --hosts "$PAIR" -- sh -c '[ "$RANK" != 1 ] || exit 255; sleep 60'
  run -0 --separate-stderr tfd-launch --hosts 127.0.0.1 --no-prefix -- echo alone
  [ "$output" = alone ]
}

@test "launch ssh: TFD_* and --env go along, nothing else" {
  export TFD_MINE="it's \"mine\"" OTHER=other THIRD=third
  run -0 --separate-stderr tfd-launch --hosts 127.0.0.1,127.0.0.2 --env THIRD --env NONE --no-prefix -- sh -c 'echo "$TFD_MINE ${OTHER-none} $THIRD ${NONE-none}"'
  [ "$output" = $'it\'s "mine" none third none\nit\'s "mine" none third none' ]
  run -0 --separate-stderr tfd-launch --hosts 127.0.0.1 --no-prefix -- printf '%s|' "a b" "it's" '$HOME' ''
  [ "$output" = "a b|it's|\$HOME||" ]
}

@test "launch ssh: signals reach the tasks, and it ends by the signal" {
  launch --hosts "$PAIR" -- sh -c ': >"up$RANK"; exec sleep 60'
  are_up up0 up1 up2
  kill -TERM "$LAUNCHER"
  launcher_ends 143
  rm up?
  launch --hosts "$PAIR" -- sh -c 'trap "echo got; exit 0" USR1; : >"up$RANK"; while :; do sleep 0.05; done'
  are_up up0 up1 up2
  kill -USR1 "$LAUNCHER"
  launcher_ends 0
  [ "$(sort out)" = $'worker:0: got\nworker:1: got\nworker:2: got' ]
}

@test "launch ssh: a killed launcher takes all tasks along" {
  launch --hosts "$PAIR" -- sh -c ': >"up$RANK"; exec sleep 60'
  are_up up0 up1 up2
  kill -KILL "$LAUNCHER"
  launcher_ends 137
  nothing_left() { [ -z "$(marked)" ]; }
  until_true nothing_left
}

@test "launch ssh: a host that can't be reached ends the others, 69" {
  run -69 --separate-stderr tfd-launch --hosts 127.0.0.1,unreachable.test --insecure -- sleep 60
  [[ $stderr == *"unreachable.test: ssh: Could not resolve hostname unreachable.test: Name or service not known"* ]]
  [[ $stderr == *"tfd-launch: there is no connection to unreachable.test, or it has ended"* ]]
  run -69 --separate-stderr tfd-launch --hosts unreachable.test,127.0.0.1 --insecure -- sleep 60
}

@test "launch ssh: a host whose tfd-launch dies is lost, 69, by name" {
  launch --hosts "$PAIR" -- sh -c ': >"up$RANK"; exec sleep 60'
  are_up up0 up1 up2
  kill -KILL "$(cat pids/127.0.0.2)"
  launcher_ends 69
  grep -q "the launcher of 127.0.0.2 is lost (it has ended, or doesn't answer), and worker:1 and worker:2 with it" err
}

@test "launch ssh: with MIN:MAX a lost host is started again while the others go on" {
  launch --hosts "127.0.0.1,127.0.0.2" --nnodes 1:2 -- sh -c 'echo member >"$TFD_MEMBER_FILE"; : >"up$RANK-$TFD_GENERATION"; until [ -e done ]; do sleep 0.05; done'
  are_up up0-0 up1-0
  kill -KILL "$(cat pids/127.0.0.2)"
  until_true exist up1-2
  : >done
  launcher_ends 0
  grep -qxF "tfd-launch: there is no connection to 127.0.0.2, or it has ended; starting there again" err
  run ! grep 'starting all' err
  [ "$(cat ssh.log)" = $'127.0.0.1\n127.0.0.2\n127.0.0.2' ]
}

@test "launch ssh: the last code is that of --max-failures, and --timeout holds" {
  run -9 --separate-stderr tfd-launch --hosts "$PAIR" --workers 1:3 --max-failures 1 -- sh -c '[ "$RANK" = 0 ] || exit 9; sleep 60'
  [[ $stderr == *"starting all again in 1s (failure 1, at most 1)"*"2 failures in 10m are too many (--max-failures 1)"* ]]
  run -75 --separate-stderr tfd-launch --hosts 127.0.0.1,127.0.0.2 --timeout 1s -- sleep 60
}

@test "launch ssh: wrong command lines are one line and 64" {
  run -64 tfd-launch --hosts a,a -- true
  [ "$output" = "tfd-launch: --hosts: a is there twice: h1:2 are two tasks (see tfd-launch --help)" ]
  run -64 tfd-launch --hosts a:0 -- true
  run -64 tfd-launch --hosts a,,b -- true
  run -64 tfd-launch --hosts=-oProxyCommand=x -- true
  run -64 tfd-launch --hosts a -n 2 -- true
  run -64 tfd-launch --env A -- true
  run -127 tfd-launch --hosts 127.0.0.1 -- no-such-command
  TFD_SSH=no-such-ssh run ! tfd-launch --hosts 127.0.0.1 -- true
  [[ $output == *"no-such-ssh"* ]]
}

@test "launch ssh: tasks find the tools beside tfd-launch, and a key that is gone in the end" {
  run -0 --separate-stderr tfd-launch --hosts "$PAIR" --no-prefix -- sh -c 'tfd-run --version >&2 && stat -c %a "$TFD_KEY_FILE" && echo "$TFD_KEY_FILE"'
  [ "$(grep -c '^600$' <<<"$output")" = 3 ]
  local key
  for key in $(grep / <<<"$output"); do [ ! -e "$key" ]; done
  tfd-serve -q --generate-key --key-file own.key
  run -0 --separate-stderr tfd-launch --hosts "$PAIR" --key-file own.key --no-prefix -- sh -c 'cat "$TFD_KEY_FILE"'
  [ "$(sort -u <<<"$output")" = "$(sort -u own.key)" ]
  run -0 --separate-stderr tfd-launch --hosts "$PAIR" --key-file none --no-prefix -- sh -c 'echo "${TFD_KEY_FILE-unset}"'
  [ "$(sort -u <<<"$output")" = unset ]
}

@test "launch ssh: a group of tfd-run trains, under the key of the launchers" {
  cp -r "${TFD_SOURCE:-$BATS_TEST_DIRNAME/../..}/examples/digits" digits
  run -0 --separate-stderr timeout 120 tfd-launch --hosts "$PAIR" -- tfd-run -v digits/program.json --strategy multi-worker-mirrored \
    --set train.steps=20 --set train.checkpoint.dir=ck
  [ -f ck/step-00000020.safetensors ]
}

@test "launch ssh: the real one" {
  [ -x /usr/sbin/sshd ] && [ "$(id -u)" = 0 ] && command -v ssh || skip "no sshd that this test can start"
  hosts_setup
  unset TFD_KEY_FILE
  ssh-keygen -q -t ed25519 -N '' -f host_key
  ssh-keygen -q -t ed25519 -N '' -f own_key
  mkdir -p /run/sshd
  /usr/sbin/sshd -D -f /dev/null -p "$PORT" -h "$T/host_key" -o ListenAddress=127.0.0.1 -o ListenAddress=127.0.0.2 \
    -o AuthorizedKeysFile="$T/own_key.pub" -o StrictModes=no -o PermitRootLogin=yes -o PidFile=none -E sshd.log 3>&- &
  local sshd=$!
  until_true listens "$PORT"
  export TFD_SSH="ssh -p $PORT -i $T/own_key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
  run -0 --separate-stderr tfd-launch --hosts 127.0.0.1:1,127.0.0.2:2 -- sh -c 'echo "$RANK of $WORLD_SIZE: $TFD_LAUNCH_TEST"'
  [ "$(sort <<<"$output")" = "worker:0: 0 of 3: $T
worker:1: 1 of 3: $T
worker:2: 2 of 3: $T" ]
  # Names that ssh's configuration alone knows.
  printf 'Host ada.test\n  HostName 127.0.0.1\nHost bob.test\n  HostName 127.0.0.2\n' >ssh_config
  TFD_SSH="$TFD_SSH -F $T/ssh_config" run -0 --separate-stderr tfd-launch --hosts ada.test,bob.test:2 --no-prefix -- sh -c 'echo "$RANK at $MASTER_ADDR"'
  [ "$(sort <<<"$output")" = "0 at 127.0.0.1
1 at 127.0.0.1
2 at 127.0.0.1" ]
  run -7 --separate-stderr tfd-launch --hosts 127.0.0.1:1,127.0.0.2:2 -- sh -c '[ "$RANK" != 1 ] || exit 7; exec sleep 60'
  [ "$stderr" = "tfd-launch: worker:1 exited with 7" ]
  launch --hosts 127.0.0.1:1,127.0.0.2:2 -- sh -c ': >"up$RANK"; exec sleep 60'
  are_up up0 up1 up2
  kill -TERM "$LAUNCHER"
  launcher_ends 143
  [ ! -s err ]
  rm up?
  launch --hosts 127.0.0.1:1,127.0.0.2:2 -- sh -c ': >"up$RANK"; exec sleep 60'
  are_up up0 up1 up2
  kill -KILL "$LAUNCHER"
  launcher_ends 137
  nothing_left() { [ -z "$(marked)" ]; }
  until_true nothing_left
  kill "$sshd"
}
