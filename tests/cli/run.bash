# SPDX-License-Identifier: Apache-2.0
# Code shared by the tests of tfd-run: parameter servers, workers in the background, and their events.

# shellcheck source=coordinate.bash
source "$(dirname "${BASH_SOURCE[0]}")/coordinate.bash"

run_teardown() {
  local pid
  for pid in "${RUNS[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  coordinate_teardown
}

# Parameter servers that serve $2 of them, in spec.json; workers $1 are clients, which listen nowhere.
cluster_of() { # WORKERS PS
  local i
  serve --jobs "ps=$2"
  jq --argjson n "$1" '.cluster.worker = [range($n) | "127.0.0.1:\(1 + .)"]' spec.json >cluster.json
}

# tfd-run as task $1 in the background: its events go to $1.events, its talk to $1.talk; RUN is its process.
worker() { # TASK PROGRAM ARGS…
  local task=$1
  shift
  env --default-signal=INT tfd-run "$@" --cluster cluster.json --task "$task" <&0 >"$task.events" 2>"$task.talk" 5>&- 6>&- 7>&- 8>&- &
  RUN=$!
  RUNS+=("$RUN")
}

# The same program on worker:1, then on worker:0: OTHER and CHIEF are their processes.
two_workers() { # PROGRAM ARGS…
  worker worker:1 "$@"
  OTHER=$RUN
  worker worker:0 "$@"
  CHIEF=$RUN
}

# Both end by themselves.
both_end() {
  run_ends "$CHIEF" 0 && run_ends "$OTHER" 0
}

# SIGTERM stops both, the one that isn't the chief first; each may be continued.
both_are_stopped() {
  kill -TERM "$OTHER"
  run_ends "$OTHER" 75 || return 1
  kill -TERM "$CHIEF"
  run_ends "$CHIEF" 75
}

# The checkpoint in "ck" counts on n1 what the global step says, and on n0 up to $1 more or less: what a killed worker was
# pushing may have reached one of the two parameter servers.
saved_within() { # DIFFERENCE
  local saved n0 n1
  read -r saved n0 n1 <<<"$(counted ck)"
  [ "$n1" = "$saved" ] && [ $((saved - n0)) -ge $((-$1)) ] && [ $((saved - n0)) -le "$1" ]
}

