#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy multi-worker-mirrored: programs whose variables need more than a sum of gradients.

load group
setup() { coordinate_setup; }
teardown() { run_teardown; }

@test "multi-worker: variables that are synchronized on read have a copy for each replica, whichever worker makes it" {
  statistics_program statistics
  local n args=(statistics/program.json --replicas 4)
  run -0 --separate-stderr timeout 60 tfd-run "${args[@]}" --strategy mirrored --set train.checkpoint.dir=ck0 </dev/null
  # 250 batches: 62 steps of four, and one that two replicas have a batch for. SUM saves the sum of what each has seen.
  [ "$(newest_numbers ck0 seen i)" = 1000 ]
  for n in 1 2 3 4; do
    group_of "$n"
    start_group "$n" "${args[@]}" --set "train.checkpoint.dir=ck$n"
    group_ends 0
    [ "$(weights "ck$n/step-00000063.safetensors")" = "$(weights ck0/step-00000063.safetensors)" ]
  done
}

@test "multi-worker: copies are saved as one value, and another number of workers goes on from that as one process does" {
  statistics_program statistics
  local args=(statistics/program.json)
  run -0 --separate-stderr timeout 60 tfd-run "${args[@]}" --replicas 4 --strategy mirrored --set train.checkpoint.dir=ck0 \
    --set train.epochs=null --set train.steps=20 </dev/null
  cp -r ck0 ck
  run -0 --separate-stderr timeout 60 tfd-run "${args[@]}" --replicas 4 --strategy mirrored --set train.checkpoint.dir=ck0 \
    --set train.epochs=null --set train.steps=40 </dev/null
  group_of 3
  start_group 3 "${args[@]}" --set train.checkpoint.dir=ck --set train.epochs=null --set train.steps=40
  group_ends 0
  jq -es 'any(.[]; .event == "start" and .step == 20 and .replicas == 4)' worker:0.events
  [ "$(weights ck/step-00000040.safetensors)" = "$(weights ck0/step-00000040.safetensors)" ]
}
