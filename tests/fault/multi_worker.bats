#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Groups of tfd-run --strategy multi-worker-mirrored whose members die or freeze: all end with one cause, and the same command
# goes on with what was saved.
# bats file_tags=long

load ../cli/group
setup() { coordinate_setup; }
teardown() { run_teardown; }

training() { # N ARGS…
  local n=$1
  shift
  start_group "$n" "$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 4 --set train.steps=400 --set train.checkpoint.dir=ck \
    --set train.checkpoint.every=50 "$@"
}

@test "fault: a killed worker, or chief, ends all with its name, and the weights are in the end an undisturbed run's" {
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" "${SEEDED[@]}" --strategy mirrored --replicas 4 \
    --set train.steps=400 --set train.checkpoint.dir=undisturbed </dev/null
  local victim other
  for victim in 1 0; do
    group_of 3
    training 3
    RUN=${PIDS[0]} until_event worker:0 '.event == "checkpoint"'
    kill -KILL "${PIDS[$victim]}"
    ends "${PIDS[$victim]}"
    for other in 0 1 2; do
      [ "$other" != "$victim" ] || continue
      run_ends "${PIDS[$other]}" 69
      grep -q "worker:$victim is \(gone\|lost\)" "worker:$other.talk"
    done
  done
  group_of 2
  training 2
  group_ends 0
  jq -es 'any(.[]; .event == "start" and .step > 0)' worker:0.events
  [ "$(weights ck/step-00000400.safetensors)" = "$(weights undisturbed/step-00000400.safetensors)" ]
}

@test "fault: a frozen worker is named, then lost; one that thaws before goes on as if nothing had been" {
  group_of 2
  training 2 --set train.steps=1000000
  RUN=${PIDS[0]} until_event worker:0 '.event == "checkpoint"'
  kill -STOP "${PIDS[1]}"
  RUN=${PIDS[0]} until_talk worker:0 "worker:1 doesn't answer"
  kill -CONT "${PIDS[1]}"
  local step
  step=$(jq -s 'map(.step // 0) | max' worker:0.events)
  RUN=${PIDS[0]} until_event worker:0 ".event == \"step\" and .step > $step"
  kill -STOP "${PIDS[1]}"
  run_ends "${PIDS[0]}" 69
  grep -q 'worker:1 is lost (no heartbeat' worker:0.talk
  kill -KILL "${PIDS[1]}"
}
