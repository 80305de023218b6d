#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo of `./dev demo`: a cluster of five processes learns to read digits, and one of its workers is killed on the way.
# Needs tfd's tools on PATH. Writes only into a temporary directory, which is gone at the end, as are all processes.
# Exit code: 0 when the killed worker was lost and came back, and the test accuracy is at least 96.5 %; 1 otherwise.
set -euo pipefail
PROGRAM=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/examples/digits/program.json
LEAST_ACCURACY=0.965
VICTIM=worker:1
STEPS=6000 # of the program's own 2000 a restarted worker, half a second later, may find none left
KILL_AT=$((STEPS / 2))

for tool in tfd-resolve tfd-serve tfd-coordinate; do
  command -v "$tool" >/dev/null || { echo "demo: no $tool on PATH: run ./dev demo" >&2; exit 69; }
done
WORK=$(mktemp -d "${TMPDIR:-/tmp}/tfd-demo.XXXXXX")
export TFD_CACHE_DIR=$WORK/cache
PIPELINE=0
declare -A STARTED=() # process ids of the cluster that were seen

say() { printf '%s\n' "$*"; }

# Process ids of the children of $1, from /proc: pgrep isn't everywhere.
children_of() {
  local stat rest parent
  if [ -e "/proc/$1/task/$1/children" ]; then
    cat "/proc/$1"/task/*/children 2>/dev/null | tr ' ' '\n' | grep . || true
    return 0
  fi
  for stat in /proc/[0-9]*/stat; do
    rest=$(cat "$stat" 2>/dev/null) || continue
    local pid=${rest%% *}
    rest=${rest##*) } # after the name, which may have spaces: state, parent
    read -r _ parent _ <<<"$rest"
    [ "$parent" != "$1" ] || printf '%s\n' "$pid"
  done
}
arguments_of() { { tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null || true; }

# The first child of process $1 whose command line has $2 in it.
find_child() {
  local pid
  for pid in $(children_of "$1"); do
    [[ $(arguments_of "$pid") != *"$2"* ]] || { printf '%s\n' "$pid"; return 0; }
  done
}

# "value" or number of the key $1 in the JSON line $2; numbers and words only.
field() { sed -nE "s/.*\"$1\": *\"?([^,\"}]*)\"?.*/\1/p" <<<"$2"; }

clean_up() {
  local status=$? IFS=$' \t\n' # a signal may come in the middle of "IFS= read"
  trap - EXIT INT TERM
  [ "$status" = 0 ] || [ "$status" -ge 128 ] || { say "demo: failed; the tools said:" >&2; tail -n 20 "$WORK/stderr" >&2 || true; }
  local pid
  if [ "$PIPELINE" != 0 ]; then
    # Without its reader tfd-serve ends, and its tasks with it.
    pid=$(find_child "$PIPELINE" tfd-coordinate)
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
    wait "$PIPELINE" 2>/dev/null || true
  fi
  rm -rf "$WORK"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "tfd-resolve local --jobs worker=3,ps=2 | tfd-serve | tfd-coordinate examples/digits/program.json --set train.steps=$STEPS"
exec {events}< <(
  cd "$WORK"
  tfd-resolve local --jobs worker=3,ps=2 2>>"$WORK/stderr" | tfd-serve 2>>"$WORK/stderr" |
    tfd-coordinate "$PROGRAM" --set train.checkpoint.dir="$WORK/checkpoints" --set train.steps=$STEPS \
      --set train.evaluate.every=$((STEPS / 6)) 2>>"$WORK/stderr"
)
PIPELINE=$!

# Remembers the processes of the cluster: tfd-serve, which is a child of the pipeline, and its children, the tasks.
SERVER=''
note_processes() {
  SERVER=${SERVER:-$(find_child "$PIPELINE" tfd-serve)}
  [ -n "$SERVER" ] || { say "demo: cannot find tfd-serve"; exit 1; }
  local pid
  for pid in "$SERVER" $(children_of "$SERVER"); do STARTED["$pid"]=1; done
}

kill_worker() {
  local pid
  pid=$(find_child "$SERVER" "$VICTIM")
  [ -n "$pid" ] || { say "demo: cannot find $VICTIM among the children of tfd-serve"; exit 1; }
  kill -KILL "$pid"
  say "  killed $VICTIM (process $pid) with SIGKILL"
}

killed=no lost=no back=no accuracy='' reason=''
begin=$EPOCHREALTIME
while IFS= read -r line <&"$events"; do
  case $(field event "$line") in
    start)
      begin=$EPOCHREALTIME
      note_processes
      ;;
    step)
      if [ "$killed" = no ] && [ "$(field step "$line")" -ge "$KILL_AT" ]; then
        kill_worker
        killed=yes
      fi
      ;;
    eval) say "  step $(field step "$line"): loss $(field loss "$line"), test accuracy $(field accuracy "$line")" ;;
    worker)
      state=$(field state "$line")
      case $state in
        lost) say "  $(field task "$line") is lost: its steps go to the others" ;;
        back) say "  $(field task "$line") is back at work" ;;
      esac
      [ "$(field task "$line")" = "$VICTIM" ] || continue
      [ "$state" != lost ] || lost=yes
      if [ "$state" = back ]; then
        back=yes
        note_processes
      fi
      ;;
    end)
      accuracy=$(field accuracy "$line")
      reason=$(field reason "$line")
      ;;
  esac
done
seconds=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.1f", b - a}')
status=0
wait "$PIPELINE" || status=$?
PIPELINE=0
[ "$status" = 0 ] || { say "demo: the pipeline ended with exit code $status"; exit 1; }

for pid in "${!STARTED[@]}"; do
  [ ! -d "/proc/$pid" ] || { say "demo: process $pid is still there: $(arguments_of "$pid")"; exit 1; }
done
[ "$killed" = yes ] || { say "demo: training ended before $VICTIM was killed"; exit 1; }
[ "$lost" = yes ] || { say "demo: nobody noticed that $VICTIM was gone"; exit 1; }
[ "$back" = yes ] || { say "demo: $VICTIM did not come back"; exit 1; }
[ -n "$accuracy" ] || { say "demo: no test accuracy"; exit 1; }
say "trained in $seconds s with $VICTIM killed and back ($reason): test accuracy $accuracy"
awk -v a="$accuracy" -v least="$LEAST_ACCURACY" 'BEGIN {exit !(a >= least)}' ||
  { say "demo: less than $LEAST_ACCURACY"; exit 1; }
