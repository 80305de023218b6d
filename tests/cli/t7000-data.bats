#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-data: a dataset's elements, their number, their rate; files it writes; errors of bad data.

load until

setup() {
  cd "$BATS_TEST_TMPDIR" || exit
  EXAMPLES=$BATS_TEST_DIRNAME/../../examples
  printf '1,2,0\n3,4,1\n5,6,0\n' >rows.csv
  cat >rows.json <<'JSON'
[{"csv": {"path": "rows.csv", "fields": {"x": {"columns": [0, 2]}, "label": {"columns": 2, "dtype": "s32"}}}}]
JSON
}

# Its stderr when it ends with this code.
says() { # CODE COMMAND…
  local code=$1
  shift
  run "-$code" --separate-stderr "$@"
  [ -z "$output" ]
  [ "${#stderr_lines[@]}" = 1 ]
}

@test "data: the element spec, the cardinality and the first elements" {
  run -0 --separate-stderr tfd-data rows.json --take 2
  [ -z "$stderr" ]
  [ "$(jq -c . <<<"$output")" = '{"spec":{"x":{"dtype":"f32","shape":[2]},"label":{"dtype":"s32","shape":[]}},"cardinality":"unknown","elements":[{"x":[1,2],"label":0},{"x":[3,4],"label":1}]}' ]
  run -0 tfd-data - <<<'[{"range": 10}, {"repeat": {}}, {"batch": 4}]'
  [ "$(jq -c '[.cardinality, .elements]' <<<"$output")" = '["infinite",[{"value":[0,1,2,3]},{"value":[4,5,6,7]},{"value":[8,9,0,1]}]]' ]
  printf 'a line\n\xff\n' >a.txt
  run -0 tfd-data - <<<'[{"text": {"path": "a.txt"}}]'
  [ "$(jq -c '.elements' <<<"$output")" = '[{"value":"a line"},{"value":[255]}]' ]
  run -0 tfd-data - --take 0 <<<'[{"range": 10}]'
  [ "$(jq -c '[.cardinality, .elements]' <<<"$output")" = '[10,[]]' ]
}

@test "data: a dataset of a program: the one that is named, or the only one" {
  run -0 tfd-data "$EXAMPLES/digits/program.json" test --take 1
  [ "$(jq -c '[.spec.image.dtype, (.elements | length)]' <<<"$output")" = '["f32",1]' ]
  run -0 tfd-data "$EXAMPLES/linear/program.json" --take 1
  says 65 tfd-data "$EXAMPLES/digits/program.json" tets
  [[ $stderr == *"no dataset 'tets', did you mean 'test'?"* ]]
  says 64 tfd-data "$EXAMPLES/digits/program.json"
  [[ $stderr == *"which of its datasets: "* ]]
  says 64 tfd-data rows.json train
}

@test "data: maps and filters call the program's functions, modules and commands, and no others are compiled" {
  cat >double.mlir <<'MLIR'
module @double {
  func.func public @main(%arg0: tensor<i64>) -> tensor<i64> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<i64>
    return %0 : tensor<i64>
  }
}
MLIR
  sed 's/stablehlo.add/stablehlo.nothing/' double.mlir >wrong.mlir
  cat >program.json <<'JSON'
{"v": 1,
 "datasets": {"d": [{"range": 10}, {"filter": {"function": "even"}}, {"map": {"function": "double", "fields": ["y"]}}],
              "bad": [{"range": 10}, {"map": {"function": "picky", "fields": ["y"], "on_error": "skip"}}]},
 "functions": {
   "even": {"command": ["jq", "-c", "--unbuffered", ". % 2 == 0"], "keep": true,
            "arguments": [{"dtype": "s64", "shape": []}], "results": [{"dtype": "bool", "shape": []}],
            "inputs": [{"arg": 0}], "outputs": [{"result": 0}]},
   "picky": {"command": ["sh", "-c", "read x; [ $x != 3 ] && echo $x"],
             "arguments": [{"dtype": "s64", "shape": []}], "results": [{"dtype": "s64", "shape": []}],
             "inputs": [{"arg": 0}], "outputs": [{"result": 0}]},
   "double": {"module": "double.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]},
   "wrong": {"module": "wrong.mlir", "inputs": [{"arg": 0}], "outputs": [{"result": 0}]}}}
JSON
  run -0 --separate-stderr tfd-data program.json d --take 10
  [ "$(jq -c '[.cardinality, [.elements[].y]]' <<<"$output")" = '["unknown",[0,4,8,12,16]]' ]
  run -0 tfd-data program.json d --count
  [ "$output" = '{"elements":5}' ]
  run -0 --separate-stderr tfd-data program.json bad --count
  [ "$output" = '{"elements":9,"skipped":1}' ]
  [[ $stderr == *"1 error left out; the first: map 'picky': element 3: "* ]]
  says 78 tfd-data program.json bad --take 10 --set 'datasets.bad[1].map.on_error=fail'
  [[ $stderr == *"map 'picky': element 3: "* ]]
}

