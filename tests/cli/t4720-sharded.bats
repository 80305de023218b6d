#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Partitioned tables through the real tools: where their rows lie, lookups and updates of rows, and what moves for them.

load coordinate
setup() {
  coordinate_setup
  PROXY=
}
teardown() {
  [ -z "$PROXY" ] || kill "$PROXY" 2>/dev/null || true
  coordinate_teardown
}

# A table of 12 rows of 2, [0, 0.5], [1, 1.5] and so on; functions of four numbers of rows.
table_program() { # PARTITIONER
  cat >look.mlir <<'MLIR'
module @look {
  func.func public @main(%rows: tensor<4x2xf32> loc("rows")) -> tensor<4x2xf32> {
    return %rows : tensor<4x2xf32>
  }
}
MLIR
  cat >look2.mlir <<'MLIR'
module @look2 {
  func.func public @main(%rows: tensor<2x2x2xf32> loc("rows")) -> tensor<2x2x2xf32> {
    return %rows : tensor<2x2x2xf32>
  }
}
MLIR
  cat >pair.mlir <<'MLIR'
module @pair {
  func.func public @main(%ids: tensor<4xi32> loc("ids"), %rows: tensor<4x2xf32> loc("rows")) -> (tensor<4xi32>, tensor<4x2xf32>) {
    return %ids, %rows : tensor<4xi32>, tensor<4x2xf32>
  }
}
MLIR
  cat >whole.mlir <<'MLIR'
module @whole {
  func.func public @main(%table: tensor<12x2xf32> loc("table")) -> (tensor<12x2xf32>, tensor<12x2xf32>) {
    %twice = stablehlo.add %table, %table : tensor<12x2xf32>
    return %table, %twice : tensor<12x2xf32>, tensor<12x2xf32>
  }
}
MLIR
  jq -n --argjson partitioner "$1" '{v: 1,
    variables: {first: {shape: [], init: {zeros: {}}},
                table: {shape: [12, 2], init: {value: [range(12) | [., . + 0.5]]}, partitioner: $partitioner}},
    optimizer: {sgd: {learning_rate: 0.5}},
    functions: {
      look: {module: "look.mlir", inputs: [{lookup: "table", ids: {arg: 0}}], outputs: [{result: 0}]},
      look2: {module: "look2.mlir", inputs: [{lookup: "table", ids: {kwarg: "ids"}}], outputs: [{result: 0}]},
      learn: {module: "look.mlir", inputs: [{lookup: "table", ids: {arg: 0}}], outputs: [{gradient: "table", ids: {arg: 0}}]},
      push: {module: "pair.mlir", inputs: [{arg: 0}, {arg: 1}], outputs: [{gradient: "table", part: "indices"}, {gradient: "table", part: "values"}]},
      assign: {module: "pair.mlir", inputs: [{arg: 0}, {arg: 1}], outputs: [{assign: "table", part: "indices"}, {assign: "table", part: "values"}]},
      add: {module: "pair.mlir", inputs: [{arg: 0}, {arg: 1}], outputs: [{assign_add: "table", part: "indices"}, {assign_add: "table", part: "values"}]},
      subtract: {module: "pair.mlir", inputs: [{arg: 0}, {arg: 1}], outputs: [{assign_sub: "table", part: "indices"}, {assign_sub: "table", part: "values"}]},
      double: {module: "whole.mlir", inputs: [{variable: "table"}], outputs: [{result: 0}, {assign: "table"}], returns: ["table"]}}} |
    if $partitioner == null then del(.variables.table.partitioner) else . end' >program.json
}

# The lines on stdin as closures, one after the other, on the cluster of spec.json.
closures() {
  jq -c 'if .op == "schedule" then ., {op: "join"} else . end' >lines.jsonl
  run --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --keep-servers --ordered --keep-going --closures lines.jsonl
}
value_of() { jq -c --arg id "$1" 'select(.id == $id) | .value' <<<"$output"; }
error_of() { jq -r --arg id "$1" 'select(.id == $id) | .error | .code + ": " + .message' <<<"$output"; }

