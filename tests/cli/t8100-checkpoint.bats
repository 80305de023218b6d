#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-checkpoint: looks into checkpoints, compares, averages and converts them.

bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  unset TFD_LOG
  EXAMPLES=$BATS_TEST_DIRNAME/../../examples
  # A file by hand: FILE 'METADATA' 'NAME DTYPE SHAPE VALUES'…
  cat >make.py <<'PYTHON'
import json, struct, sys
kinds = {"F32": "f", "F64": "d", "I64": "q", "BOOL": "?", "F8_E4M3": "B"}
header, body = ({"__metadata__": json.loads(sys.argv[2])} if sys.argv[2] else {}), b""
for text in sys.argv[3:]:
    name, dtype, shape, values = text.split(" ")
    numbers = [float(one) if kinds[dtype] in "fd" else int(one) for one in values.split(",")]
    part = struct.pack("<%d%s" % (len(numbers), kinds[dtype]), *numbers)
    header[name] = {"dtype": dtype, "shape": json.loads(shape), "data_offsets": [len(body), len(body) + len(part)]}
    body += part
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + body)
PYTHON
}

make() { python3 make.py "$@"; }

train() {
  [ -f ck/index.json ] || run -0 tfd-run -q "$EXAMPLES/digits/program.json" --set train.steps=30 \
    --set 'train.checkpoint={"dir": "ck", "every": 10, "keep": 2}' </dev/null
}

@test "checkpoint: the folder of a program means its checkpoints, in tfd-data its datasets" {
  cp -r "$EXAMPLES/linear" mine
  run -65 --separate-stderr tfd-checkpoint list mine
  [ "$stderr" = 'tfd-checkpoint: no checkpoint in mine' ]
  run -0 tfd-run -q mine --set train.steps=30 --set train.checkpoint.dir=mine/checkpoints </dev/null
  run -0 --separate-stderr tfd-checkpoint list mine
  [[ ${lines[-1]} == *mine/checkpoints/step-00000030.safetensors ]]
  run -0 --separate-stderr tfd-checkpoint diff mine mine/checkpoints
  run -0 --separate-stderr tfd-run mine --checkpoint mine --set train.steps=1 --set train.checkpoint=null </dev/null
  run -0 --separate-stderr tfd-data mine --take 1
}

@test "checkpoint: list has a training's checkpoints in the order in which they were written" {
  train
  run -0 --separate-stderr tfd-checkpoint list ck
  [ -z "$stderr" ]
  [[ ${lines[0]} == "STEP  SIZE "*FILE ]]
  [ "$(tfd-checkpoint ls ck)" = "$output" ]
  [[ ${lines[1]} == 20\ *" 1         ck/step-00000020.safetensors" ]]
  [[ ${lines[2]} == 30\ *"ck/step-00000030.safetensors" ]]
  [ "${#lines[@]}" -eq 3 ]
  tfd-checkpoint list --json ck | jq -es '[.[] | .step] == [20, 30] and .[0].replicas == 1 and .[0].run == .[1].run and .[0].bytes > 1000'
  mkdir empty
  run -65 --separate-stderr tfd-checkpoint list empty
  [ "$stderr" = "tfd-checkpoint: no checkpoint in empty" ]
}

@test "checkpoint: verify says what is whole, what is cut off, and what isn't finite" {
  train
  run -0 --separate-stderr tfd-checkpoint verify ck
  [[ ${lines[1]} == "ck/step-00000030.safetensors: ok, step 30, 17 variables, "*" kB" ]]
  make nan.safetensors '' 'w F32 [3] 1,nan,inf' 'n I64 [] 4'
  run -1 --separate-stderr tfd-checkpoint verify nan.safetensors
  [[ $output == "nan.safetensors: not finite: w (2 of 3), 2 variables, "* ]]
  run -1 tfd-checkpoint verify --json nan.safetensors
  jq -e '.finite == false and .variables == 2' <<<"$output"
  cp -r ck cut
  truncate -s -100 cut/step-00000030.safetensors
  run -65 --separate-stderr tfd-checkpoint verify cut nan.safetensors
  [[ ${lines[0]} == "cut/step-00000020.safetensors: ok"* ]]
  [[ ${lines[1]} == "nan.safetensors: not finite"* ]]
  [[ $stderr == "tfd-checkpoint: cut/step-00000030.safetensors"*"cut off"* ]]
  # Where one is meant, the newest that can be read is it.
  run -0 --separate-stderr tfd-checkpoint show cut --variable .iterations
  [[ $stderr == *"skipped a checkpoint: cut/step-00000030"* ]]
  [[ ${lines[1]} == ".iterations  s64[]  20 "* ]]
}