@test "data: --count" {
  run -0 --separate-stderr tfd-data rows.json --count
  [ "$output" = '{"elements":3}' ]
  run -0 tfd-data rows.json --count --take 2
  [ "$output" = '{"elements":2}' ]
  run -0 tfd-data - --count <<<'[{"range": 1000000000000}, {"batch": 10}]'
  [ "$output" = '{"elements":100000000000}' ]
  says 65 tfd-data - --count <<<'[{"range": 10}, {"repeat": {}}]'
  [ "$stderr" = "tfd-data: the dataset never ends: --count needs --take" ]
  # Where an endless dataset is one of several of files, whose sizes nobody knows: behind, among and beside others.
  local endless rows
  rows=$(jq -c '.[0]' rows.json)
  local more='{"csv": {"path": "rows.csv", "fields": {"y": {"columns": 0}}}}, {"repeat": {}}'
  for endless in "$rows, {\"concatenate\": [$rows, {\"repeat\": {}}]}" \
    "$rows, {\"interleave\": [[$rows], [$rows, {\"repeat\": {}}]]}" \
    "$rows, {\"repeat\": {}}, {\"zip\": [$more]}"; do
    says 65 tfd-data - --count <<<"[$endless]"
    [ "$stderr" = "tfd-data: the dataset never ends: --count needs --take" ]
  done
  run -0 tfd-data - --count <<<"[$rows, {\"zip\": [$more]}]"
  [ "$output" = '{"elements":3}' ]
  says 65 tfd-data - --write x.tfrecord <<<'[{"csv": {"path": "rows.csv", "fields": {"x": {"columns": 0}}}}, {"repeat": {}}]'
  [ "$stderr" = "tfd-data: the dataset never ends: --write needs --take" ]
  [ ! -e x.tfrecord ]
}

@test "data: --write, and what is read again is the same" {
  for file in a.tfrecord a.tfrecord.gz; do
    run -0 tfd-data rows.json --write "$file"
    [ "$output" = '{"elements":3}' ]
    tfd-data - --take 3 >again <<JSON
[{"tfrecord": {"path": "$file", "features": {"x": {"shape": [2]}, "label": {"dtype": "s32"}}}}]
JSON
    [ "$(jq -c .elements again)" = "$(tfd-data rows.json --take 3 | jq -c .elements)" ]
  done
  [ "$(head -c 2 a.tfrecord.gz | od -An -tx1)" = " 1f 8b" ]
  run -0 tfd-data - --write x.npy <<<'[{"csv": {"path": "rows.csv", "fields": {"x": {"columns": [0, 2]}}}}]'
  run -0 tfd-data - <<<'[{"npy": {"path": "x.npy", "field": "x"}}]'
  [ "$(jq -c '[.cardinality, .elements[2].x]' <<<"$output")" = '[3,[5,6]]' ]
  says 65 tfd-data rows.json --write rows.npy
  [[ $stderr == *"an .npy file has one array, but the elements have 2 fields" ]]
  says 64 tfd-data rows.json --write rows.csv
  [[ $stderr == *"the name must end in .tfrecord, .tfrecord.gz or .npy"* ]]
  says 64 tfd-data rows.json --write a.npy --count
  says 65 tfd-data rows.json --write nowhere/a.tfrecord
  [ "$(ls -d -- *.tfrecord* *.npy | LC_ALL=C sort | tr "\n" " ")" = "a.tfrecord a.tfrecord.gz x.npy " ]
}

@test "data: a cache that isn't whole goes with the process that writes it, however that ends" {
  python3 -c 'import os; os.open(".", os.O_TMPFILE | os.O_WRONLY)' 2>/dev/null || skip "a file system without unnamed files"
  echo '[{"command": {"argv": ["sh", "-c", "seq 3; exec sleep 1000"], "format": "text"}}, {"cache": {"path": "x.cache"}}]' >cached.json
  tfd-data cached.json --take 4 >/dev/null 3>&- &
  local pid=$!
  until_true sh -c "ls -l /proc/$pid/fd | grep -q deleted"
  kill -KILL "$pid"
  wait "$pid" || true
  run -1 compgen -G 'x.cache*'
}

