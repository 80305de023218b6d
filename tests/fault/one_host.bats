#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Trainings in one process that are killed again and again: the end is the one of a run that was left alone.

load ../cli/run
setup() {
  coordinate_setup
  cp "$EXAMPLES"/digits/* .
}
teardown() { run_teardown; }

# All values of a checkpoint, optimizer and all; its metadata has other ids.
values_of() { # FILE
  python3 - "$1" <<'PY'
import hashlib, json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
for name in sorted(name for name in header if name != "__metadata__"):
  first, last = header[name]["data_offsets"]
  print(name, header[name]["dtype"], header[name]["shape"], hashlib.sha256(data[8 + size + first:8 + size + last]).hexdigest())
PY
}

# Killed a few times wherever it is, then left to end.
killed_again_and_again() { # DIR OPTIONS…
  local dir=$1 pause
  shift
  for pause in 0.15 0.3 0.5 0.7 0.9; do
    tfd-run -q program.json --set train.checkpoint.dir="$dir" "$@" </dev/null >events 2>talk &
    RUN=$!
    RUNS+=("$RUN")
    sleep "$pause"
    kill -KILL "$RUN" 2>/dev/null || true
    wait "$RUN" 2>/dev/null || true
  done
  timeout 120 tfd-run -q program.json --set train.checkpoint.dir="$dir" "$@" </dev/null >events
}

@test "one host: killed again and again, a training ends with the weights of one that wasn't" {
  local seeded='datasets.train[1]={"shuffle": {"buffer": 2000, "seed": 7}}' strategy
  for strategy in one-device "mirrored --devices 2" "central-storage --replicas 2" "tpu --topology 1x1x1x2"; do
    local train=(--strategy $strategy --set "$seeded" --set train.steps=4000 --set train.checkpoint.every=150 --set train.evaluate=null)
    rm -rf whole killed
    run -0 --separate-stderr timeout 120 tfd-run -q program.json --set train.checkpoint.dir=whole "${train[@]}" </dev/null
    killed_again_and_again killed "${train[@]}"
    [ "$(values_of killed/step-00004000.safetensors)" = "$(values_of whole/step-00004000.safetensors)" ]
  done
}

# How many steps there are beyond the last checkpoint that is told.
steps_beyond() { # EVENTS
  jq -s '(map(select(.event == "step").step) | max // 0) - (map(select(.event == "checkpoint").step) | max // 0)' "$1"
}
is_writing_long() { [ "$(steps_beyond told)" -ge 100 ]; }

@test "one host: killed while it writes a checkpoint, which holds up no step, a training goes on from the one before" {
  local seeded='datasets.train[1]={"shuffle": {"buffer": 2000, "seed": 7}}'
  local train=(--set "$seeded" --set train.steps=600 --set train.checkpoint.every=100 --set train.evaluate=null)
  run -0 --separate-stderr timeout 120 tfd-run -q program.json --set train.checkpoint.dir=whole "${train[@]}" </dev/null
  # The first syncs are of a trial write to the directory, the index, the settings of the run, and the first checkpoint.
  ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$TFD_BUILD/tests/kit/slow-read.so TFD_TEST_SLOW_SYNC=11 TFD_TEST_SLOW_SECONDS=600 \
    tfd-run program.json --set train.checkpoint.dir=killed "${train[@]}" </dev/null >told 2>talk &
  RUN=$!
  RUNS+=("$RUN")
  until_true is_writing_long
  until_true grep -q "waiting until the checkpoint of step 200 is on disk" talk
  kill -KILL "$RUN"
  wait "$RUN" || true
  run -0 --separate-stderr timeout 120 tfd-run program.json --set train.checkpoint.dir=killed "${train[@]}" </dev/null
  [[ $stderr == *"resuming from "*"/step-00000100.safetensors"* ]]
  [ "$(values_of killed/step-00000600.safetensors)" = "$(values_of whole/step-00000600.safetensors)" ]
}

@test "one host: data that state no seed go on in the order in which they were" {
  # Each element of a pass is seen once, whatever interrupted the pass.
  cat >see.mlir <<'M'
module @see {
  func.func public @main(%n: tensor<40xi64>, %x: tensor<1xi64>) -> tensor<40xi64> {
    %i = stablehlo.iota dim = 0 : tensor<40xi64>
    %at = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<1xi64>) -> tensor<40xi64>
    %is = stablehlo.compare EQ, %i, %at, SIGNED : (tensor<40xi64>, tensor<40xi64>) -> tensor<40xi1>
    %one = stablehlo.convert %is : (tensor<40xi1>) -> tensor<40xi64>
    return %one : tensor<40xi64>
  }
}
M
  echo '{"v": 1, "variables": {"seen": {"shape": [40], "dtype": "s64", "init": {"zeros": {}}}},
    "datasets": {"numbers": [{"range": 40}, {"shuffle": {"buffer": 40}}, {"repeat": {}}, {"batch": {"size": 1, "drop_remainder": true}}]},
    "functions": {"see": {"module": "see.mlir", "inputs": [{"variable": "seen"}, {"dataset": "numbers"}], "outputs": [{"assign_add": "seen"}]}},
    "train": {"function": "see", "steps": 80, "checkpoint": {"dir": "seen", "every": 1000}}}' >program.json
  local steps
  for steps in 13 29 40 61 80; do
    run -0 --separate-stderr timeout 60 tfd-run -q program.json --set train.steps=$steps </dev/null
  done
  python3 - seen/step-00000080.safetensors <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
first = 8 + size + json.loads(data[8:8 + size])["seen"]["data_offsets"][0]
seen = struct.unpack_from("<40q", data, first)
assert seen == (2,) * 40, seen
PY
  # Another pipeline begins again.
  run -0 --separate-stderr timeout 60 tfd-run -v program.json --set train.steps=90 --set 'datasets.numbers[1].shuffle.buffer=20' </dev/null
  [[ $stderr == *"its datasets have changed: the data restart in another order"* ]]
}
