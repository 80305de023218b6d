#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Clocks that are set while a training runs: an hour on, then a day back. Nothing is lost, no deadline passes, times in messages are
# true, and the newest checkpoint is the one of the highest step. Uses libfaketime; the monotonic clock goes on, as it does when a host's
# time is set.
# bats file_tags=long

load ../cli/run
setup() {
  coordinate_setup
  FAKETIME_LIB=$(find /usr/lib /usr/local/lib -name libfaketimeMT.so.1 2>/dev/null | head -n 1)
  [ -n "$FAKETIME_LIB" ] || skip "needs libfaketime"
  [ "${TFD_SANITIZED:-0}" = 0 ] || skip "a sanitizer must be loaded first"
}
teardown() { run_teardown; }

# This process becomes COMMAND ARGS… with a clock that set_clock sets, and that is right at first.
with_clock() { # NAME COMMAND ARGS…
  echo +0 >"$T/clock-$1"
  exec env LD_PRELOAD="$FAKETIME_LIB" FAKETIME_TIMESTAMP_FILE="$T/clock-$1" FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 FAKETIME_NO_CACHE=1 "${@:2}"
}
set_clock() { # NAME BY
  echo "$2" >"$T/clock-$1.new"
  mv "$T/clock-$1.new" "$T/clock-$1"
  [ "$(LD_PRELOAD=$FAKETIME_LIB FAKETIME_TIMESTAMP_FILE=$T/clock-$1 date +%s)" != "$(date +%s)" ]
}
TRAIN='{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 500, "keep": 3}}'
checkpoint_after() { # STEP
  event ".event == \"checkpoint\" and .step >= $1"
  jq .step <<<"$EVENT"
}
# An hour on, and a day back, between checkpoints.
jumps() { # NAME
  local by
  for by in +3600s -86400s; do
    event '.event == "checkpoint"'
    set_clock "$1" "$by"
    event '.event == "checkpoint"'
    event '.event == "checkpoint"'
  done
}
# Nobody was lost, and no time is an hour, or below nothing.
nothing_has_happened() { # EVENTS TALK…
  jq -es 'map(select(.event == "end")) | length == 1 and .[0].seconds > 0 and .[0].seconds < 1800' "$1"
  jq -es 'map(select(.event == "step").rates[]?) | all(. > 0 and . < 10000000)' "$1"
  jq -es 'all(.event != "worker" and .event != "server")' "$1"
  run ! grep -E 'lost|silent|gone|waited|nothing has finished' "${@:2}"
}

@test "clocks: a coordinator's is set, and the next one continues from the newest checkpoint" {
  serve --jobs worker=2,ps=2
  counting_program "$TRAIN"
  with_clock own env --default-signal=INT tfd-coordinate program.json --cluster spec.json <&0 2>"$T/talk" 3>&- 5>&- 6>&- 7>&- 8>&- > >(tee all >"$T/events") &
  COORDINATOR=$!
  jumps own
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted"'
  local step
  step=$(jq .step <<<"$EVENT")
  coordinator_ends 75
  nothing_has_happened all talk
  [ "$(counts_in ck)" = "$step $step $step" ]
  rm ck/index.json # only the checkpoints themselves tell
  coordinate program.json --cluster spec.json
  event '.event == "start"'
  [ "$(jq .step <<<"$EVENT")" = "$step" ]
  stops_with_each_step_once
}

@test "clocks: those of parameter servers, of a worker, and of the supervisor are set" {
  with_clock tasks env --default-signal=INT tfd-serve --jobs worker=2,ps=2 --output "$T/spec.json" --ready-fd 9 2>served 3>&- 6>&- 7>&- 8>&- 9>"$T/ready" &
  SERVE=$!
  IFS= read -r -t 60 -u 8 SPEC
  counting_program "$(jq -c '.checkpoint.by = "servers"' <<<"$TRAIN")"
  coordinate program.json --cluster spec.json --events all
  jumps tasks
  stops_with_each_step_once
  nothing_has_happened all talk served
}

@test "clocks: those of one member of a group is set" {
  ports 2 | jq -Rn '{cluster: {worker: [inputs | splits(" +") | "127.0.0.1:\(.)"]}}' >cluster.json
  tfd-serve -q --generate-key
  counting_program "$TRAIN"
  jq '.variables |= map_values(.aggregation = "only_first_replica")' program.json >with.json
  mv with.json program.json
  local i
  for i in 1 0; do
    with_clock "$i" env --default-signal=INT tfd-run program.json --strategy multi-worker-mirrored --cluster cluster.json --task "worker:$i" --silence 3s \
      </dev/null >"worker:$i.events" 2>"worker:$i.talk" 3>&- &
    RUN=$!
    RUNS+=("$RUN")
  done
  local by step=0
  for by in +3600s -86400s; do
    for i in 1 0; do
      step=$((step + 1000))
      until_event worker:0 ".event == \"checkpoint\" and .step >= $step"
      set_clock "$i" "$by"
    done
  done
  until_event worker:0 ".event == \"checkpoint\" and .step >= $(($(jq -s 'map(select(.event == "step") | .step) | max' worker:0.events) + 1500))"
  kill -TERM "${RUNS[@]}"
  for i in "${RUNS[@]}"; do run_ends "$i" 75; done
  nothing_has_happened worker:0.events worker:*.talk
}
