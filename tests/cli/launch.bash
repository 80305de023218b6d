# SPDX-License-Identifier: Apache-2.0
# Code shared by the tests of tfd-launch: a launcher in the background, whose processes are gone when a test ends.

bats_require_minimum_version 1.5.0
# shellcheck source=until.bash
source "$(dirname "${BASH_SOURCE[0]}")/until.bash"

launch_setup() {
  unset TF_CONFIG TFD_LOG TFD_TASK TFD_ERROR_FILE RANK WORLD_SIZE
  T=$BATS_TEST_TMPDIR
  cd "$T" || return 1
  export TFD_LAUNCH_TEST=$T # marks every process that this test starts
  LAUNCHER=
}

# Ends what a failed test left, and fails where anything was left.
launch_teardown() {
  local -a left
  [ -z "$LAUNCHER" ] || kill -KILL "$LAUNCHER" 2>/dev/null || true
  mapfile -t left < <(marked)
  [ ${#left[@]} = 0 ] || { echo "left running: ${left[*]}"; kill -KILL "${left[@]}" 2>/dev/null; return 1; }
}

# Processes of this test that were started by a launcher.
marked() {
  local pid name
  for pid in /proc/[0-9]*; do
    { read -r name <"$pid/comm"; } 2>/dev/null || continue
    case $name in sh | sleep | tfd-launch) ;; *) continue ;; esac
    grep -qszxF "TFD_LAUNCH_TEST=$T" "$pid/environ" || continue
    grep -qs '^State:.[^Z]' "$pid/status" || continue
    echo "${pid#/proc/}"
  done
}

# tfd-launch ARGS… in the background, its output in out and err.
launch() {
  env --default-signal=INT,QUIT tfd-launch "$@" >"$T/out" 2>"$T/err" 3>&- &
  LAUNCHER=$!
}
launcher_ends() { # CODE
  local code=0
  wait "$LAUNCHER" || code=$?
  LAUNCHER=
  [ "$code" = "$1" ] || { echo "exit code $code, not $1: $(cat "$T/err")"; return 1; }
}
# Waits until all these files exist: tasks make them to say that they are up.
are_up() { until_true exist "$@"; }
exist() {
  local file
  for file in "$@"; do [ -e "$file" ] || return 1; done
}
ended() { ! kill -0 "$1" 2>/dev/null || grep -qs '^State:.Z' "/proc/$1/status"; } # PID

# Launchers of several hosts, each with an address of loopback of its own. PORT is where they meet.
hosts_setup() {
  PORT=$(python3 -c 'import random, socket
while True:
    s = socket.socket()
    try:
        s.bind(("", random.randrange(10000, 32768)))
        break
    except OSError:
        pass
print(s.getsockname()[1])')
  export TFD_KEY_FILE=none
  HOSTS=()
}
# The launcher of host I, in the background; its output in out.I and err.I. Host 0 holds the rendezvous.
host() { # I ARGS…
  local i=$1
  shift
  env --default-signal=INT,QUIT tfd-launch --rendezvous "127.0.0.1:$PORT" --advertise "127.0.0.$((i + 1))" "$@" \
    >"out.$i" 2>"err.$i" 3>&- &
  HOSTS[i]=$!
  [ "$i" != 0 ] || until_true is_held "${HOSTS[0]}"
}
is_held() { listens "$PORT" || ended "$1"; } # PID
# PORT is taken, so that no launcher can hold the rendezvous there, as on another host; OTHER is the process that has it, which listens
# with "listens".
port_is_taken() { # [listens]
  rm -f taken
  python3 -c 'import pathlib, socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", int(sys.argv[1])))
if len(sys.argv) > 2: s.listen()
pathlib.Path("taken").touch()
time.sleep(60)' "$PORT" "$@" 3>&- &
  OTHER=$!
  until_true exist taken
}
port_is_free() {
  kill "$OTHER"
  wait "$OTHER" || true
}
listens() { grep -q ":$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp; } # PORT
hosts_end() { # CODE…, of each host
  local i=0 code expected
  for expected in "$@"; do
    code=0
    wait "${HOSTS[i]}" || code=$?
    [ "$code" = "$expected" ] || { echo "host $i: exit code $code, not $expected: $(cat "err.$i")"; return 1; }
    i=$((i + 1))
  done
}
hosts_teardown() {
  [ ${#HOSTS[@]} = 0 ] || kill -KILL "${HOSTS[@]}" 2>/dev/null || true
  launch_teardown
}