run_ends() { # PID CODE
  local code=0
  LIMIT=300 ends "$1" || { cat ./*.talk; return 1; }
  wait "$1" || code=$?
  [ "$code" = "$2" ] || { echo "exit code $code, not $2"; cat ./*.talk; return 1; }
}

# Waits until the events of task $1 have one that jq finds true.
until_event() {
  local line
  while IFS= read -r -t 60 line; do
    may_be "$line" "$2" || continue
    [ "$(jq "$2" <<<"$line")" != true ] || return 0
  done < <(timeout 60 tail -n +1 --pid="$RUN" -F "$1.events" 2>/dev/null 3>&-)
  echo "no event of $1: $2"
  cat "$1.events" "$1.talk"
  return 1
}

# Waits until task $1 has said this.
until_talk() {
  timeout 60 tail -n +1 --pid="$RUN" -F "$1.talk" 2>/dev/null 3>&- | grep -qm1 "$2" || { cat "$1.talk"; return 1; }
}

# Numbers of the newest checkpoint of directory $1, by the names of tensors, each with its form as Python's struct has it.
newest_numbers() { # DIRECTORY NAME FORM…
  python3 - "$@" <<'PY'
import json, os, struct, sys
newest = max(name for name in os.listdir(sys.argv[1]) if name.startswith("step-"))
data = open(os.path.join(sys.argv[1], newest), "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
for name, form in zip(sys.argv[2::2], sys.argv[3::2]):
    for number in struct.unpack_from("<" + form, data, 8 + size + header[name]["data_offsets"][0]):
        print(number if isinstance(number, int) else f"{number:g}")
PY
}

# The content of the newest checkpoint of directory $1: "STEP N0 N1".
counted() { newest_numbers "$1" global_step q n0 i n1 i | paste -sd ' '; }

last() { jq -c "select(.event == \"end\") | $2" "$1.events"; }

# Every evaluation is worse than the one before it: its value is the number of steps.
falling_program() { # EVERY PATIENCE
  counting_program "{\"function\": \"count\", \"steps\": 100000000, \"log_every\": 100, \"checkpoint\": {\"dir\": \"ck\", \"keep_best\": {\"metric\": \"n\", \"mode\": \"min\"}},
    \"evaluate\": {\"function\": \"eval\", \"every\": $1}, \"stop\": {\"metric\": \"n\", \"mode\": \"min\", \"patience\": $2, \"restore_best\": true}}"
  cat >eval.mlir <<'MLIR'
module @eval {
  func.func public @main(%n: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
    %out = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
    return %out : tensor<f32>
  }
}
MLIR
  jq '.functions.eval = {"module": "eval.mlir", "inputs": [{"variable": "n0"}, {"dataset": "once", "field": "x"}], "outputs": [{"metric": "n"}]}
    | .datasets.once = [{"tensor_slices": {"fields": {"x": [0.5]}}}]' program.json >with.json
  mv with.json program.json
}

# Twelve elements, one of which each step takes.
epochs_program() { # EPOCHS
  cat >one.mlir <<'MLIR'
module @one {
  func.func public @main(%x: tensor<1xf32>) -> tensor<f32> {
    %loss = stablehlo.reshape %x : (tensor<1xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
MLIR
  cat >program.json <<JSON
{"v": 1, "variables": {},
 "datasets": {"points": [{"range": 12}, {"map": {"function": "number", "fields": ["x"]}}, {"batch": {"size": 1, "drop_remainder": true}}]},
 "functions": {"number": {"module": "number.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]},
               "see": {"module": "one.mlir", "inputs": [{"dataset": "points", "field": "x"}], "outputs": [{"metric": "loss"}]}},
 "train": {"function": "see", "epochs": $1, "log_every": 10}}
JSON
  cat >number.mlir <<'MLIR'
module @number {
  func.func public @main(%i: tensor<i64>) -> tensor<f32> {
    %x = stablehlo.convert %i : (tensor<i64>) -> tensor<f32>
    return %x : tensor<f32>
  }
}
MLIR
}

# Each replica of each step adds 1 to a row of a table in two shards: to row I, on worker I of two.
rows_program() { # TRAIN, JSON
  cat >touch.mlir <<'MLIR'
module @touch {
  func.func public @main(%row: tensor<1x1xf32>) -> tensor<1x1xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<1x1xf32>
    return %one : tensor<1x1xf32>
  }
}
MLIR
  cat >program.json <<JSON
{"v": 1,
 "variables": {"table": {"shape": [10, 1], "init": {"zeros": {}}, "aggregation": "sum", "partitioner": {"fixed_shards": {"num_shards": 2}}}},
 "datasets": {"ids": [{"tensor_slices": {"fields": {"i": [0, 1]}}}, {"repeat": {}}, {"batch": {"size": 1, "drop_remainder": true}}]},
 "functions": {"touch": {"module": "touch.mlir", "inputs": [{"lookup": "table", "ids": {"dataset": "ids", "field": "i"}}],
                         "outputs": [{"assign_add": "table", "ids": {"dataset": "ids", "field": "i"}}]}},
 "train": $1}
JSON
}

# double: two times its argument; count: what the variable n was, to which each replica adds 1.
doubling_program() {
  cat >double.mlir <<'MLIR'
module @double {
  func.func public @main(%x: tensor<1xi64>) -> tensor<1xi64> {
    %out = stablehlo.add %x, %x : tensor<1xi64>
    return %out : tensor<1xi64>
  }
}
MLIR
  cat >count.mlir <<'MLIR'
module @count {
  func.func public @main(%n: tensor<i64>, %x: tensor<1xi64>) -> (tensor<i64>, tensor<i64>) {
    %one = stablehlo.constant dense<1> : tensor<i64>
    return %n, %one : tensor<i64>, tensor<i64>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1,
 "variables": {"n": {"shape": [], "dtype": "s64", "init": {"zeros": {}}, "aggregation": "sum"}},
 "datasets": {"four": [{"range": 4}, {"batch": {"size": 2}}]},
 "functions": {"double": {"module": "double.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]},
               "count": {"module": "count.mlir", "inputs": [{"variable": "n"}, {"arg": 0}], "outputs": [{"result": 0}, {"assign_add": "n"}]}}}
JSON
}