@test "data: what a command prints, run where the pipeline is, and how it ends" {
  mkdir there
  echo '[{"command": {"argv": ["sh", "-c", "seq 1 2000; cat more; exit $(cat code)"], "format": "csv", "fields": {"x": {"columns": 0}}}}, {"batch": 500}]' >there/p.json
  echo 7 >there/more
  echo 0 >there/code
  run -0 --separate-stderr tfd-data there/p.json --take 5
  [ "$(jq -c '[.cardinality, (.elements | length), .elements[4].x]' <<<"$output")" = '["unknown",5,[7]]' ]
  run -0 tfd-data there/p.json --count
  [ "$output" = '{"elements":5}' ]
  echo 3 >there/code
  says 78 tfd-data there/p.json --count
  [ "$stderr" = "tfd-data: command 'sh' exited with 3" ]
  run -0 tfd-data - --take 2 <<<'[{"command": {"argv": ["yes"], "format": "text"}}]'
  [ "$(jq -c '[.elements[].value]' <<<"$output")" = '["y","y"]' ]
  says 65 tfd-data - <<<'[{"command": {"argv": ["yes"], "format": "lines"}}]'
  [[ $stderr == *'[0].command.format: must be "csv", "jsonl", "text" or "tfrecord"' ]]
}

@test "data: --bench" {
  run -0 --separate-stderr tfd-data rows.json --bench
  jq -e '.elements == 3 and .bytes == 36 and .seconds > 0 and .elements_per_second > 0 and .bytes_per_second > 0' <<<"$output"
  # A command that says nothing more, behind whatever waits for it.
  for behind in '{"skip": 0}' '{"prefetch": 2}'; do
    run -0 timeout 20 tfd-data - --bench --duration 100ms \
      <<<'[{"command": {"argv": ["sh", "-c", "echo 1; echo 2; exec sleep 1000"], "format": "csv", "fields": {"x": {"columns": 0}}}}, '"$behind]"
    jq -e '.elements == 2' <<<"$output"
  done
  run -0 tfd-data - --bench --duration 100ms <<<'[{"range": 10}, {"repeat": {}}]'
  jq -e '.elements > 0 and .seconds >= 0.1' <<<"$output"
  run -0 timeout 60 python3 "$BATS_TEST_DIRNAME/terminal.py" xterm tfd-data rows.json --bench --duration 100ms
  [[ $output == 'tfd-data: measuring for 100ms'* ]]
}

@test "data: bad rows end it with one line, or are counted and the first one told" {
  printf '1,2,0\n3,1\n5,6,x\n7,8,1\n' >rows.csv
  says 65 tfd-data rows.json --take 10
  [ "$stderr" = "tfd-data: rows.csv:2: 2 columns instead of 3" ]
  says 65 tfd-data rows.json --count
  jq '.[0].csv.on_error = "skip"' rows.json >skip.json
  run -0 --separate-stderr tfd-data skip.json --count
  [ "$output" = '{"elements":2,"skipped":2}' ]
  [[ $stderr == *"2 errors left out; the first: rows.csv:2: 2 columns instead of 3" ]]
  run -0 --separate-stderr tfd-data skip.json
  [ "$(jq -c '[.skipped, .elements[].label]' <<<"$output")" = '[2,0,1]' ]
}

@test "data: files that are cut off, empty, missing or a directory, and pipelines that are wrong" {
  seq 100000 | gzip >a.csv.gz
  truncate -s 1000 a.csv.gz
  : >empty.csv
  mkdir folder
  local csv='[{"csv": {"path": "%s", "fields": {"x": {"columns": 0}}}}]'
  # shellcheck disable=SC2059
  for file in a.csv.gz empty.csv nope.csv folder 'part-*.csv'; do printf "$csv" "$file" >"$file.json" 2>/dev/null || printf "$csv" "$file" >part.json; done
  says 65 tfd-data a.csv.gz.json --count
  [[ $stderr =~ ^"tfd-data: a.csv.gz is cut off after line "[0-9]+$ ]]
  says 65 tfd-data empty.csv.json
  [ "$stderr" = "tfd-data: empty.csv is empty" ]
  says 65 tfd-data nope.csv.json
  [ "$stderr" = "tfd-data: nope.csv.json: [0].csv.path: cannot open nope.csv: no such file or directory" ]
  says 65 tfd-data folder.json
  [[ $stderr == *"cannot read folder: a directory; all of its files are folder/*" ]]
  says 65 tfd-data 'part-*.csv.json'
  [[ $stderr == *"[0].csv.path: no file matches part-*.csv" ]]
  says 65 tfd-data - <<<'[{"range": 3}, {"bacth": 2}]'
  [ "$stderr" = "tfd-data: -: [1].bacth: unknown transformation, did you mean 'batch'?" ]
  says 65 tfd-data - <<<'[{"range": 3}'
  [[ $stderr == "tfd-data: -: not JSON: line 2, column 1: "* ]]
  says 65 tfd-data - <<<'[{"range": 3}, {"map": {"function": "f"}}]'
  [ "$stderr" = "tfd-data: -: [1].map: functions can't be called here" ]
  says 65 tfd-data - <<<'[{"range": 3}, {"map": {"function": "f", "fields": ["a", "a"]}}]'
  [ "$stderr" = "tfd-data: -: [1].map.fields: two are called 'a'" ]
  says 65 tfd-data nowhere.json
  says 64 tfd-data
}

