#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy multi-worker-mirrored with --evaluate: the chief prints what one process would.

load group
load until
setup() {
  coordinate_setup
  PROGRAM=$EXAMPLES/digits/program.json
}
teardown() { run_teardown; }

trained() {
  run -0 --separate-stderr timeout 60 tfd-run "$PROGRAM" --set train.steps=20 --set train.checkpoint.dir=ck "$@" </dev/null
}
same_metrics() { # METRICS OTHERS; batches of other examples have other roundings
  jq -en --argjson one "$1" --argjson other "$2" '($one.accuracy - $other.accuracy | fabs) < 1e-6 and ($one.loss - $other.loss | fabs) < 1e-6'
}

@test "multi-worker: --evaluate gives what one process gives, with the chief's weights, and each batch counts once" {
  trained
  run -0 --separate-stderr timeout 60 tfd-run "$PROGRAM" --evaluate --checkpoint ck </dev/null
  local one n i
  one=$(jq -c .metrics <<<"$output")
  # Batches of a shuffle without a seed, which each process alone would draw by itself.
  jq '.datasets.test |= .[:1] + [{shuffle: {buffer: 1000}}] + .[1:]' "$PROGRAM" >"$EXAMPLES/digits/shuffled.json"
  for n in 1 2 3; do
    group_of "$n"
    PIDS=()
    for ((i = n - 1; i > 0; --i)); do # they have no checkpoint
      worker "worker:$i" "$EXAMPLES/digits/shuffled.json" --evaluate --strategy multi-worker-mirrored --key-file none --set train.checkpoint.dir=none
      PIDS+=("$RUN")
    done
    worker worker:0 "$EXAMPLES/digits/shuffled.json" --evaluate --strategy multi-worker-mirrored --key-file none --set train.checkpoint.dir=ck
    PIDS+=("$RUN")
    group_ends 0
    same_metrics "$(jq -c .metrics worker:0.events)" "$one"
    jq -e '.event == "eval" and .step == 20 and .path == "ck/step-00000020.safetensors" and .seconds > 0' worker:0.events
    [ "$n" -eq 1 ] || [ ! -s worker:1.events ]
  done
  grep -q 'weights from ck/step-00000020.safetensors' worker:0.talk
}

@test "multi-worker: an evaluation in a training counts each example once, whatever the shuffle" {
  jq '.datasets.test |= .[:1] + [{shuffle: {buffer: 1000}}] + .[1:]' "$PROGRAM" >"$EXAMPLES/digits/shuffled.json"
  group_of 2
  start_group 2 "$EXAMPLES/digits/shuffled.json" "${SEEDED[@]}" --set train.steps=20 --set train.checkpoint.dir=ck
  group_ends 0
  local trained
  trained=$(last worker:0 .eval)
  run -0 --separate-stderr timeout 60 tfd-run "$PROGRAM" --evaluate --checkpoint ck </dev/null
  same_metrics "$(jq -c .metrics <<<"$output")" "$(jq -c 'del(.seconds)' <<<"$trained")"
}

@test "multi-worker: a worker that is lost ends a long --evaluate in all with 69; SIGTERM ends all with 75" {
  trained
  jq '.datasets.test |= .[:1] + [{repeat: {count: 100000000}}, {batch: {size: 64, drop_remainder: true}}]' "$PROGRAM" >"$EXAMPLES/digits/long.json"
  group_of 2
  local args=("$EXAMPLES/digits/long.json" --evaluate --checkpoint ck)
  start_group 2 "${args[@]}"
  until_talk worker:0 'weights from '
  kill -KILL "${PIDS[1]}"
  run_ends "${PIDS[0]}" 69
  [ "$(grep -c 'worker:1' worker:0.talk)" = 1 ]
  [ ! -s worker:0.events ]
  start_group 2 "${args[@]}"
  until_talk worker:0 'weights from '
  kill -TERM "${PIDS[1]}"
  group_ends 75
}

@test "multi-worker: what can't be evaluated is said in all, and members that differ are refused" {
  trained
  group_of 2
  start_group 2 "$PROGRAM" --evaluate --checkpoint nowhere
  group_ends 65
  grep -q 'worker:0: .*nowhere' worker:1.talk
  worker worker:0 "$PROGRAM" --evaluate --checkpoint ck --strategy multi-worker-mirrored --key-file none
  local chief=$RUN
  worker worker:1 "$PROGRAM" --predict predict --dataset test --checkpoint ck --strategy multi-worker-mirrored --key-file none
  run_ends "$RUN" 65
  run_ends "$chief" 65
  grep -q 'the members differ in what they run: worker:0 has --evaluate, worker:1 has --predict' worker:1.talk
  run -64 --separate-stderr timeout 60 tfd-run "$PROGRAM" --evaluate --dataset - --strategy multi-worker-mirrored </dev/null
  [[ $stderr == *'--dataset -: one process reads stdin: it takes no --strategy multi-worker-mirrored'* ]]
}

@test "multi-worker: an evaluator of the cluster has no part in --evaluate, --predict and --function, which it says" {
  trained
  local what
  run -0 --separate-stderr timeout 60 tfd-run "$PROGRAM" --evaluate --checkpoint ck </dev/null
  local one
  one=$(jq -c .metrics <<<"$output")
  for what in "--evaluate" "--predict predict --dataset test"; do
    # shellcheck disable=SC2086
    run -0 --separate-stderr timeout 60 tfd-launch --jobs worker=2,evaluator=1 --no-prefix -- tfd-run "$PROGRAM" $what --checkpoint ck --strategy multi-worker-mirrored
    [[ $stderr == *"evaluator:0 evaluates a training's checkpoints, and has no part in this"* ]]
    [ "$what" != --evaluate ] || [ "$(jq -c .metrics <<<"$output")" = "$one" ]
  done
}
