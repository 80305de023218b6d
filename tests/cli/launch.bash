# SPDX-License-Identifier: Apache-2.0
# What the tests of tfd-launch share: a launcher in the background, whose processes are gone when a test ends.

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
# Until all these files are there: tasks say so that they are up.
are_up() { until_true exist "$@"; }
exist() {
  local file
  for file in "$@"; do [ -e "$file" ] || return 1; done
}
ended() { ! kill -0 "$1" 2>/dev/null || grep -qs '^State:.Z' "/proc/$1/status"; } # PID
