#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy multi-worker-mirrored with --function and --predict: the chief prints what one process would.

load group
load until
setup() { coordinate_setup; }
teardown() { run_teardown; }

# The chief of 1, 2 and 3 workers prints what one process with 3 replicas prints, and the others nothing.
as_one_process() { # ARGS…
  local n
  run -0 --separate-stderr timeout 60 tfd-run "$@" --replicas 3 --strategy mirrored </dev/null
  [ -n "$output" ]
  for n in 1 2 3; do
    group_of "$n"
    start_group "$n" "$@" --replicas 3
    group_ends 0
    diff <(echo "$output") worker:0.events || return 1
    [ "$n" -eq 1 ] || [ ! -s worker:1.events ] || return 1
  done
}

@test "multi-worker: --function prints each replica's results in the replicas' order, and updates the variables once" {
  doubling_program
  # The last element has a row for the first replica alone.
  as_one_process program.json --function double --dataset '[{"range": 7}, {"batch": {"size": 3}}]'
  [ "$output" = '{"0":[0],"1":[2],"2":[4]}
{"0":[6],"1":[8],"2":[10]}
{"0":[12]}' ]
  as_one_process program.json --function count --dataset '[{"range": 7}, {"batch": {"size": 3}}]' --set 'functions.count.returns=["n"]'
  [ "$output" = '{"0":[0, 3],"1":[0, 3],"2":[0, 3]}
{"0":[3, 6],"1":[3, 6],"2":[3, 6]}
{"0":[6, 7]}' ]
}

@test "multi-worker: --reduce and --gather are over the replicas of all workers" {
  doubling_program
  local dataset='[{"range": 6}, {"batch": {"size": 3}}]'
  as_one_process program.json --function double --dataset "$dataset" --reduce sum
  [ "$output" = '[6]
[24]' ]
  as_one_process program.json --function double --dataset "$dataset" --gather 0
  [ "$output" = '[0,2,4]
[6,8,10]' ]
}

@test "multi-worker: a function that reads its own dataset, and one whose variables have a copy for each replica" {
  doubling_program
  # Each of its elements has one row: the others run nothing.
  as_one_process program.json --function double --set 'functions.double.inputs=[{"dataset": "four"}]' \
    --set 'datasets.four=[{"range": 4}, {"batch": 1}]'
  as_one_process program.json --function count --dataset '[{"range": 7}, {"batch": {"size": 3}}]' \
    --set variables.n.synchronization=on_read --set 'functions.count.returns=["n"]'
  [ "$(head -n 1 <<<"$output")" = '{"0":[0, 3],"1":[0, 3],"2":[0, 3]}' ]
}

@test "multi-worker: --predict gives what one process gives, byte by byte, with the chief's weights" {
  local args=("$EXAMPLES/digits/program.json" --replicas 3)
  run -0 --separate-stderr timeout 60 tfd-run "${args[@]}" "${SEEDED[@]}" --strategy mirrored --set train.steps=20 --set train.checkpoint.dir=ck </dev/null
  run -0 --separate-stderr timeout 60 tfd-run "${args[@]}" --strategy mirrored --predict predict --dataset test --checkpoint ck --output one.npy </dev/null
  group_of 3
  local i
  PIDS=()
  for i in 1 2; do # they have no checkpoint: the chief's counts
    worker "worker:$i" "${args[@]}" --strategy multi-worker-mirrored --key-file none --predict predict --dataset test --set train.checkpoint.dir=none
    PIDS+=("$RUN")
  done
  worker worker:0 "${args[@]}" --strategy multi-worker-mirrored --key-file none --predict predict --dataset test --checkpoint ck --output all.npy \
    --set train.checkpoint.dir=none
  PIDS+=("$RUN")
  group_ends 0
  cmp one.npy all.npy
  grep -q 'weights from ' worker:0.talk
  grep -q 'predictions written to all.npy' worker:0.talk
}

@test "multi-worker: an error of one member's function or data ends --function in all, with its text" {
  doubling_program
  seq 0 5 | sed 's/^/1,/' >rows.csv
  mkdir a b
  cp rows.csv a
  sed '5s/.*/what is this/' rows.csv >b/rows.csv
  local args=(program.json --strategy multi-worker-mirrored --key-file none --function double
    --set 'datasets.rows=[{"csv": {"path": "rows.csv", "fields": {"x": {"columns": 1, "dtype": "s64"}}}}, {"batch": 2}]' --dataset rows)
  group_of 2
  worker worker:1 "${args[@]}" --data-root b
  local other=$RUN
  worker worker:0 "${args[@]}" --data-root a
  run_ends "$RUN" 65
  run_ends "$other" 65
  grep -q 'worker:1: .*rows.csv' worker:0.talk
  grep -q 'rows.csv' worker:1.talk
}

@test "multi-worker: a worker that is killed ends --function in all with 69 and one line; SIGTERM ends all with 75" {
  doubling_program
  local args=(program.json --function double --dataset '[{"range": 2}, {"repeat": {}}, {"batch": 2}]')
  group_of 2
  start_group 2 "${args[@]}"
  until_true has_lines worker:0.events 2
  kill -KILL "${PIDS[1]}"
  run_ends "${PIDS[0]}" 69
  [ "$(grep -c 'worker:1' worker:0.talk)" = 1 ]
  start_group 2 "${args[@]}"
  until_true has_lines worker:0.events 2
  kill -TERM "${PIDS[1]}"
  group_ends 75
}

@test "multi-worker: members that differ in what they run are refused" {
  doubling_program
  group_of 2
  worker worker:0 program.json --strategy multi-worker-mirrored --key-file none --function double --dataset four
  local chief=$RUN
  worker worker:1 program.json --strategy multi-worker-mirrored --key-file none --function count --dataset four
  run_ends "$RUN" 65
  grep -q 'the members differ in --function: worker:0 has double, worker:1 has count' worker:1.talk
  run_ends "$chief" 65
}
