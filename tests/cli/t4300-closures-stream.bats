#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-coordinate --closures as a stage of a pipe: memory, large results, clusters that change, everything that is wrong.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

ENDLESS=(--set 'datasets.ones=[{"tensor_slices": [1]}, {"repeat": {}}]')

# Takes an argument of 1000 floats and returns it.
wide_program() {
  cat >"$T/same.mlir" <<'MLIR'
module @same {
  func.func public @main(%x: tensor<1000xf32> loc("x")) -> tensor<1000xf32> {
    return %x : tensor<1000xf32>
  }
}
MLIR
  cat >"$T/program.json" <<'JSON'
{"v": 1, "variables": {"w": {"shape": [1000], "dtype": "f32", "init": {"ones": {}}}},
 "functions": {"same": {"module": "same.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]}}}
JSON
  wide=$(python3 -c 'print([i / 8 for i in range(1000)])')
}

@test "stream: a reader that stops reading stops the schedule, not the memory" {
  wide_program
  serve --jobs worker=2,ps=1
  mkfifo lines answers
  exec 4<>answers # nobody reads it
  env --default-signal=INT tfd-coordinate program.json --cluster spec.json --closures - <lines >answers 2>talk 5>&- 6>&- 7>&- 8>&- &
  COORDINATOR=$!
  # Far more than may be waiting: 64 Ki closures whose arguments and results are 4 kB each. Counts what was taken, until
  # nothing more is for two seconds, and says how much memory that took.
  run -0 python3 - "$COORDINATOR" "$wide" <<'PY'
import os, select, sys
pid, wide = sys.argv[1:]
line = ('{"op": "schedule", "function": "same", "args": [%s]}\n' % wide).encode()
fd = os.open("lines", os.O_WRONLY)
os.set_blocking(fd, False)
poll = select.poll()
poll.register(fd, select.POLLOUT)
sent = 0
pending = b""
while sent < 65536 * len(line):
    if not poll.poll(2000):
        break
    pending = pending or line
    try:
        n = os.write(fd, pending)
    except BlockingIOError:
        continue
    pending = pending[n:]
    sent += n
peak = next(int(l.split()[1]) for l in open(f"/proc/{pid}/status") if l.startswith("VmHWM"))
print(sent // len(line), peak)
PY
  read -r taken peak <<<"$output"
  echo "# $taken closures taken, $peak KiB"
  [ "$taken" -lt 65536 ]
  [ "$peak" -lt 600000 ] || [ -n "${TFD_SANITIZED:-}" ]  # which keeps freed memory
  kill -KILL "$COORDINATOR"
  wait "$COORDINATOR" || true
  COORDINATOR=
  exec 4>&-
}

@test "stream: results above --inline-limit are written to files" {
  wide_program
  serve --jobs worker=1,ps=1
  {
    echo "{\"op\": \"schedule\", \"function\": \"same\", \"args\": [$wide], \"id\": \"a\"}"
    echo '{"op": "fetch", "of": {"x": {"remote": "a"}, "y": {"remote": "a"}}, "id": "../b"}'
    echo '{"op": "read", "variable": "w"}'
  } >lines.jsonl
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --ordered --closures lines.jsonl --inline-limit 1KiB --results out
  [ "${lines[0]}" = '{"id":"a","status":"ready","value":{"npy":"out/a.npy"}}' ]
  [ "${lines[1]}" = '{"id":"../b","status":"ready","value":{"x":{"npy":"out/line-2.0.npy"},"y":{"npy":"out/line-2.1.npy"}}}' ]
  [ "${lines[2]}" = '{"line":3,"status":"ready","value":{"npy":"out/line-3.npy"}}' ]
  cmp out/a.npy out/line-2.0.npy
  python3 - <<'PY'
import struct
data = open("out/a.npy", "rb").read()
assert data[:6] == b"\x93NUMPY"
assert struct.unpack("<1000f", data[-4000:]) == tuple(i / 8 for i in range(1000))
PY
}

@test "stream: a result whose file can't be written is an error of its line, and the run goes on" {
  wide_program
  serve --jobs worker=1,ps=1
  : >file
  echo "{\"op\": \"schedule\", \"function\": \"same\", \"args\": [$wide], \"id\": \"a\"}" >lines.jsonl
  echo '{"op": "done", "id": "b"}' >>lines.jsonl
  run -1 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --ordered --closures lines.jsonl --inline-limit 1KiB --results file/out
  [ "$(jq -c '[.id, .status]' <<<"$output" | paste -sd' ')" = '["a","error"] ["b","ready"]' ]
  [[ ${lines[0]} == *"file/out"* ]]
}

@test "stream: a cluster line lets workers join and leave, as from tfd-resolve --watch" {
  serve --jobs worker=2,ps=1
  jq -c '.cluster.worker = [.cluster.worker[0]]' spec.json >small.json
  mkfifo lines
  exec 5<>lines
  coordinate "$EXAMPLES/counter/program.json" --cluster small.json "${ENDLESS[@]}" --closures - <lines
  echo '{"op": "create_per_worker_dataset", "dataset": "ones"}' >&5
  event '.line == 1'
  jq -c '. + {"id": "more"}' spec.json >&5
  event '.id == "more" and .value == {"joined": ["worker:1"], "left": [], "moved": []}'
  for i in $(seq 100); do echo "{\"op\": \"schedule\", \"function\": \"add_fn\", \"args\": [{\"per_worker\": \"ones\"}]}"; done >&5
  echo '{"op": "join", "id": "joined"}' >&5
  event '.id == "joined"'
  cat small.json >&5
  event '.value.left == ["worker:1"]'
  jq -c '.cluster.ps = ["127.0.0.1:1"] | .id = "moved"' small.json >&5
  event '.id == "moved" and .status == "error" and .error.code == "FAILED_PRECONDITION" and (.error.message | contains("ps:0 can'"'"'t move from"))'
  echo '{"cluster": {"worker": ["nonsense"]}, "id": "bad"}' >&5
  event '.id == "bad" and .status == "error" and .error.code == "INVALID_ARGUMENT"'
  echo '{"op": "read", "variable": "v", "id": "v"}' >&5
  event '.id == "v" and .value == 100'
  exec 5>&-
  coordinator_ends 1
}

@test "stream: every kind of bad line is an error of its own, and the run goes on" {
  wide_program
  serve --jobs worker=1,ps=1
  {
    echo '{"op": "schedule", "function": "same", "args": [[1, 2]], "id": "shape"}'
    echo '{"op": "schedule", "function": "same", "args": ["text"], "id": "dtype"}'
    echo '{"op": "schedule", "function": "same", "args": [], "id": "too few"}'
    echo '{"op": "schedule", "function": "same", "args": [1, 2], "id": "too many"}'
    echo '{"op": "schedule", "function": "same", "kwargs": {"y": 1}, "id": "kwarg"}'
    echo '{"op": "schedule", "function": "nobody", "id": "function"}'
    echo '{"op": "schedule", "function": "same", "args": [{"npy": "missing.npy"}], "id": "npy"}'
    echo '{"op": "fetch", "of": {"remote": "never"}, "id": "fetch"}'
    echo '{"op": "restore", "path": "nowhere", "id": "restore"}'
    echo '{"op": "fetch"}'
    echo '{"op": "fetch", "of": [{"remote": "shape", "result": -1}]}'
    printf '{"op": "fetch", "of": %s1%s}\n' "$(head -c 50000 /dev/zero | tr '\0' '[')" "$(head -c 50000 /dev/zero | tr '\0' ']')"
    echo '[]'
    echo 'not JSON'
    printf '{"op": "\xff"}\n'
    printf '{"op": "join", "id": "\\u0000"}\n'
    head -c 200000 /dev/zero | tr '\0' '['
    echo
    echo "{\"op\": \"schedule\", \"function\": \"same\", \"args\": [$wide], \"id\": \"good\"}"
    echo "{\"op\": \"schedule\", \"function\": \"same\", \"args\": [$wide], \"id\": \"good\"}"
    echo '{"op": "fetch", "of": {"remote": "good", "result": 3}, "id": "result"}'
    echo '{"op": "done", "id": "end"}'
  } >lines.jsonl
  run -1 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --ordered --closures lines.jsonl
  [ "${#lines[@]}" = 21 ]
  [ "$(jq -r .status <<<"$output" | sort | uniq -c | tr -s ' \n' ' ')" = " 18 error 3 ready " ]
  jq -es '.[17].id == "good" and .[17].status == "ready" and .[20].id == "end" and .[15].status == "ready"' <<<"$output"
}
