# SPDX-License-Identifier: Apache-2.0
# Code shared by the tests of tfd-serve: a server in the background whose stderr and readiness are read line by line, as events.

bats_require_minimum_version 1.5.0
# shellcheck source=until.bash
source "$(dirname "${BASH_SOURCE[0]}")/until.bash"
# shellcheck source=examples.bash
source "$(dirname "${BASH_SOURCE[0]}")/examples.bash"

serve_setup() {
  : "${TFD_SOURCE:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
  unset TF_CONFIG TFD_LOG TFD_CLUSTER NOTIFY_SOCKET TFD_KEY_FILE TFD_DATA_ROOT
  export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config  # no key of whoever runs the tests
  export TFD_SERVE_TEST=$BATS_TEST_TMPDIR  # marks every process that this test starts
  T=$BATS_TEST_TMPDIR
  mkfifo "$T/err" "$T/ready"
  exec 7<>"$T/err" 8<>"$T/ready"
  SERVE=
  EXAMPLES=$BATS_FILE_TMPDIR/examples  # once for all tests of a file
  [ -d "$EXAMPLES" ] || copy_examples "$TFD_SOURCE" "$EXAMPLES"
}

# Ends what a failed test left, and fails where anything was left.
serve_teardown() {
  local -a left
  if [ -n "$SERVE" ] && kill -TERM "$SERVE" 2>/dev/null; then ends "$SERVE" || true; fi
  mapfile -t left < <(marked)
  [ ${#left[@]} = 0 ] || { echo "left running: ${left[*]}"; kill -KILL "${left[@]}"; return 1; }
}

# Servers and fake tasks of this test.
marked() {
  local pid name
  for pid in /proc/[0-9]*; do
    { read -r name <"$pid/comm"; } 2>/dev/null || continue
    case $name in tfd-serve | exe | fake-task | sleep) ;; *) continue ;; esac # before a grep for each process of the machine
    grep -qszxF "TFD_SERVE_TEST=$BATS_TEST_TMPDIR" "$pid/environ" || continue
    grep -qs '^State:.[^Z]' "$pid/status" || continue
    echo "${pid#/proc/}"
  done
}

# tfd-serve ARGS… in the background, SERVE is its process; stderr goes to said().
launch() {
  env --default-signal=INT tfd-serve "$@" 2>"$T/err" 3>&- 6>&- 7>&- 8>&- 9>"$T/ready" &
  SERVE=$!
}

# The same until all is ready; SPEC is what it announced.
serve() {
  launch --output "$T/spec.json" --ready-fd 9 "$@"
  IFS= read -r -t 60 -u 8 SPEC || { echo "not ready"; said . ; return 1; }
}

# Waits for a line on the server's stderr; LINE is the one that matched.
said() {
  while IFS= read -r -t "${2:-60}" -u 7 LINE; do
    echo "# $LINE"
    [[ ! $LINE =~ $1 ]] || return 0
  done
  echo "never said: $1"
  return 1
}

# Waits until these processes have ended (though perhaps nobody has reaped them yet).
ends() {
  python3 - "${LIMIT:-60}" "$@" <<'PY'
import os, select, sys, time
deadline = time.monotonic() + float(sys.argv[1])
for pid in sys.argv[2:]:
    try:
        fd = os.pidfd_open(int(pid))
    except ProcessLookupError:
        continue
    if not select.select([fd], [], [], max(0, deadline - time.monotonic()))[0]:
        sys.exit(f"{pid} still runs")
PY
}

# Waits until the server has ended, with this exit code.
serve_ends() { # CODE
  local code=0
  ends "$SERVE" || return 1
  wait "$SERVE" || code=$?
  SERVE=
  [ "$code" = "$1" ] || { echo "exit code $code, not $1"; return 1; }
}

# The process of a task, of a real one or of a fake that hasn't become something else.
task_pid() { pgrep -P "$SERVE" -f -- "--serve-task $1( |\$)"; }
port_of() { jq -r "$1" <<<"$SPEC" | sed 's/.*://'; }
connects() { timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$1"; }

# A task that does what its environment says: FAKE is a line of shell for it.
fake_task() {
  cat >"$T/fake-task" <<'SCRIPT'
#!/bin/sh
ready() { echo ready >&4; }
eval "$FAKE"
SCRIPT
  chmod +x "$T/fake-task"
  export FAKE=$1
}