@test "sharded: each partitioner cuts the table as stated, and it is read, looked up and updated as one" {
  serve --jobs worker=1,ps=3
  check() { # PARTITIONER "VARIABLES BYTES" OF EVERY PS, WITH 4 BYTES OF 'first' ON ps:0
    table_program "$1"
    closures <<'LINES'
{"op": "read", "variable": "table", "id": "all"}
{"op": "schedule", "function": "look", "args": [[11, 0, 5, 0]], "id": "look"}
{"op": "schedule", "function": "look2", "kwargs": {"ids": [[1, 8], [8, 3]]}, "id": "look2"}
{"op": "schedule", "function": "double", "id": "double"}
{"op": "schedule", "function": "learn", "args": [[11, 0, 11, 6]], "id": "learn"}
{"op": "read", "variable": "table", "id": "learned"}
{"op": "assign", "variable": "table", "value": [[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[1,1],[2,2]]}
{"op": "schedule", "function": "look", "args": [[10, 11, 0, 4]], "id": "assigned"}
LINES
    echo "$stderr"
    [ "$status" = 0 ]
    [ "$(value_of all)" = "$(jq -nc '[range(12) | [., . + 0.5]]')" ]
    [ "$(value_of look)" = '[[11,11.5],[0,0.5],[5,5.5],[0,0.5]]' ]
    [ "$(value_of look2)" = '[[[1,1.5],[8,8.5]],[[8,8.5],[3,3.5]]]' ]
    # Its value before and after.
    [ "$(value_of double)" = "$(jq -nc '[range(12) | [., . + 0.5]] | [., map(map(. * 2))]')" ]
    # The gradient of a row is the row: half of it is taken away for each occurrence, so nothing is left of row 11.
    [ "$(value_of learned)" = "$(jq -nc '[range(12) | [2 * ., 2 * . + 1]] | .[0] = [0, 0.5] | .[6] = [6, 6.5] | .[11] = [0, 0]')" ]
    [ "$(value_of assigned)" = '[[1,1],[2,2],[1,1],[1,1]]' ]
    run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json --json
    found=$(jq -r '.tasks[] | select(.role == "ps") | "\(.variables) \(.variable_bytes)"' <<<"$output" | paste -sd,)
    [ "$found" = "$2" ] || { echo "$1: $found, not $2"; false; }
  }
  check '{"fixed_shards": {"num_shards": 3}}' "2 36,1 32,1 32"
  check '{"fixed_shards": {"num_shards": 5}}' "2 20,2 40,2 40"                       # 3, 3, 2, 2 and 2 rows, from ps:1 on
  check '{"fixed_shards": {"num_shards": 40}}' "5 36,4 32,4 32"                      # no more shards than rows
  check '{"min_size": {"min_shard_bytes": 48, "max_shards": 3}}' "1 4,1 48,1 48"
  check '{"min_size": {"min_shard_bytes": 1000, "max_shards": 3}}' "1 4,1 96,0 0"
  check '{"max_size": {"max_shard_bytes": 24}}' "2 28,2 48,1 24"                     # 3 rows each
  check '{"max_size": {"max_shard_bytes": 24, "max_shards": 2}}' "1 4,1 48,1 48"
  check null "1 4,1 96,0 0"
}

@test "sharded: initial values are the same however a table is cut" {
  python3 - <<'PY'
import json, struct
text = str({"descr": "<f4", "fortran_order": False, "shape": (11, 4)}).ljust(117) + "\n"
with open("table.npy", "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack("<44f", *range(44)))
kinds = {name: {name: {"seed": 7}} for name in (
    "uniform", "normal", "truncated_normal", "glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform",
    "lecun_normal", "orthogonal")}
kinds |= {"variance_scaling": {"variance_scaling": {"scale": 3, "mode": "fan_avg", "seed": 7}}, "identity": {"identity": {"gain": 2}}, "npy": {"npy": {"path": "table.npy"}}, "value": {"value": [[i, 2, 3, 4] for i in range(11)]}}
variables, lines = {}, []
for name, init in kinds.items():
    for shards in (1, 2, 5, 11):
        variables[f"{name}-{shards}"] = {"shape": [11, 4], "init": init, "partitioner": {"fixed_shards": {"num_shards": shards}}}
        lines.append({"op": "read", "variable": f"{name}-{shards}", "id": f"{name}-{shards}"})
json.dump({"v": 1, "variables": variables}, open("program.json", "w"))
open("lines.jsonl", "w").writelines(json.dumps(line) + "\n" for line in lines)
PY
  run -0 --separate-stderr timeout 60 tfd-serve --jobs worker=1,ps=3 -- tfd-coordinate -q program.json --ordered --closures lines.jsonl
  jq -es 'length == 14 * 4 and all(.[]; .value | flatten | length == 44) and
    all(group_by(.id | split("-")[0])[]; map(.value) | unique | length == 1) and
    (map(.value) | unique | length == 14)' <<<"$output"
  [ "$(jq -c 'select(.id == "npy-5").value[10]' <<<"$output")" = '[40,41,42,43]' ]
}

@test "sharded: rows that are named twice add up, whatever the update" {
  table_program '{"fixed_shards": {"num_shards": 3}}'
  serve --jobs worker=2,ps=3
  closures <<'LINES'
{"op": "schedule", "function": "assign", "args": [[0, 4, 8, 11], [[10, 10], [20, 20], [30, 30], [40, 40]]]}
{"op": "schedule", "function": "push", "args": [[0, 8, 0, 0], [[2, 4], [2, 4], [2, 4], [2, 4]]]}
{"op": "schedule", "function": "look", "args": [[0, 4, 8, 11]], "id": "pushed"}
{"op": "schedule", "function": "add", "args": [[4, 11, 4, 4], [[1, 2], [1, 2], [1, 2], [1, 2]]]}
{"op": "schedule", "function": "subtract", "args": [[11, 11, 11, 11], [[1, 2], [1, 2], [1, 2], [1, 2]]]}
{"op": "schedule", "function": "look", "args": [[0, 4, 8, 11]], "id": "added"}
{"op": "read", "variable": "table", "id": "all"}
LINES
  [ "$status" = 0 ]
  [ "$(value_of pushed)" = '[[7,4],[20,20],[29,28],[40,40]]' ]
  [ "$(value_of added)" = '[[7,4],[23,26],[29,28],[37,34]]' ]
  [ "$(value_of all)" = "$(jq -nc '[range(12) | [., . + 0.5]] | .[0] = [7, 4] | .[4] = [23, 26] | .[8] = [29, 28] | .[11] = [37, 34]')" ]
}

@test "sharded: a number that is no row is an error with table, number and rows, and nothing changes" {
  table_program '{"fixed_shards": {"num_shards": 3}}'
  serve --jobs worker=1,ps=3
  closures <<'LINES'
{"op": "schedule", "function": "look", "args": [[0, 12, 1, 2]], "id": "beyond"}
{"op": "schedule", "function": "look", "args": [[0, 1, -1, 2]], "id": "below"}
{"op": "schedule", "function": "learn", "args": [[3, 4, 5, 2000000000]], "id": "learn"}
{"op": "schedule", "function": "push", "args": [[0, 4, 8, 12], [[1, 1], [1, 1], [1, 1], [1, 1]]], "id": "push"}
{"op": "schedule", "function": "add", "args": [[0, 4, 8, -5], [[1, 1], [1, 1], [1, 1], [1, 1]]], "id": "add"}
{"op": "schedule", "function": "look", "args": [[0, 1.5, 1, 2]], "id": "fraction"}
{"op": "assign", "variable": "table", "value": [[1, 2]], "id": "shape"}
{"op": "read", "variable": "tabel", "id": "name"}
{"op": "read", "variable": "table", "id": "all"}
{"op": "schedule", "function": "look", "args": [[0, 11, 1, 2]], "id": "well"}
LINES
  [ "$status" = 1 ]
  [ "$(error_of beyond)" = "INVALID_ARGUMENT: look: 'table': no row 12: there are 12" ]
  [ "$(error_of below)" = "INVALID_ARGUMENT: look: 'table': no row -1: there are 12" ]
  [ "$(error_of learn)" = "INVALID_ARGUMENT: learn: 'table': no row 2000000000: there are 12" ]
  [ "$(error_of push)" = "INVALID_ARGUMENT: push: 'table': no row 12: there are 12" ]
  [ "$(error_of add)" = "INVALID_ARGUMENT: add: 'table': no row -5: there are 12" ]
  [[ $(error_of fraction) == INVALID_ARGUMENT:*1.5* ]]
  [ "$(error_of shape)" = "INVALID_ARGUMENT: table: a list of 1 where shape [12, 2] takes 12" ]
  [[ $(error_of name) == NOT_FOUND:*"did you mean 'table'?" ]]
  [ "$(value_of all)" = "$(jq -nc '[range(12) | [., . + 0.5]]')" ]
  [ "$(value_of well)" = '[[0,0.5],[11,11.5],[1,1.5],[2,2.5]]' ]
}

@test "sharded: rows of a table are read by their numbers or by a slice, from all its shards" {
  table_program '{"fixed_shards": {"num_shards": 5}}'
  serve --jobs worker=1,ps=3
  closures <<'LINES'
{"op": "read", "variable": "table", "rows": [11, 0, 5, 11], "id": "some"}
{"op": "read", "variable": "table", "rows": "2:4", "id": "slice"}
{"op": "read", "variable": "table", "rows": "::-5", "id": "back"}
{"op": "read", "variable": "table", "rows": [], "id": "none"}
{"op": "read", "variable": "table", "rows": ":", "id": "all"}
{"op": "read", "variable": "table", "rows": [1, 12], "id": "beyond"}
{"op": "read", "variable": "table", "rows": [-1], "id": "below"}
{"op": "read", "variable": "table", "rows": 3, "id": "number"}
{"op": "read", "variable": "table", "rows": "3", "id": "text"}
{"op": "read", "variable": "table", "rows": [1.5], "id": "fraction"}
{"op": "read", "variable": "first", "rows": [0], "id": "scalar"}
{"op": "read", "variable": "tables", "rows": [0], "id": "name"}
LINES
  [ "$status" = 1 ]
  [ "$(value_of some)" = '[[11,11.5],[0,0.5],[5,5.5],[11,11.5]]' ]
  [ "$(value_of slice)" = '[[2,2.5],[3,3.5]]' ]
  [ "$(value_of back)" = '[[11,11.5],[6,6.5],[1,1.5]]' ]
  [ "$(value_of none)" = '{"data":[],"dtype":"f32","shape":[0,2]}' ]
  [ "$(value_of all)" = "$(jq -nc '[range(12) | [., . + 0.5]]')" ]
  [ "$(error_of beyond)" = "INVALID_ARGUMENT: 'table': no row 12: there are 12" ]
  [ "$(error_of below)" = "INVALID_ARGUMENT: 'table': no row -1: there are 12" ]
  [ "$(error_of number)" = "INVALID_ARGUMENT: read: 'rows' must be a list of numbers or a slice such as \"10:20\"" ]
  [ "$(error_of text)" = "INVALID_ARGUMENT: read: 'rows': '3' is not a slice (e.g. 10:20, :-1 or ::2)" ]
  [[ $(error_of fraction) == "INVALID_ARGUMENT: read: 'rows': "*1.5* ]]
  [ "$(error_of scalar)" = "INVALID_ARGUMENT: 'first' is a scalar: it has no rows" ]
  [ "$(error_of name)" = "NOT_FOUND: no variable 'tables', did you mean 'table'?" ]
}

@test "sharded: a training whose data have a number that is no row ends with an error that says so" {
  table_program '{"fixed_shards": {"num_shards": 3}}'
  jq '.datasets = {ids: [{range: 16}, {batch: 4}]} | .functions.learn.inputs[0].ids = {dataset: "ids"} |
    .functions.learn.outputs[0].ids = {dataset: "ids"} | .train = {function: "learn", steps: 4}' program.json >training.json
  serve --jobs worker=1,ps=3
  run -65 --separate-stderr timeout 60 tfd-coordinate training.json --cluster spec.json --keep-servers
  [ "$(jq -c 'select(.event == "end") | [.reason, .step, .error.code]' <<<"$output")" = '["error",3,"INVALID_ARGUMENT"]' ]
  [[ $stderr == *"worker:0: learn: 'table': no row 12: there are 12" ]]
}

@test "sharded: random updates of rows of random tables are those of tables in one piece" {
  cat >random.py <<'PY'
import json, random, sys
seed = int(sys.argv[1])
draw = random.Random(seed)
rows, tables, model, lines, expected = 4, {}, {}, [], {}
for i in range(3):
    height, width, shards = draw.randint(1, 40), draw.randint(1, 5), draw.randint(1, 9)
    kind = draw.choice([{"fixed_shards": {"num_shards": shards}}, {"max_size": {"max_shard_bytes": draw.randint(4 * width, 200)}},
                        {"min_size": {"min_shard_bytes": draw.randint(1, 60), "max_shards": shards}}])
    model[f"t{i}"] = [[draw.randint(-50, 50) for _ in range(width)] for _ in range(height)]
    tables[f"t{i}"] = {"shape": [height, width], "init": {"value": [list(row) for row in model[f"t{i}"]]}, "partitioner": kind}
functions = {}
for name, table in model.items():
    kind = f"{rows}x{len(table[0])}xf32"
    with open(f"{name}.mlir", "w") as out:
        out.write(f"module @{name} {{\n  func.func public @main(%i: tensor<{rows}xi64>, %x: tensor<{kind}>, %y: tensor<{kind}>) -> "
                  f"(tensor<{rows}xi64>, tensor<{kind}>, tensor<{kind}>) {{\n"
                  f"    return %i, %x, %y : tensor<{rows}xi64>, tensor<{kind}>, tensor<{kind}>\n  }}\n}}\n")
    for op in ("gradient", "assign", "assign_add", "assign_sub"):
        functions[f"{op} {name}"] = {
            "module": f"{name}.mlir", "inputs": [{"arg": 0}, {"arg": 1}, {"lookup": name, "ids": {"arg": 0}}],
            "outputs": [{op: name, "part": "indices"}, {op: name, "part": "values"}, {"result": 0}]}
def update(op, table, ids, values):
    before = [list(table[i]) for i in ids]
    for i, value in zip(ids, values):
        for k, x in enumerate(value):
            table[i][k] = {"assign": x, "assign_add": table[i][k] + x, "assign_sub": table[i][k] - x, "gradient": table[i][k] - x}[op]
    return before
for n in range(150):
    name = draw.choice(list(model))
    table = model[name]
    if draw.random() < 0.1:
        lines.append({"op": "read", "variable": name, "id": n})
        expected[n] = [list(row) for row in table]
    elif draw.random() < 0.1:
        table[:] = [[draw.randint(-50, 50) for _ in row] for row in table]
        lines.append({"op": "assign", "variable": name, "value": [list(row) for row in table]})
    else:
        op = draw.choice(["gradient", "assign", "assign_add", "assign_sub"])
        ids = [draw.randrange(len(table)) for _ in range(rows)]
        values = [[draw.randint(-50, 50) for _ in table[0]] for _ in ids]
        lines += [{"op": "schedule", "function": f"{op} {name}", "args": [ids, values], "id": n}, {"op": "join"}]
        expected[n] = update(op, table, ids, values)
for name in model:
    lines.append({"op": "read", "variable": name, "id": name})
    expected[name] = model[name]
json.dump({"v": 1, "variables": tables, "optimizer": {"sgd": {"learning_rate": 1}}, "functions": functions}, open("program.json", "w"))
json.dump(expected, open("expected.json", "w"))
open("lines.jsonl", "w").writelines(json.dumps(line) + "\n" for line in lines)
PY
  seed=$RANDOM
  for ((servers = 1; servers <= 4; ++servers)); do
    echo "# seed $((seed + servers)), $servers parameter servers"
    python3 random.py $((seed + servers))
    run -0 --separate-stderr timeout 60 tfd-serve --jobs "worker=2,ps=$servers" -- tfd-coordinate -q program.json --ordered --closures lines.jsonl
    jq -s '[.[] | select(.id != null and has("value")) | {(.id | tostring): .value}] | add' <<<"$output" >found.json
    jq -en --slurpfile found found.json --slurpfile expected expected.json '$found == $expected' ||
      { jq -c .variables program.json; diff <(jq . expected.json) <(jq . found.json) | head -n 40; false; }
  done
}

@test "sharded: every update of rows is applied once to every shard, though workers are killed" {
  cat >add.mlir <<'MLIR'
module @add {
  func.func public @main(%ids: tensor<8xi32> loc("ids"), %rows: tensor<8xf32> loc("rows")) -> (tensor<8xi32>, tensor<8xf32>) {
    %one = stablehlo.constant dense<1.0> : tensor<8xf32>
    return %ids, %one : tensor<8xi32>, tensor<8xf32>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1,
 "variables": {"counts": {"shape": [100], "init": {"zeros": {}}, "partitioner": {"fixed_shards": {"num_shards": 7}}}},
 "functions": {"add": {"module": "add.mlir", "inputs": [{"arg": 0}, {"lookup": "counts", "ids": {"arg": 0}}],
                       "outputs": [{"assign_add": "counts", "part": "indices"}, {"assign_add": "counts", "part": "values"}]}}}
JSON
  seed=$RANDOM
  echo "# seed $seed"
  python3 - $seed >lines.jsonl <<'PY'
import json, random, sys
draw, counts = random.Random(int(sys.argv[1])), [0] * 100
for n in range(4000):
    ids = [draw.randrange(100) for _ in range(8)]
    for i in ids:
        counts[i] += 1
    print(json.dumps({"op": "schedule", "function": "add", "args": [ids], "id": n}))
print('{"op": "join"}')
print('{"op": "read", "variable": "counts", "id": "counts"}')
json.dump(counts, open("expected.json", "w"))
PY
  serve --jobs worker=3,ps=3
  coordinate program.json --cluster spec.json --closures lines.jsonl
  local killed=0
  for worker in 1 2 0; do
    answers $((300 + 900 * killed))
    kill -KILL "$(task_pid "worker:$worker")"
    killed=$((killed + 1))
  done
  answer '"counts"'
  jq -c .value <<<"$EVENT" >found.json
  jq -en --slurpfile found found.json --slurpfile expected expected.json '$found == $expected' || { diff expected.json found.json; false; }
  coordinator_ends 0
}

# Stands before every parameter server of spec.json and counts what goes in and out: counted.json is the cluster with it.
# A line on its stdin has it print the bytes so far.
counting_proxy() {
  cat >proxy.py <<'PY'
import json, selectors, socket, sys
spec = json.load(open("spec.json"))
choose, total, peers = selectors.DefaultSelector(), 0, {}

def listen(address):
    door = socket.create_server(("127.0.0.1", 0))
    choose.register(door, selectors.EVENT_READ, address)
    return "127.0.0.1:%d" % door.getsockname()[1]

spec["cluster"]["ps"] = [listen(address) for address in spec["cluster"]["ps"]]
json.dump(spec, open("counted.json", "w"))
print("ready", flush=True)
choose.register(sys.stdin, selectors.EVENT_READ)
while True:
    for key, _ in choose.select():
        one = key.fileobj
        if one is sys.stdin:
            if not sys.stdin.readline():
                sys.exit()
            print(total, flush=True)
        elif key.data is not None:  # a door
            inside, (host, port) = one.accept()[0], key.data.split(":")
            outside = socket.create_connection((host, int(port)))
            peers[inside], peers[outside] = outside, inside
            for end in (inside, outside):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                choose.register(end, selectors.EVENT_READ)
        elif one in peers:
            try:
                data = one.recv(1 << 20)
                peers[one].sendall(data)
            except OSError:
                data = b""
            total += len(data)
            if not data:
                for end in (one, peers[one]):
                    del peers[end]
                    choose.unregister(end)
                    end.close()
PY
  mkfifo ask told
  exec 4<>ask 9<>told
  python3 proxy.py <ask >told 5>&- 6>&- 7>&- 8>&- 4>&- 9>&- &
  PROXY=$!
  read -r -t 20 -u 9 REPLY && [ "$REPLY" = ready ]
}
counted() { echo >&4 && read -r -t 20 -u 9 REPLY && echo "$REPLY"; }

@test "sharded: of a table of eight megabytes only the rows used move" {
  cat >step.mlir <<'MLIR'
module @step {
  func.func public @main(%rows: tensor<8x64xf32> loc("rows")) -> (tensor<f32>, tensor<8x64xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x64xf32>, tensor<f32>) -> tensor<f32>
    return %sum, %rows : tensor<f32>, tensor<8x64xf32>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1,
 "variables": {"table": {"shape": [32768, 64], "init": {"ones": {}}, "partitioner": {"fixed_shards": {"num_shards": 3}}}},
 "optimizer": {"adam": {"learning_rate": 0.01}},
 "datasets": {"ids": [{"range": 32768}, {"shuffle": {"buffer": 32768, "seed": 3}}, {"repeat": {}}, {"batch": {"size": 8, "drop_remainder": true}}]},
 "functions": {"step": {"module": "step.mlir", "inputs": [{"lookup": "table", "ids": {"dataset": "ids"}}],
                        "outputs": [{"metric": "sum"}, {"gradient": "table", "ids": {"dataset": "ids"}}]}},
 "train": {"function": "step", "steps": 1, "log_every": 100}}
JSON
  export TFD_TRANSPORT=tcp # bytes through memory aren't counted
  serve --jobs worker=1,ps=3
  counting_proxy
  train() { # STEPS
    run -0 --separate-stderr timeout 200 tfd-coordinate -q program.json --cluster counted.json --keep-servers --set "train.steps=$1"
    [ "$(jq -c 'select(.event == "end").step' <<<"$output")" = "$1" ]
  }
  train 1
  first=$(counted)
  train 101
  second=$(counted)
  # A hundred steps more: eight rows of 256 bytes and their numbers, there and back. The table is 8 MiB.
  echo "# $first, then $((second - first)) bytes"
  moved=$((second - 2 * first)) rows=$((100 * 2 * 8 * (256 + 8)))
  [ "$moved" -gt "$rows" ]
  [ "$moved" -lt $((2 * rows)) ]
  # Adam isn't told to be lazy: the moments of the other rows decay too, where they lie, beside the table.
  run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json --json
  [ "$(jq -c '[.tasks[] | select(.role == "ps").variable_bytes] | add' <<<"$output")" = $((3 * 32768 * 64 * 4)) ]
}

@test "sharded: a table of bf16 and a scalar of f16 learn with Adam, and go on from a checkpoint" {
  cat >step.mlir <<'MLIR'
module @step {
  func.func public @main(%rows: tensor<4x2xbf16> loc("rows"), %scale: tensor<f16> loc("scale"), %g: tensor<4x2xbf16> loc("g")) -> (tensor<4x2xbf16>, tensor<4x2xbf16>, tensor<f16>) {
    %one = stablehlo.constant dense<1.0> : tensor<f16>
    return %rows, %g, %one : tensor<4x2xbf16>, tensor<4x2xbf16>, tensor<f16>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1,
 "variables": {"table": {"shape": [6, 2], "dtype": "bf16", "init": {"ones": {}}, "partitioner": {"fixed_shards": {"num_shards": 3}}},
               "scale": {"shape": [], "dtype": "f16", "init": {"ones": {}}}},
 "optimizer": {"adam": {"learning_rate": 0.125}},
 "functions": {"step": {"module": "step.mlir", "inputs": [{"lookup": "table", "ids": {"arg": 0}}, {"variable": "scale"}, {"arg": 1}],
                        "outputs": [{"result": 0}, {"gradient": "table", "ids": {"arg": 0}}, {"gradient": "scale"}]}}}
JSON
  # Adam's first step is the learning rate, in the direction of the gradient: row 0 gets 1 + 1 and 2 - 2, row 3 zeros.
  serve --jobs worker=1,ps=3
  closures <<'LINES'
{"op": "schedule", "function": "step", "args": [[0, 5, 0, 3], [[1, 2], [-1, 2], [1, -2], [0, 0]]], "id": "one"}
{"op": "read", "variable": "table", "id": "table"}
{"op": "read", "variable": "scale", "id": "scale"}
{"op": "save", "path": "ck"}
{"op": "schedule", "function": "step", "args": [[0, 5, 0, 3], [[1, 2], [-1, 2], [1, -2], [0, 0]]]}
{"op": "read", "variable": "table", "id": "twice"}
LINES
  echo "$stderr"
  [ "$status" = 0 ]
  [ "$(value_of one)" = '[[1,1],[1,1],[1,1],[1,1]]' ]
  [ "$(value_of table)" = '[[0.875,1],[1,1],[1,1],[1,1],[1,1],[1.125,0.875]]' ]
  [ "$(value_of scale)" = 0.875 ]
  twice=$(value_of twice)
  [ "$twice" != "$(value_of table)" ]
  # Another cluster goes on with the same moments.
  rm spec.json
  kill -TERM "$SERVE"
  serve_ends 0
  serve --jobs worker=1,ps=2
  closures <<'LINES'
{"op": "restore", "path": "ck"}
{"op": "schedule", "function": "step", "args": [[0, 5, 0, 3], [[1, 2], [-1, 2], [1, -2], [0, 0]]]}
{"op": "read", "variable": "table", "id": "twice"}
LINES
  [ "$status" = 0 ]
  [ "$(value_of twice)" = "$twice" ]
}
