#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `./dev demo` shows: a cluster of five processes learns to read digits, and one of its workers is killed on the way.
# Needs tfd's tools on PATH. Writes only into a temporary directory, which is gone at the end, as are all processes.
# Exit code: 0 when the killed worker was lost and came back, and the test accuracy is at least 96.5 %; 1 otherwise.
set -euo pipefail
PROGRAM=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/examples/digits/program.json
LEAST_ACCURACY=0.965
VICTIM=worker:1
KILL_AT=600 # of 2000 steps: the restarted worker should have work left

for tool in tfd-resolve tfd-serve tfd-coordinate; do
  command -v "$tool" >/dev/null || { echo "demo: no $tool on PATH: run ./dev demo" >&2; exit 69; }
done
WORK=$(mktemp -d "${TMPDIR:-/tmp}/tfd-demo.XXXXXX")
export TFD_CACHE_DIR=$WORK/cache
PIPELINE=0
STARTED=() # every process of the cluster that was seen

say() { printf '%s\n' "$*"; }

# Process ids of the children of $1, read from /proc: pgrep isn't everywhere.
children_of() {
  local stat rest
  for stat in /proc/[0-9]*/stat; do
    rest=$(cat "$stat" 2>/dev/null) || continue
    local pid=${rest%% *}
    rest=${rest##*) } # after the name, which may have spaces: state, parent
    read -r _ parent _ <<<"$rest"
    [ "$parent" != "$1" ] || printf '%s\n' "$pid"
  done
}
arguments_of() { tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null || true; }

# The task servers are children of the tfd-serve of our pipeline.
supervisor() {
  local pid
  for pid in $(children_of "$PIPELINE"); do
    [[ $(arguments_of "$pid") != *tfd-serve* ]] || { printf '%s\n' "$pid"; return; }
  done
}

# "value" or number of the key $1 in the JSON line $2; numbers and words only.
field() { sed -nE "s/.*\"$1\": *\"?([^,\"}]*)\"?.*/\1/p" <<<"$2"; }

clean_up() {
  local status=$?
  trap - EXIT
  [ "$status" = 0 ] || { say "demo: failed; the tools said:" >&2; tail -n 20 "$WORK/stderr" >&2 || true; }
  local pid
  if [ "$PIPELINE" != 0 ]; then
    for pid in $(children_of "$PIPELINE"); do kill "$pid" 2>/dev/null || true; done
    wait "$PIPELINE" 2>/dev/null || true
  fi
  rm -rf "$WORK"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "tfd-resolve local --jobs worker=3,ps=2 | tfd-serve | tfd-coordinate examples/digits/program.json"
exec {events}< <(
  cd "$WORK"
  tfd-resolve local --jobs worker=3,ps=2 2>>"$WORK/stderr" | tfd-serve 2>>"$WORK/stderr" |
    tfd-coordinate "$PROGRAM" --set train.checkpoint.dir="$WORK/checkpoints" 2>>"$WORK/stderr"
)
PIPELINE=$!

kill_worker() {
  local server pid
  server=$(supervisor)
  [ -n "$server" ] || { say "demo: cannot find tfd-serve"; exit 1; }
  mapfile -t STARTED < <(children_of "$server")
  STARTED+=("$server")
  for pid in "${STARTED[@]}"; do
    [[ $(arguments_of "$pid") == *"$VICTIM"* ]] || continue
    kill -KILL "$pid"
    say "  killed $VICTIM (process $pid) with SIGKILL"
    return
  done
  say "demo: cannot find $VICTIM among the children of tfd-serve"
  exit 1
}

killed=no lost=no back=no accuracy='' reason='' last_shown=0
begin=$EPOCHREALTIME
while IFS= read -r line <&"$events"; do
  case $(field event "$line") in
    start) begin=$EPOCHREALTIME ;;
    step)
      step=$(field step "$line")
      if [ $((step - last_shown)) -ge 200 ]; then
        say "  step $step: loss $(field loss "$line")"
        last_shown=$step
      fi
      if [ "$killed" = no ] && [ "$step" -ge "$KILL_AT" ]; then
        kill_worker
        killed=yes
      fi
      ;;
    eval) say "  step $(field step "$line"): test accuracy $(field accuracy "$line")" ;;
    worker)
      state=$(field state "$line")
      say "  $(field task "$line") is $state"
      [ "$(field task "$line")" = "$VICTIM" ] || continue
      [ "$state" != lost ] || lost=yes
      [ "$state" != back ] || back=yes
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

for pid in "${STARTED[@]}"; do
  [ ! -d "/proc/$pid" ] || { say "demo: process $pid is still there: $(arguments_of "$pid")"; exit 1; }
done
[ "$killed" = yes ] || { say "demo: training ended before $VICTIM was killed"; exit 1; }
[ "$lost" = yes ] || { say "demo: nobody noticed that $VICTIM was gone"; exit 1; }
[ "$back" = yes ] || { say "demo: $VICTIM did not come back"; exit 1; }
[ -n "$accuracy" ] || { say "demo: no test accuracy"; exit 1; }
say "trained in $seconds s with $VICTIM killed and back ($reason): test accuracy $accuracy"
awk -v a="$accuracy" -v least="$LEAST_ACCURACY" 'BEGIN {exit !(a >= least)}' ||
  { say "demo: less than $LEAST_ACCURACY"; exit 1; }