@test "data: strings of csv, jsonl and tfrecord, in batches too" {
  printf 'name,x\n"a, ""b""",1\n plain ,2\n,3\n' >t.csv
  echo '[{"csv": {"path": "t.csv", "header": true, "fields": {"name": {"columns": 0, "dtype": "string"}, "x": {"columns": 1}}}}]' >csv.json
  run -0 tfd-data csv.json
  jq -e '.spec.name == {dtype: "string", shape: []} and [.elements[].name] == ["a, \"b\"", " plain ", ""]' <<<"$output"
  tfd-data csv.json --write t.tfrecord
  echo '[{"tfrecord": {"path": "t.tfrecord", "features": {"name": {"dtype": "string"}, "more": {"dtype": "string", "default": "none"}}}},
         {"padded_batch": {"size": 3}}]' >record.json
  run -0 tfd-data record.json
  jq -e '.elements == [{name: ["a, \"b\"", " plain ", ""], more: ["none", "none", "none"]}]' <<<"$output"
  printf '{"s": "zwölf"}\n{"s": ""}\n{"s": 5}\n' >t.jsonl
  echo '[{"jsonl": {"path": "t.jsonl", "fields": {"s": {"dtype": "string"}}, "on_error": "skip"}}]' >jsonl.json
  run -0 --separate-stderr tfd-data jsonl.json
  jq -e '[.elements[].s] == ["zwölf", ""] and .skipped == 1' <<<"$output"
}

@test "data: bytes are texts where they are strings, and numbers where they aren't" {
  printf '\0\0\10\1\0\0\0\5\5\0\4\1\11' >labels.idx
  run -0 tfd-data - <<<'[{"idx": {"path": "labels.idx", "field": "label"}}, {"batch": 3}]'
  jq -e '.spec.label == {dtype: "u8", shape: [-1]} and [.elements[].label] == [[5, 0, 4], [1, 9]]' <<<"$output"
  tfd-data - --write t.tfrecord <<<'[{"range": 1}]'
  run -0 tfd-data - <<<'[{"tfrecord": {"path": "t.tfrecord"}}]'
  jq -e '.spec.value == {dtype: "string", shape: []} and (.elements[0].value | contains("value"))' <<<"$output"
  # A string has no rows, as a number has none.
  for stage in '{"unbatch": {}}' '{"rebatch": 2}' '{"legacy_rebatch": 2}'; do
    says 65 tfd-data - <<<'[{"tfrecord": {"path": "t.tfrecord"}}, '"$stage]"
    [[ $stderr == *": field 'value' is a scalar: not of a batch" ]]
  done
  for compat in "" "--compat tensorflow"; do
    # shellcheck disable=SC2086  # two words
    says 65 tfd-data - --replicas 2 $compat <<<'[{"tfrecord": {"path": "t.tfrecord"}}]'
    [[ $stderr == *"field 'value' of the elements is a scalar, which replicas can't share: batch the dataset" ]]
  done
}

@test "data: a disk that stops answering is named, and waited for" {
  printf '1\n2\n3\n' >slow.csv
  echo '[{"csv": {"path": "slow.csv", "fields": {"x": {"columns": 0}}}}]' >slow.json
  ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$TFD_BUILD/tests/kit/slow-read.so TFD_TEST_SLOW_FILE=$PWD/slow.csv TFD_TEST_SLOW_SECONDS=12 \
    run -0 --separate-stderr timeout 60 tfd-data slow.json --count
  [ "$output" = '{"elements":3}' ]
  [[ $stderr == *"slow.csv hasn't been read for 10s: still waiting"* ]] || [[ $stderr == *"slow.csv hasn't been read for 11s: still waiting"* ]]
}