@test "checkpoint: show has least, mean and greatest of each variable" {
  make a.safetensors '{"step": "5"}' 'w F32 [2,2] -1,0.5,2,2.5' 'n I64 [] 4' 'b BOOL [2] 1,0' 'x F64 [2] nan,inf'
  run -0 --separate-stderr tfd-checkpoint show a.safetensors
  [[ ${lines[0]} == "a.safetensors: step 5, 4 variables, "* ]]
  [ "$(awk '$1 == "w"' <<<"$output" | tr -s ' ')" = "w f32[2, 2] -1 1 2.5" ]
  [ "$(awk '$1 == "b"' <<<"$output" | tr -s ' ')" = "b bool[2] 0 0.5 1" ]
  [ "$(awk '$1 == "x"' <<<"$output" | tr -s ' ')" = "x f64[2] - - -; 2 not finite" ]
  tfd-checkpoint show --json a.safetensors | jq -es 'any(.variable == "w" and .shape == [2, 2] and .max == 2.5) and any(.variable == "x" and .not_finite == 2 and has("mean") == false)'
  run -65 --separate-stderr tfd-checkpoint show a.safetensors --variable ww
  [[ $stderr == "tfd-checkpoint: a.safetensors: no variable 'ww'"* ]]
}

@test "checkpoint: diff says what differs, and by how much" {
  make a.safetensors '{"step": "5"}' 'w F32 [4] 1,2,nan,4' 'n I64 [] 4' 'only F32 [] 1' 's F32 [2] 1,2'
  make b.safetensors '' 'w F32 [4] 1,2.5,nan,3' 'n I64 [] 9' 'other F32 [] 1' 's F32 [1] 1'
  run -0 tfd-checkpoint diff a.safetensors a.safetensors
  [ -z "$output" ]
  run -1 --separate-stderr tfd-checkpoint diff a.safetensors b.safetensors
  [ "$output" = "n: it differs by 5
only: only in a.safetensors
s: f32[2] and f32[1]
w: 2 of 4 values differ, by 1 at most
other: only in b.safetensors" ]
  run -1 tfd-checkpoint diff --tolerance 0.5 --variable w a.safetensors b.safetensors
  [ "$output" = "w: 1 of 4 values differ, by 1 at most" ]
  run -0 tfd-checkpoint diff --tolerance 1 --variable w --json a.safetensors b.safetensors
  run -65 --separate-stderr tfd-checkpoint diff --variable nothing a.safetensors b.safetensors
  [ "$stderr" = "tfd-checkpoint: b.safetensors: no variable 'nothing'" ]
}

@test "checkpoint: average is the mean in f64, and the last one's where there is none; a training evaluates it" {
  make a.safetensors '{"step": "5", "run": "r", "format": "tfd"}' 'w F32 [2] 1,16777216' 'n I64 [] 4'
  make b.safetensors '{"step": "6", "run": "r", "format": "tfd"}' 'w F32 [2] 2,2' 'n I64 [] 5'
  run -0 --separate-stderr tfd-checkpoint average a.safetensors b.safetensors -o m.safetensors -v
  [ "$stderr" = "tfd-checkpoint: m.safetensors: the mean of 2 checkpoints" ]
  tfd-checkpoint show --json m.safetensors | jq -es 'any(.variable == "w" and .min == 1.5 and .max == 8388609) and any(.variable == "n" and .max == 5)'
  run -0 tfd-checkpoint verify m.safetensors
  [[ $output == *", step 6, "* ]]
  run -1 grep -a '"run"' m.safetensors
  make c.safetensors '' 'w F32 [3] 1,2,3'
  run -65 --separate-stderr tfd-checkpoint average c.safetensors b.safetensors -o n.safetensors
  [ "$stderr" = "tfd-checkpoint: 'n' is s64[] in b.safetensors, and nothing in c.safetensors: there is no mean of these" ]
  [ ! -e n.safetensors ]
  train
  mkdir mean
  run -0 tfd-checkpoint average ck -o mean/step-00000030.safetensors
  run -0 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --evaluate --set train.checkpoint.dir=mean </dev/null
  jq -e '.event == "eval" and .step == 30 and .metrics.accuracy > 0.3' <<<"${lines[-1]}"
}

@test "checkpoint: convert makes a folder of NumPy's files, and one file of it again" {
  make a.safetensors '{"step": "5"}' 'dense/kernel F32 [2,2] 1,2,3,4' 'n I64 [] 4'
  run -0 tfd-checkpoint convert a.safetensors -o arrays
  [ "$(find arrays -type f | sort | tr '\n' ' ')" = "arrays/dense/kernel.npy arrays/n.npy " ]
  run -0 tfd-checkpoint convert arrays --step 7 -o b.safetensors
  run -0 tfd-checkpoint diff a.safetensors b.safetensors
  run -0 tfd-checkpoint verify b.safetensors
  [[ $output == *", step 7, "* ]]
  run -65 --separate-stderr tfd-checkpoint convert a.safetensors -o arrays
  [ "$stderr" = "tfd-checkpoint: arrays exists, and isn't an empty folder" ]
  # Names that would be one file are refused before anything is written.
  for name in ./b x/../b x//../b b/; do
    make bad.safetensors '' 'a F32 [1] 1' 'b F32 [1] 1' "$name F32 [1] 2"
    run -65 --separate-stderr tfd-checkpoint convert bad.safetensors -o out
    [[ $stderr == "tfd-checkpoint: '"*"' "* ]]
    [ ! -e out ]
  done
  # A name leads nowhere else.
  make bad.safetensors '' '../../etc/w F32 [1] 1'
  run -65 --separate-stderr tfd-checkpoint convert bad.safetensors -o out
  [ "$stderr" = "tfd-checkpoint: '../../etc/w' is no name of a file" ]
  mkdir empty
  run -65 tfd-checkpoint convert empty -o c.safetensors
}

@test "checkpoint: a tensor of a type that tfd lacks is an error only if it is asked for" {
  make a.safetensors '' 'q F8_E4M3 [2] 56,64' 'b F32 [1] 5'
  make c.safetensors '' 'b F32 [1] 5'
  local what="tensor 'q' is F8_E4M3[2], a type that tfd does not have"
  run -0 --separate-stderr tfd-checkpoint show --variable b a.safetensors
  [[ ${lines[1]} == "b "*" 5 "*" 5" ]]
  run -0 --separate-stderr tfd-checkpoint show a.safetensors
  [[ $output == *$'\nq '*"F8_E4M3[2]"*"not supported"* ]]
  run -65 --separate-stderr tfd-checkpoint show --variable q a.safetensors
  [[ $stderr == "tfd-checkpoint: a.safetensors: $what"* ]]
  run -0 --separate-stderr tfd-checkpoint verify a.safetensors
  [[ $output == "a.safetensors: ok, 1 variable, "*"; not checked: q (F8_E4M3[2])" ]]
  tfd-checkpoint verify --json a.safetensors | jq -e '.not_checked == "q (F8_E4M3[2])"'
  run -0 --separate-stderr tfd-checkpoint diff a.safetensors c.safetensors
  [[ $stderr == *"a.safetensors: not compared, of a type that tfd does not have: q (F8_E4M3[2])" ]]
  run -65 --separate-stderr tfd-checkpoint diff --variable q a.safetensors c.safetensors
  make f.safetensors '' 'q F32 [2] 1,2' 'b F32 [1] 5'
  run -1 --separate-stderr tfd-checkpoint diff a.safetensors f.safetensors
  [ "$output" = "q: F8_E4M3[2] and f32[2]" ]
  run -1 --separate-stderr tfd-checkpoint diff f.safetensors a.safetensors
  [ "$output" = "q: f32[2] and F8_E4M3[2]" ]
  run -0 --separate-stderr tfd-checkpoint convert a.safetensors -o d.safetensors
  [[ $stderr == *"a.safetensors: left out, of a type that tfd does not have: q (F8_E4M3[2])"* ]]
  run -0 tfd-checkpoint diff c.safetensors d.safetensors
  run -65 --separate-stderr tfd-checkpoint convert --variable q a.safetensors -o e.safetensors
  printf '[{"safetensors": {"path": "a.safetensors", "fields": {"b": {}}}}]' >p.json
  [ "$(tfd-data p.json | jq -c '.elements | map(.b | floor)')" = '[5]' ]
  printf '[{"safetensors": {"path": "a.safetensors"}}]' >p.json
  [ "$(tfd-data p.json | jq -c '.elements | map(map_values(floor))')" = '[{"b":5}]' ]
  printf '[{"safetensors": {"path": "a.safetensors", "fields": {"q": {}}}}]' >p.json
  run -65 --separate-stderr tfd-data p.json
  [[ $stderr == *"$what"* ]]
}

@test "checkpoint: what isn't right is one line" {
  make a.safetensors '' 'w F32 [1] 1'
  refused() { # CODE LINE ARGUMENT…
    run "-$1" --separate-stderr tfd-checkpoint "${@:3}"
    [ "$stderr" = "tfd-checkpoint: $2" ] || { printf '%s\n' "$stderr" && return 1; }
  }
  refused 64 "diff takes two checkpoints, or directories (their newest ones), not 1 path (see tfd-checkpoint --help)" diff a.safetensors
  refused 64 "average needs --output, to write to (see tfd-checkpoint --help)" average a.safetensors
  refused 64 "show writes no file: --output is for average and convert (see tfd-checkpoint --help)" show a.safetensors -o x
  refused 64 "COMMAND: invalid value 'shwo', did you mean 'show'? (see tfd-checkpoint --help)" shwo a.safetensors
  refused 65 "cannot open nothing: no such file or directory" show nothing
  refused 65 "make.py is not a safetensors file: a header of 7647240202119834985 bytes" verify make.py
  run -65 --separate-stderr tfd-checkpoint convert a.safetensors -o nowhere/b.safetensors
  [[ $stderr == "tfd-checkpoint: cannot "*nowhere*": no such file or directory" ]]
}
