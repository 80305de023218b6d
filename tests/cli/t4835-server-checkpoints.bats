#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Checkpoints that the parameter servers write, each its own part: with the bits of one file, for every tool, and onto any number
# of servers.

load group
setup() {
  coordinate_setup
  MOUNTED=
}
teardown() {
  [ -z "$MOUNTED" ] || umount "$MOUNTED" || true
  run_teardown
}

# 60 steps of the digits, a table in shards among them, with one worker and $1 parameter servers: the same bits each time.
train_by() { # PS BY DIRECTORY ARGS…
  local ps=$1 by=$2 directory=$3
  shift 3
  serve --jobs "worker=1,ps=$ps"
  run -0 --separate-stderr timeout 120 tfd-coordinate "$EXAMPLES/digits/program.json" "${SEEDED[@]}" --cluster spec.json --set train.steps=60 \
    --set 'variables.w1.partitioner={"fixed_shards": {"num_shards": 3}}' \
    --set "train.checkpoint={\"dir\": \"$directory\", \"every\": 20, \"by\": \"$by\"}" "$@"
  echo "$stderr"
  kill -TERM "$SERVE"
  ends "$SERVE"
  SERVE=
}

# Both forms of the same training, in parts/ and file/.
both_forms() {
  train_by 2 servers "$T/parts"
  train_by 2 coordinator "$T/file"
}

