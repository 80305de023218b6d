#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Checkpoints that can't be written, from the beginning or later; trained weights aren't lost where the data end too early;
# evaluators evaluate every checkpoint.

load run
setup() {
  coordinate_setup
  MOUNTED=
}
teardown() {
  [ -z "$MOUNTED" ] || umount "$MOUNTED" || true
  run_teardown
}

# A disk of this size, in "disk".
small_disk() { # SIZE
  mkdir disk
  mount -t tmpfs -o "size=$1" tmpfs disk 2>/dev/null || skip "may not mount"
  MOUNTED=$T/disk
}

# Both tools end with this code before the first step, and say in one line what matches.
both_refuse() { # CODE PATTERN
  for tool in "tfd-coordinate program.json --cluster spec.json --keep-servers" "tfd-run program.json --cluster none"; do
    # shellcheck disable=SC2086
    run "-$1" --separate-stderr timeout 60 $tool
    echo "$stderr"
    [[ $stderr =~ ^tfd-(coordinate|run):\ train\.checkpoint\.dir:\ checkpoints\ can\'t\ be\ written\ to\ $2$ ]]
    [[ $output != *'"event":"step"'* ]]
  done
}

@test "checkpoints: a file in the way is found before the first step" {
  counting_program '{"function": "count", "steps": 100, "checkpoint": {"dir": "ck/here"}}'
  serve --jobs worker=1,ps=2
  touch ck
  both_refuse 71 'ck/here: cannot create it: not a directory'
  rm ck
  mkdir ck
  touch ck/here
  both_refuse 71 'ck/here: .*(not a directory|file exists)'
}

@test "checkpoints: a directory without permission is 77" {
  [ "$(id -u)" != 0 ] || skip "root may write everywhere"
  counting_program '{"function": "count", "steps": 100, "checkpoint": {"dir": "ck"}}'
  serve --jobs worker=1,ps=2
  mkdir -m 555 ck
  both_refuse 77 'ck: .*permission denied'
}

@test "checkpoints: a full disk is found before the first step" {
  small_disk 64k
  counting_program '{"function": "count", "steps": 100, "checkpoint": {"dir": "disk/ck"}}'
  serve --jobs worker=1,ps=2
  head -c 1M /dev/zero >disk/all 2>/dev/null || true
  both_refuse 71 'disk/ck: .*no space left on device'
}

@test "checkpoints: a disk that is full when a parameter server is lost ends nothing either" {
  small_disk 256k
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "disk/ck", "every": 500}}'
  serve --jobs worker=1,ps=2
  coordinate program.json --cluster spec.json --max-failures 3
  event '.event == "checkpoint"'
  head -c 1M /dev/zero >disk/all 2>/dev/null || true
  ln -s talk coordinator.talk
  RUN=$COORDINATOR until_talk coordinator 'cannot write a checkpoint of step .*: .*no space left on device'
  kill -KILL "$(task_pid ps:0)"
  event '.event == "server" and .failure == 1'
  event '.event == "start" and .step > 0 and .resumed_from != null'
  event '.event == "step"'
  rm disk/all
  event '.event == "checkpoint"'
  stops_with_each_step_once disk/ck
}

@test "checkpoints: a disk that fills up later ends nothing, unless the last checkpoint can't be written" {
  small_disk 256k
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "disk/ck", "every": 500}}'
  serve --jobs worker=1,ps=2
  coordinate program.json --cluster spec.json --keep-servers
  event '.event == "checkpoint"'
  head -c 1M /dev/zero >disk/all 2>/dev/null || true
  ln -s talk coordinator.talk
  RUN=$COORDINATOR until_talk coordinator 'cannot write a checkpoint of step .*: .*no space left on device'
  event '.event == "step"'
  rm disk/all
  event '.event == "checkpoint"'
  local step
  step=$(jq .step <<<"$EVENT")
  head -c 1M /dev/zero >disk/all 2>/dev/null || true
  event ".event == \"step\" and .step > $((step + 1000))"
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "error" and .error.code == "RESOURCE_EXHAUSTED"'
  coordinator_ends 71
  grep -q 'the last checkpoint could not be written; the same command continues from disk/ck/step-' talk
}