@test "data: a command that says nothing any more doesn't keep its reader from the end" {
  echo '[{"command": {"argv": ["sh", "-c", "printf \"1\\n2\\n\"; exec sleep 1000"], "format": "csv", "fields": {"x": {"columns": 0}}}},
    {"prefetch": 4}, {"take": 2}, {"repeat": 2}]' >silent.json
  run -0 timeout 20 tfd-data silent.json --count
  [ "$output" = '{"elements":4}' ]
  run -0 timeout 20 tfd-data silent.json --take 3
  [ "$(jq -c '.elements' <<<"$output")" = '[{"x":1},{"x":2},{"x":1}]' ]
}

@test "data: a command that isn't there is an error as one that fails is" {
  made_by() { jq -n '[{command: {argv: $ARGS.positional, format: "text"}}]' --args "$@"; }
  says 78 tfd-data - < <(made_by sh -c 'exit 127')
  says 78 tfd-data - < <(made_by no-such-command)
  [[ $stderr == *"cannot run no-such-command: command not found"* ]]
  says 78 tfd-data - < <(made_by ./no-such-command)
  : >plain
  says 77 tfd-data - < <(made_by ./plain) # there, but its mode forbids it
}

@test "data: an .npz is read as NumPy reads it, and what tfd lacks hurts nobody but whoever asks for it" {
  python3 -W ignore - <<'PYTHON'
import struct, zipfile, zlib

def npy(descr, *values):
    header = str({"descr": descr, "fortran_order": False, "shape": (len(values),)}).encode() + b"\n"
    data = b"gibberish" if descr == "|O" else struct.pack(f"<{len(values)}f", *values)
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + data

def write(name, method, *members):
    with zipfile.ZipFile(name, "w", method) as archive:
        for member, data in members:
            archive.writestr(member, data)

write("twice.npz", zipfile.ZIP_STORED, ("x.npy", npy("<f4", 1)), ("y.npy", npy("<f4", 5)), ("x.npy", npy("<f4", 2)))
write("exact.npz", zipfile.ZIP_DEFLATED, ("x", npy("<f4", 3)), ("x.npy", npy("<f4", 4)))
write("object.npz", zipfile.ZIP_STORED, ("o.npy", npy("|O", 1)), ("x.npy", npy("<f4", 1)))
write("folder.npz", zipfile.ZIP_STORED, ("enc/", b""), ("enc/x.npy", npy("<f4", 1)))
write("bzip2.npz", zipfile.ZIP_BZIP2, ("x.npy", npy("<f4", 1)))
write("lzma.npz", zipfile.ZIP_LZMA, ("x.npy", npy("<f4", 1)))
open("zlib.tfrecord", "wb").write(zlib.compress(bytes(64)))
PYTHON
  elements() { echo "$1" | tfd-data - | jq -c '.elements | map(map_values(floor))'; }
  refused() { # PIPELINE END OF THE LINE
    run -65 --separate-stderr tfd-data - <<<"$1"
    [[ $stderr == "tfd-data: -: "*"$2" ]] || [[ $stderr == "tfd-data: "*"$2" ]] || { echo "$stderr" && return 1; }
  }
  [ "$(elements '[{"npz": {"path": "twice.npz"}}]')" = '[{"x":2,"y":5}]' ]
  [ "$(elements '[{"npz": {"path": "exact.npz", "fields": {"x": {}}}}]')" = '[{"x":3}]' ]
  [ "$(elements '[{"npz": {"path": "exact.npz", "fields": {"x.npy": {}}}}]')" = '[{"x.npy":4}]' ]
  [ "$(elements '[{"npz": {"path": "object.npz"}}]')" = '[{"x":1}]' ]
  refused '[{"npz": {"path": "object.npz", "fields": {"o": {}}}}]' "<c8 and <c16)"
  refused '[{"npz": {"path": "folder.npz", "fields": {"x": {}}}}]' "no array 'x' (there: enc/x)"
  refused '[{"npz": {"path": "bzip2.npz"}}]' "is compressed by bzip2, but only stored and deflated arrays can be read: write the file by numpy.savez_compressed"
  refused '[{"npz": {"path": "lzma.npz"}}]' "is compressed by lzma, but only stored and deflated arrays can be read: write the file by numpy.savez_compressed"
  refused '[{"tfrecord": {"path": "zlib.tfrecord"}}]' "zlib.tfrecord is compressed by zlib, but only gzip can be read: write it with compression type GZIP, or as it is"
}