@test "server checkpoints: each server writes its part, and the values have the bits of one file" {
  both_forms
  [ "$(ls parts/step-00000060)" = "index.json
part-1-of-2.safetensors
part-2-of-2.safetensors" ]
  [ "$(find parts -mindepth 1 -maxdepth 1 -printf '%f\n' | sort)" = "$(find file -mindepth 1 -printf '%f\n' | sed s/.safetensors// | sort)" ]
  run -0 tfd-checkpoint diff parts file
  [ -z "$output" ]
  for step in 20 40 60; do
    run -0 tfd-checkpoint convert "parts/step-000000$step" -o "converted-$step.safetensors"
    run -0 tfd-checkpoint convert "file/step-000000$step.safetensors" -o "same-$step.safetensors"
    cmp "converted-$step.safetensors" "same-$step.safetensors"
  done
  if python3 -c 'import numpy' 2>/dev/null; then
    PYTHONPATH=$TFD_SOURCE/share python3 -c 'import tfd_export as e, numpy as n
a, b = (e.read_checkpoint(e.checkpoint_path(at)) for at in ("parts", "file"))
assert a.keys() == b.keys() and all(n.array_equal(a[k], b[k]) and a[k].dtype == b[k].dtype for k in a), (a.keys(), b.keys())'
  fi
  jq -e '.v == 1 and .step == 60 and (.run | length) > 10 and (.parts | length) == 2 and .sharded.w1.shards == 3 and .counters[".iterations"] == 60' parts/step-00000060/index.json
}

@test "server checkpoints: tfd-checkpoint lists, verifies, shows, compares and averages them" {
  both_forms
  run -0 tfd-checkpoint list parts
  [[ ${lines[3]} == 60\ *"parts/step-00000060" ]]
  [ "${#lines[@]}" -eq 4 ]
  tfd-checkpoint list --json parts | jq -es 'map(.step) == [20, 40, 60] and .[0].bytes > 1000 and .[0].run == .[1].run'
  run -0 tfd-checkpoint verify parts parts/step-00000020
  [[ ${lines[0]} =~ ^parts/step-00000020:\ ok,\ step\ 20,\ [0-9]+\ variables,\ .*kB$ ]]
  diff <(tfd-checkpoint show --json parts) <(tfd-checkpoint show --json file)
  run -1 tfd-checkpoint diff parts/step-00000020 file --variable w1
  [[ $output == "w1: "*" values differ, by "* ]]
  run -0 tfd-checkpoint average parts -o a.safetensors
  run -0 tfd-checkpoint average file -o b.safetensors
  cmp a.safetensors b.safetensors
  run -0 tfd-checkpoint convert parts -o arrays
  [ -f arrays/w1.npy ]
  # One byte of a value; an index that isn't one; a part that is gone.
  damage parts/step-00000060
  echo '{' >parts/step-00000040/index.json
  rm parts/step-00000020/part-1-of-2.safetensors
  run -65 --separate-stderr tfd-checkpoint verify parts
  [[ $stderr == *"part-1-of-2.safetensors is missing"*"step-00000040/index.json: not JSON"*"has changed since it was written: its digest is "* ]]
  [ -z "$output" ]
}

damage() { # CHECKPOINT
  local part=$1/part-2-of-2.safetensors
  printf x | dd of="$part" bs=1 seek="$(($(stat -c %s "$part") - 9))" conv=notrunc 2>/dev/null
}

@test "server checkpoints: tfd-checkpoint uses no values that aren't what was written, and of a directory the newest that is whole" {
  train_by 2 servers "$T/parts"
  damage parts/step-00000060
  for command in show "convert -o a.safetensors" "average -o a.safetensors" "diff parts/step-00000040"; do
    # shellcheck disable=SC2086 # several words
    run -65 --separate-stderr tfd-checkpoint $command parts/step-00000060
    [[ $stderr == "tfd-checkpoint: parts/step-00000060/part-2-of-2.safetensors has changed since it was written: its digest is "* ]]
    [ ! -e a.safetensors ]
  done
  run -65 tfd-checkpoint average parts -o a.safetensors
  run -0 --separate-stderr tfd-checkpoint convert parts -o a.safetensors
  [[ $stderr == *"skipped a checkpoint: parts/step-00000060/part-2-of-2.safetensors has changed since it was written"* ]]
  run -0 tfd-checkpoint diff a.safetensors parts/step-00000040
  run -0 tfd-checkpoint diff parts parts/step-00000040
  # Its index, too.
  sed -i 's/"step":40/"step":50/' parts/step-00000040/index.json
  run -65 --separate-stderr tfd-checkpoint verify parts/step-00000040
  [ "$stderr" = "tfd-checkpoint: parts/step-00000040/index.json: step: is 50, but the directory is of step 40" ]
}

@test "server checkpoints: the weights of a program may be one of them" {
  both_forms
  serve --jobs worker=1,ps=3
  for form in parts file; do
    weights=(--set "weights=$T/$form/step-00000060" --set train.steps=2)
    [ "$form" = parts ] || weights[1]+=.safetensors
    run -0 timeout 120 tfd-run -q "$EXAMPLES/digits/program.json" "${SEEDED[@]}" "${weights[@]}" \
      --set "train.checkpoint={\"dir\": \"$T/alone-$form\", \"every\": 2}" </dev/null
    run -0 timeout 120 tfd-coordinate -q "$EXAMPLES/digits/program.json" "${SEEDED[@]}" "${weights[@]}" --cluster spec.json --keep-servers \
      --set 'variables.w1.partitioner={"fixed_shards": {"num_shards": 5}}' --set "train.checkpoint={\"dir\": \"$T/cluster-$form\", \"every\": 2}"
  done
  run -0 tfd-checkpoint diff alone-parts alone-file
  run -0 tfd-checkpoint diff cluster-parts cluster-file
  run -1 tfd-checkpoint diff alone-parts file
  damage parts/step-00000060
  run -65 --separate-stderr timeout 120 tfd-run -q "$EXAMPLES/digits/program.json" --set "weights=$T/parts/step-00000060" --set train.checkpoint=null </dev/null
  [[ $stderr == *"/parts/step-00000060/part-2-of-2.safetensors has changed since it was written: its digest is "* ]]
  run -65 --separate-stderr timeout 120 tfd-run -q "$EXAMPLES/digits/program.json" --set "weights=$T/parts" </dev/null
  [[ $stderr == *": weights: "* ]]
}

@test "server checkpoints: a damaged newest one is passed over with a warning, and the training goes on from the one before" {
  train_by 2 servers "$T/parts"
  truncate -s -8 parts/step-00000060/part-1-of-2.safetensors
  train_by 2 servers "$T/parts" --set train.steps=80
  [[ $stderr == *"skipped a checkpoint: "*"step-00000060/part-1-of-2.safetensors"* ]]
  [ "$(jq -r 'select(.event == "start").step' <<<"$output")" = 40 ]
  train_by 2 coordinator "$T/file" --set train.steps=80
  run -0 tfd-checkpoint diff parts file
}

@test "server checkpoints: what two servers wrote goes on with three, then one, then tfd-run, and one file goes on in parts" {
  train_by 2 servers "$T/parts"
  train_by 3 servers "$T/parts" --set train.steps=80
  [ "$(jq -r 'select(.event == "start").step' <<<"$output")" = 60 ]
  [ -f parts/step-00000080/part-3-of-3.safetensors ]
  train_by 1 servers "$T/parts" --set train.steps=100
  [ -f parts/step-00000100/part-1-of-1.safetensors ]
  train_by 2 coordinator "$T/file" --set train.steps=80
  train_by 2 servers "$T/file" --set train.steps=100
  [ -d file/step-00000100 ]
  run -0 tfd-checkpoint diff parts file
  [ "$(jq -c '[.checkpoints[].file]' file/index.json)" = '["step-00000060.safetensors","step-00000080.safetensors","step-00000100"]' ]
  cp -r parts parts-2 && cp -r file file-2
  for directory in parts file; do
    run -0 --separate-stderr timeout 60 tfd-run -q "$EXAMPLES/digits/program.json" "${SEEDED[@]}" --set train.steps=120 --set "train.checkpoint.dir=$T/$directory" </dev/null
    [[ $(jq -c 'select(.event == "start") | [.step, .resumed_from]' <<<"$output") == "[100,\""*"/step-00000100\"]" ]]
  done
  tfd-checkpoint convert parts-2 -o weights.safetensors
  for from in "$T/parts-2" "$T/parts-2/step-00000100" "$T/weights.safetensors"; do
    run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" --checkpoint "$from" --evaluate </dev/null
    jq -c 'select(.event == "eval").metrics' <<<"$output" >>evaluations
  done
  [ "$(sort -u evaluations | wc -l)" = 1 ]
}

@test "server checkpoints: the best evaluation, and what it restores, goes on by every strategy" {
  falling_program 100 3
  serve --jobs worker=1,ps=2
  trains_on() { # PATIENCE TOOL ARGS…
    run -0 --separate-stderr timeout 60 "${@:2}" program.json --set "train.stop.patience=$1" --set train.checkpoint.by=servers </dev/null
    echo "$stderr"
    jq -ec "select(.event == \"end\") | .reason == \"stopped\" and .step == 100 + 100 * $1 and .restored_step == 100 and .eval.n == 100" <<<"$output"
  }
  trains_on 3 tfd-coordinate --cluster spec.json --keep-servers
  [ -d ck/step-00000400 ]
  jq '.cluster.worker = ["127.0.0.1:1"]' spec.json >cluster.json
  trains_on 6 tfd-run --cluster cluster.json --task worker:0
  [ -f ck/step-00000700.safetensors ]
  trains_on 9 tfd-coordinate --cluster spec.json --keep-servers
  [ -d ck/step-00001000 ]
  trains_on 12 tfd-run --cluster none
  [ -f ck/step-00001300.safetensors ]
  trains_on 15 tfd-coordinate --cluster spec.json --keep-servers
  local from
  for from in ck ck/best ck/step-00001600 ck/step-00001300.safetensors; do
    echo "# $from"
    run -0 --separate-stderr timeout 60 tfd-run program.json --cluster none --evaluate --checkpoint "$from" </dev/null
    [ "$(jq -r 'select(.event == "eval").metrics.n' <<<"$output")" = 100 ]
    printf '{"op": "restore", "path": "%s"}\n{"op": "read", "variable": "n1"}\n{"op": "evaluate", "function": "eval"}\n' "$T/$from" >closures.jsonl
    run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --keep-servers --ordered --closures closures.jsonl
    [ "$(jq -c '.value // empty' <<<"$output" | xargs)" = '100 {n:100}' ]
  done
}

@test "server checkpoints: a server that can't write costs that checkpoint, whose like is tried again" {
  mkdir disk
  mount -t tmpfs -o size=1M tmpfs disk 2>/dev/null || skip "may not mount"
  MOUNTED=$T/disk
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "disk/ck", "every": 500, "by": "servers"}}'
  serve --jobs worker=1,ps=2
  coordinate program.json --cluster spec.json --keep-servers
  event '.event == "checkpoint"'
  [ -f "$(jq -r .path <<<"$EVENT")/part-2-of-2.safetensors" ]
  head -c 2M /dev/zero >disk/all 2>/dev/null || true
  ln -s talk coordinator.talk
  RUN=$COORDINATOR until_talk coordinator 'cannot write a checkpoint of step .*: .*no space left on device'
  rm disk/all
  event '.event == "checkpoint"'
  # A directory that is gone under it, then the disk again.
  local step
  step=$(jq .step <<<"$EVENT")
  head -c 2M /dev/zero >disk/all 2>/dev/null || true
  event ".event == \"step\" and .step > $((step + 1000))"
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "error" and .error.code == "RESOURCE_EXHAUSTED"'
  coordinator_ends 71
  grep -q 'the last checkpoint could not be written; the same command continues from disk/ck/step-' talk
  rm disk/all
  run -0 tfd-checkpoint verify disk/ck
  coordinate program.json --cluster spec.json
  event '.event == "checkpoint"'
  kill -TERM "$COORDINATOR"
  coordinator_ends 75
  [ -z "$(find disk/ck -name '.step-*')" ]
}

@test "server checkpoints: of more than 64 MiB the servers write by themselves, unless one of them doesn't see the directory" {
  counting_program '{"function": "count", "steps": 200, "checkpoint": {"dir": "ck", "every": 100}}'
  jq '.variables.pad = {"shape": [17000000], "init": {"zeros": {}}}' program.json >with.json && mv with.json program.json
  serve --jobs worker=1,ps=2
  run -0 --separate-stderr timeout 120 tfd-coordinate program.json --cluster spec.json --keep-servers
  [ -d ck/step-00000200 ]
  [ "$(tfd-checkpoint show ck --variable n0 --json | jq .mean)" = 200 ]
  # Where this process has a file system of its own.
  mkdir hidden
  unshare -m true 2>/dev/null || skip "no mount namespaces here"
  # shellcheck disable=SC2016
  run -0 --separate-stderr timeout 120 unshare -m sh -c 'mount -t tmpfs none hidden &&
    tfd-coordinate -v program.json --cluster spec.json --set train.checkpoint.dir=hidden/ck >events && ls hidden/ck'
  [[ $stderr == *"the coordinator writes the checkpoints itself: ps:"[01]": cannot open $T/hidden/ck"* ]]
  [[ $output == *step-00000200.safetensors* ]]
}