# With some number of pages free a checkpoint can be written, but not the index after it.
@test "checkpoints: where the disk becomes full, what a training says that it continues from is what it continues from" {
  small_disk 256k
  counting_program '{"function": "count", "steps": 20, "checkpoint": {"dir": "disk/ck"}}'
  jq '.variables.ballast = {"shape": [2048], "init": {"zeros": {}}}' program.json >with-ballast.json
  mv with-ballast.json program.json
  local free code ended=""
  for free in 0 1 2 3 4 5 6; do
    rm -rf disk/ck disk/all
    tfd-run program.json --cluster none --set train.steps=10 >/dev/null 2>&1
    head -c "$(($(df --output=avail -B1 disk | tail -n 1) - free * 4096))" /dev/zero >disk/all
    code=0
    timeout 60 tfd-run program.json --cluster none >lines 2>talk || code=$?
    rm disk/all
    [ "$code" = 0 ] || [ "$code" = 71 ]
    ended+="$code "
    [ "$code" = 71 ] || continue
    sed -n 's/.*the same command continues from .* (step \(.*\))$/\1/p' talk >stated
    timeout 60 tfd-run program.json --cluster none >lines
    jq -n 'first(inputs | .step // empty)' lines >taken
    ended+="$(cat stated)=$(cat taken) "
  done
  echo "$ended"
  # None is stated where the disk is full from the beginning; the lock of the directory takes the first page, the run's settings another one.
  [[ $ended == "71 =10 71 =10 71 10=10 71 10=10 71 20=20 0 "* ]]
}

# Three batches, one a step.
three_steps() { # TRAIN, JSON
  counting_program "$1"
  jq '.datasets = {"three": [{"tensor_slices": {"fields": {"x": {"dtype": "s32", "shape": [3], "data": [1, 2, 3]}}}}]}
    | .functions.count.inputs = [{"dataset": "three", "field": "x"}]' program.json >with-data.json
  mv with-data.json program.json
}

@test "checkpoints: where the data end before the steps that were promised, what was trained is saved before that is said" {
  three_steps '{"function": "count", "steps": 5, "checkpoint": {"dir": "ck"}}'
  serve --jobs worker=1,ps=2
  run -65 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json
  [[ $stderr == *"the data ended at step 3 of 5"*"the trained weights are in ck/step-00000003.safetensors"* ]]
  jq -es '.[-2].event == "checkpoint" and .[-2].step == 3 and .[-1].reason == "error"' <<<"$output"
  [ "$(counts_in ck)" = "3 3 3" ]
  rm -r ck
  run -65 --separate-stderr timeout 60 tfd-run program.json --cluster none
  [[ $stderr == *"the data of local ended at step 3 of 5"*"the trained weights are in ck/step-00000003.safetensors"* ]]
  [ "$(counts_in ck)" = "3 3 3" ]
}

@test "checkpoints: a worker whose data ended too early isn't waited for" {
  three_steps '{"function": "count", "steps": 50, "checkpoint": {"dir": "ck"}}'
  cluster_of 2 2
  two_workers program.json --timeout 120s
  SECONDS=0
  run_ends "$CHIEF" 65
  run_ends "$OTHER" 65
  [ "$SECONDS" -lt 50 ]
  grep -q 'the data of worker:1 ended at step' worker:1.talk
  grep -q 'the trained weights are in ck/' worker:0.talk
}

@test "checkpoints: an evaluator evaluates every one that is still there, in their order" {
  local program=$EXAMPLES/digits/program.json set=(--set train.steps=100 --set 'train.checkpoint={"dir": "ck", "every": 10, "keep": 4}')
  cluster_of 1 1
  jq '.cluster.evaluator = ["127.0.0.1:9"]' cluster.json >with.json && mv with.json cluster.json
  worker worker:0 "$program" "${set[@]}"
  run_ends "$RUN" 0
  worker evaluator:0 "$program" "${set[@]}"
  run_ends "$RUN" 0
  [ "$(jq -c 'select(.event == "eval") | .step' evaluator:0.events | paste -sd' ')" = "70 80 90 100" ]
  last evaluator:0 '.reason == "done" and .step == 100' | grep -qx true
}

# tfd-run of this host in the background, as worker() does: $1.events, $1.talk, RUN.
by_itself() { # NAME ARGS…
  local name=$1
  shift
  env --default-signal=INT tfd-run "$@" --cluster none </dev/null >"$name.events" 2>"$name.talk" 5>&- 6>&- 7>&- 8>&- &
  RUN=$!
  RUNS+=("$RUN")
}

@test "checkpoints: a training from which another one takes its directory ends, with who that is; after SIGKILL the next one goes on" {
  counting_program '{"function": "count", "steps": 1000000000, "log_every": 1000, "checkpoint": {"dir": "ck", "every": 1000}}'
  by_itself first program.json
  local first=$RUN
  until_event first '.event == "checkpoint"'
  by_itself second program.json --take-over
  local second=$RUN
  run_ends "$first" 75
  grep -q "^tfd-run: .*ck: another training has begun there since, in process $second on [^ ]*, and writes there now; this one ends$" first.talk
  RUN=$second until_event second '.event == "checkpoint"'
  kill -KILL "$second"
  ends "$second"
  by_itself third program.json
  until_event third '.event == "checkpoint"'
  kill -TERM "$RUN"
  run_ends "$RUN" 75
  [ "$(jq '.checkpoints[-1].step' ck/index.json)" = "$(last third .step)" ]
}
