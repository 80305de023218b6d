#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy tpu: a mesh of cores, here CPU devices, and which of them runs which replica.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

tpu() { run "$1" --separate-stderr timeout 60 tfd-run program.json --strategy tpu "${@:2}" </dev/null; }
devices() { jq -c 'select(.event == "start") | .devices | map(ltrimstr("cpu:") | tonumber)' <<<"$output"; }

@test "tpu: one replica on each core of the mesh, in their order" {
  counting_program '{"function": "count", "steps": 3}'
  tpu -0 --topology 2x2x1x2
  [ "$(devices)" = '[0,1,2,3,4,5,6,7]' ]
  jq -es '.[0].replicas == 8 and .[-1].reason == "done"' <<<"$output"
}

@test "tpu: replicas are placed as DeviceAssignment.build() does it" {
  counting_program '{"function": "count", "steps": 1}'
  tpu -0 --topology 2x2x2x1 --num-replicas 8 # a ring
  [ "$(devices)" = '[0,1,3,2,6,7,5,4]' ]
  tpu -0 --topology 2x2x1x2 --num-replicas 3 # cores of a chip first
  [ "$(devices)" = '[0,1,2]' ]
  tpu -0 --topology 2x2x1x2 --computation-shape 1,1,1,1
  [ "$(devices)" = '[0]' ]
  echo '[[[1, 1, 0, 1]], [[0, 1, 0, 0]]]' >places.json
  tpu -0 --topology 2x2x1x2 --device-assignment places.json
  [ "$(devices)" = '[7,4]' ]
}

@test "tpu: a step of four cores gives what one of four mirrored devices gives" {
  local seeded=(--set 'datasets.train[1]={"shuffle": {"buffer": 2000, "seed": 7}}' --set train.steps=20 --set train.checkpoint=null
    --set train.evaluate.every=20)
  cp -r "$EXAMPLES"/digits/* .
  tpu -0 --topology 2x1x1x2 "${seeded[@]}"
  local tpu
  tpu=$(jq -c 'select(.event == "eval") | .metrics.loss' <<<"$output")
  run -0 --separate-stderr timeout 60 tfd-run program.json --strategy mirrored --devices 4 "${seeded[@]}" </dev/null
  [ "$(jq -c 'select(.event == "eval") | .metrics.loss' <<<"$output")" = "$tpu" ]
}

@test "tpu: what doesn't fit is said" {
  counting_program '{"function": "count", "steps": 1}'
  refused() { # CODE, WHAT, OPTIONS…
    tpu "-$1" "${@:3}"
    [[ $stderr == *"$2"* ]] || { echo "$stderr"; false; }
  }
  refused 64 "have no coordinates: state the mesh, such as --topology 2x2x1x2"
  refused 64 "--topology 2x2: the shape of the mesh must be 4 positive entries (x, y, z, core), not the 2 of [2 2]" --topology 2x2
  refused 64 "--topology 2x0x1x1" --topology 2x0x1x1
  refused 65 "9 replicas are asked for, but only 8 replicas with shape [1 1 1 1]" --topology 2x2x1x2 --num-replicas 9
  refused 65 "does not fit into the mesh [2 2 1 2]" --topology 2x2x1x2 --computation-shape 4,1,1,1
  refused 65 "replicas of 2 cores: only those of one core are there yet" --topology 2x2x1x2 --computation-shape 1,1,1,2
  refused 64 "--device-assignment says what" --topology 2x2x1x2 --device-assignment p.json --num-replicas 2
  echo '[[[1, 1, 0, 1]], [[1, 1, 0, 1]]]' >twice.json
  refused 65 "has the core [1, 1, 0, 1] twice" --topology 2x2x1x2 --device-assignment twice.json
  echo '[[[1, 1, 0]]]' >short.json
  refused 65 "short.json: [0][0]: must be [[[x, y, z, core], …], …]" --topology 2x2x1x2 --device-assignment short.json
  echo '[[[5, 1, 0, 0]]]' >outside.json
  refused 65 "[5 1 0 0] is outside of the mesh [2 2 1 2]" --topology 2x2x1x2 --device-assignment outside.json
  refused 64 "--replicas is for other strategies" --topology 2x2x1x2 --replicas 2
  run -64 --separate-stderr tfd-run program.json --topology 2x2x1x2 </dev/null
  [[ $stderr == *"are for --strategy tpu"* ]]
}
