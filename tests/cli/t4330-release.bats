#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-coordinate --closures: what stays of values in a pipe that goes on for long.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# A closure's value is 64 KiB of zeros, and few characters.
large_program() {
  cat >"$T/zeros.mlir" <<'MLIR'
module @zeros {
  func.func public @main() -> tensor<8192xi64> {
    %0 = stablehlo.constant dense<0> : tensor<8192xi64>
    return %0 : tensor<8192xi64>
  }
}
MLIR
  cat >"$T/program.json" <<'JSON'
{"v": 1, "variables": {"v": {"shape": [], "dtype": "f32", "init": {"zeros": {}}}},
 "functions": {"zeros": {"module": "zeros.mlir", "inputs": [], "outputs": [{"result": 0}]}}}
JSON
}

# Runs $1 rounds of 500 closures with ids, and the line that $2 (Python) makes of a round's ids; then fetches the first one of
# them, and sets $peak to the most memory that the coordinator had, in KiB. The answer of that is ${lines[0]}.
peak_of() { # ROUNDS LINE OPTIONS…
  run -0 timeout 300 python3 - "$@" <<'PY'
import json, subprocess, sys, threading
rounds, make_line, options = int(sys.argv[1]), eval("lambda ids: " + sys.argv[2]), sys.argv[3:]
tool = subprocess.Popen(["tfd-coordinate", "-q", "program.json", "--cluster", "spec.json", "--closures", "-", *options],
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
answered = threading.Semaphore(4)  # rounds
def write():
    put = lambda line: tool.stdin.write(json.dumps(line).encode() + b"\n")
    for round in range(rounds):
        answered.acquire()
        ids = [f"{round}-{i}" for i in range(500)]
        for id in ids:
            put({"op": "schedule", "function": "zeros", "id": id})
        put({"op": "join"})
        put(make_line(ids))
        tool.stdin.flush()
    put({"op": "fetch", "of": {"remote": "0-0"}, "id": "first"})
    put({"op": "read", "variable": "v", "id": "last"})
    tool.stdin.flush()
threading.Thread(target=write).start()
ready = 0
for line in tool.stdout:
    ready += b'"status":"ready"' in line[:60]
    if line.startswith(b'{"line":'):
        answered.release()
    if line.startswith(b'{"id":"first"'):
        print(line.decode(), end="")
    if line.startswith(b'{"id":"last"'):
        break
print(ready)
print(next(l.split()[1] for l in open(f"/proc/{tool.pid}/status") if l.startswith("VmHWM")))
tool.stdin.close()
tool.wait()
PY
  peak=${lines[-1]}
  echo "# $peak KiB"
}

@test "release: the values of many closures with ids take no memory once they are released" {
  large_program
  serve --jobs worker=2,ps=1
  peak_of 10 '{"op": "release", "of": [{"remote": id} for id in ids]}'
  [[ ${lines[0]} == *'"error"'*'the value of \"0-0\" was released by line 502"'* ]]
  [ "${lines[1]}" = $((10 * 502 + 1)) ]
  [ "$peak" -lt 250000 ] || [ -n "${TFD_SANITIZED:-}" ] # 5000 values are 320000
}

@test "release: with --forget none takes memory once it is printed, nor do many whose answers are waiting" {
  large_program
  serve --jobs worker=2,ps=1
  peak_of 32 '{"op": "done"}' --forget
  [[ ${lines[0]} == *'"error"'*'was released: --forget keeps none beyond its answer"'* ]]
  [ "${lines[1]}" = $((32 * 502 + 1)) ]
  [ "$peak" -lt 450000 ] || [ -n "${TFD_SANITIZED:-}" ] # 16000 values are 1024000
}

@test "release: --forget with results in files; a line that was released is an error, the run goes on" {
  large_program
  serve --jobs worker=1,ps=1
  cat >lines.jsonl <<'JSON'
{"op": "schedule", "function": "zeros", "id": "a"}
{"op": "join"}
{"op": "fetch", "of": {"remote": "a"}, "id": "f"}
{"op": "release", "of": {"remote": "a"}, "id": "r"}
JSON
  run -1 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --ordered --closures lines.jsonl --forget --inline-limit 1KiB --results out
  [ "${lines[0]}" = '{"id":"a","status":"ready","value":{"npy":"out/a.npy"}}' ]
  [[ ${lines[2]} == '{"id":"f","status":"error","error":{"code":"FAILED_PRECONDITION",'* ]]
  [ "${lines[3]}" = '{"id":"r","status":"ready"}' ]
  [ "$(wc -c <out/a.npy)" = $((65536 + 128)) ]
}
