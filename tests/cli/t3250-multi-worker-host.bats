#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy multi-worker-mirrored with functions that look rows up and update them: the variables are on each worker's host.

load group
setup() {
  coordinate_setup
  ARGS=("$EXAMPLES/recommender/program.json" --replicas 4 --set 'datasets.interactions[1]={"shuffle": {"buffer": 2000, "seed": 7}}')
}
teardown() { run_teardown; }

@test "multi-worker: tables have the same bits on one to three workers and in mirrored, whose checkpoint they go on from" {
  run -0 --separate-stderr timeout 60 tfd-run "${ARGS[@]}" --strategy mirrored --set train.steps=20 --set train.checkpoint.dir=ck0 </dev/null
  local n evaluated
  cp -r ck0 ck-begun
  run -0 --separate-stderr timeout 60 tfd-run "${ARGS[@]}" --strategy mirrored --set train.steps=40 --set train.checkpoint.dir=ck0 </dev/null
  evaluated=$(jq -c 'select(.event == "end").eval | del(.seconds)' <<<"$output")
  for n in 1 2 3; do
    group_of "$n"
    cp -r ck-begun "ck$n"
    start_group "$n" "${ARGS[@]}" --set train.steps=40 --set "train.checkpoint.dir=ck$n"
    group_ends 0
    [ "$(numbers_of_tables "ck$n")" = "$(numbers_of_tables ck0)" ]
    jq -es 'any(.[]; .event == "start" and .step == 20)' worker:0.events
    [ "$(last worker:0 '.eval | del(.seconds)')" = "$evaluated" ]
  done
}

# A table of 12 rows of 2, [0, 0.5], [1, 1.5] and so on, of which a function looks a row up, and another one subtracts that row from it.
row_program() {
  cat >look.mlir <<'MLIR'
module @look {
  func.func public @main(%rows: tensor<1x2xf32> loc("rows")) -> tensor<1x2xf32> {
    return %rows : tensor<1x2xf32>
  }
}
MLIR
  jq -n '{v: 1, variables: {table: {shape: [12, 2], init: {value: [range(12) | [., . + 0.5]]}}}, optimizer: {sgd: {learning_rate: 1}},
    functions: {
      look: {module: "look.mlir", inputs: [{lookup: "table", ids: {arg: 0}}], outputs: [{result: 0}]},
      learn: {module: "look.mlir", inputs: [{lookup: "table", ids: {arg: 0}}], outputs: [{gradient: "table", ids: {arg: 0}, reduce: "sum"}], returns: ["table"]},
      step: {module: "look.mlir", inputs: [{lookup: "table", ids: {dataset: "ids"}}], outputs: [{gradient: "table", ids: {dataset: "ids"}}]}},
    datasets: {ids: [{range: 13}, {batch: {size: 1}}]},
    train: {function: "step", steps: 50}}' >program.json
}

@test "multi-worker: --function and --predict look rows up, and update them, as one process does" {
  row_program
  local n args
  for args in '--function look' '--function learn' '--function look --reduce sum'; do
    # shellcheck disable=SC2206
    args=(program.json $args --dataset '[{"range": 7}, {"batch": {"size": 3}}]' --replicas 3 --untrained)
    run -0 --separate-stderr timeout 60 tfd-run "${args[@]}" --strategy mirrored </dev/null
    [ -n "$output" ]
    for n in 1 3; do
      group_of "$n"
      start_group "$n" "${args[@]}"
      group_ends 0
      diff <(echo "$output") worker:0.events
    done
  done
}

@test "multi-worker: a row that isn't there, of one worker's data, ends all with its text" {
  row_program
  group_of 2
  start_group 2 program.json --replicas 2
  group_ends 65
  grep -q "step: 'table': no row 12: there are 12$" worker:0.talk
  grep -q "worker:0: step: 'table': no row 12: there are 12$" worker:1.talk
}

@test "multi-worker: what only variables on devices can do is refused where a program's are on the host" {
  group_of 2
  start_group 2 "${ARGS[@]}" --compat tensorflow
  group_ends 65
  grep -q 'compat tensorflow trains variables on devices only, but it looks rows up$' worker:0.talk
}
