#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The split of a dataset: replicas and workers, policies, TensorFlow's splits, a last batch that is filled up.

setup() {
  cd "$BATS_TEST_TMPDIR" || exit
  echo '[{"range": 10}, {"batch": 8}]' >ten.json
}

# Each line's step, worker, replica and field "value".
shares() { tfd-data "$@" | jq -c '[.step, .worker, .replica, .element.value]'; }
# All that anybody gets, sorted.
rows() { tfd-data "$@" --take 1000 | jq -c '.element.value[]' | sort -n | tr '\n' ' '; }

@test "data: what each replica gets, step by step" {
  [ "$(shares ten.json --replicas 3)" = "$(printf '%s\n' '[0,0,0,[0,1,2]]' '[0,0,1,[3,4,5]]' '[0,0,2,[6,7]]' '[1,0,0,[8]]' '[1,0,1,[9]]' '[1,0,2,[]]')" ]
  [ "$(shares ten.json --replicas 3 --workers 2 --worker 1 --take 1)" = "$(printf '%s\n' '[0,1,3,[5]]' '[0,1,4,[6]]' '[0,1,5,[7]]')" ]
  run -64 --separate-stderr tfd-data ten.json --workers 2 --worker 2
  [[ $stderr == *"--worker 2: there are 2 workers (--workers), the first of which is 0"* ]]
  run -64 --separate-stderr tfd-data ten.json --worker 1
  [[ $stderr == *"--worker 1: there is 1 worker (--workers), the first of which is 0"* ]]
  run -64 --separate-stderr tfd-data ten.json --replicas 2 --count
  run -65 --separate-stderr tfd-data - --replicas 2 <<<'[{"range": 4}]'
  [[ $stderr == *"batch the dataset"* ]]
}

@test "data: TensorFlow's splits, where they differ" {
  [ "$(shares ten.json --replicas 3 --compat tensorflow --take 1)" = "$(printf '%s\n' '[0,0,0,[0,1,2]]' '[0,0,1,[3,4,5]]' '[0,0,2,[6,7]]')" ]
  [ "$(shares ten.json --replicas 2 --workers 2 --compat tensorflow --take 1)" = "$(printf '%s\n' '[0,0,0,[0,1]]' '[0,0,1,[4,5]]' '[0,1,2,[2,3]]' '[0,1,3,[6,7]]')" ]
  [ "$(shares - --replicas 2 --compat tensorflow <<<'[{"range": 10}, {"batch": 8}, {"options": {"auto_shard": "off"}}]' | tail -n 2)" = "$(printf '%s\n' '[1,0,0,[8,9]]' '[1,0,1,[]]')" ]
  run -65 --separate-stderr tfd-data - --workers 2 --compat tensorflow <<<'[{"range": 4}, {"batch": 2}, {"options": {"auto_shard": "file"}}]'
  [[ $stderr == *'"auto_shard": "file": no files to share among the workers: range'* ]]
}

@test "data: nothing is seen twice and nothing lost, however uneven the files are" {
  for file in 0 1 2 3 4; do seq $((file * 100)) $((file * 101)) >"$file.csv"; done
  local source='{"csv": {"path": "*.csv", "fields": {"value": {"columns": 0, "dtype": "s32"}}}}' all
  all=$(cat ./*.csv | sort -n | tr '\n' ' ')
  for policy in auto data file; do
    echo "[$source, {\"batch\": 4}, {\"options\": {\"auto_shard\": \"$policy\"}}]" >"$policy.json"
    for workers in 2 3 7; do
      [ "$(rows "$policy.json" --workers "$workers" --replicas 2)" = "$all" ] || { echo "$policy, $workers workers"; false; }
    done
  done
  # Only rows of its own files.
  [ "$(tfd-data file.json --workers 5 --worker 3 --take 100 | jq -c '.element.value[]' | tr '\n' ' ')" = "$(tr '\n' ' ' <3.csv)" ]
  # TensorFlow wants a file for each.
  run -65 --separate-stderr tfd-data file.json --workers 7 --compat tensorflow
  [[ $stderr == *"*.csv only means 5 files"* ]]
  echo "[$source, {\"shard\": \"hint\"}, {\"batch\": 4}, {\"options\": {\"auto_shard\": \"hint\"}}]" >hint.json
  [ "$(rows hint.json --workers 3)" = "$all" ]
  run -78 tfd-data - <<<'[{"range": 4}, {"shard": "hint"}]'
}

@test "data: a program's functions make the elements that replicas get" {
  cat >program.json <<'JSON'
{"v": 1, "datasets": {"d": [{"range": 6}, {"map": {"function": "more", "fields": ["value"]}}, {"batch": 4}]},
 "functions": {
   "more": {"command": ["jq", "-c", "--unbuffered", ". + 10"], "keep": true,
            "arguments": [{"dtype": "s64", "shape": []}], "results": [{"dtype": "s64", "shape": []}],
            "inputs": [{"arg": 0}], "outputs": [{"result": 0}]}}}
JSON
  [ "$(shares program.json d --replicas 2)" = "$(printf '%s\n' '[0,0,0,[10,11]]' '[0,0,1,[12,13]]' '[1,0,0,[14]]' '[1,0,1,[15]]')" ]
}

@test "run: --compat tensorflow splits what a function is run on" {
  cat >program.json <<'JSON'
{"v": 1, "datasets": {"d": [{"range": 10}, {"batch": 9}]},
 "functions": {
   "sum": {"command": ["jq", "-c", "add"], "arguments": [{"dtype": "s64", "shape": [3]}], "results": [{"dtype": "s64", "shape": []}],
           "inputs": [{"arg": 0}], "outputs": [{"result": 0}]}}}
JSON
  # Nine rows over four: pieces of three, and nothing for the last one. Equal shares would be 3, 2, 2 and 2.
  run --separate-stderr timeout 60 tfd-run program.json --function sum --dataset '[{"range": 9}, {"batch": 9}]' --replicas 4 --compat tensorflow </dev/null
  [ "$(head -n 1 <<<"$output")" = '{"0":3,"1":12,"2":21}' ]
}

@test "run: predictions are those of rows that are data" {
  cat >program.json <<'JSON'
{"v": 1, "datasets": {"d": [{"range": 5}, {"batch": {"size": 4, "pad_remainder": true}}]},
 "functions": {
   "double": {"command": ["jq", "-c", "map(. * 2)"], "arguments": [{"dtype": "s64", "shape": [4]}],
              "results": [{"dtype": "s64", "shape": [4]}],
              "inputs": [{"arg": 0, "field": "value"}], "outputs": [{"result": 0}]}}}
JSON
  run -0 --separate-stderr timeout 60 tfd-run program.json --predict double --dataset d </dev/null
  [ "$(jq -c . <<<"$output" | tr '\n' ' ')" = '0 2 4 6 8 ' ]
}

@test "run: a last batch that is filled up counts by its mask" {
  cat >step.mlir <<'MLIR'
module @step {
  func.func public @main(%w: tensor<f32>, %x: tensor<4xf32>, %mask: tensor<4xf32>) -> (tensor<f32> {jax.result_info = "loss"}, tensor<f32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %real = stablehlo.multiply %x, %mask : tensor<4xf32>
    %sum = stablehlo.reduce(%real init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %count = stablehlo.reduce(%mask init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %mean = stablehlo.divide %sum, %count : tensor<f32>
    return %mean, %mean : tensor<f32>, tensor<f32>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1, "variables": {"w": {"dtype": "f32", "shape": [], "init": {"constant": {"value": 0}}}},
 "optimizer": {"sgd": {"learning_rate": 1}},
 "datasets": {"d": [{"tensor_slices": {"fields": {"x": {"dtype": "f32", "shape": [6], "data": [1, 2, 3, 4, 10, 30]}}}},
                    {"batch": {"size": 4, "pad_remainder": true}}]},
 "functions": {"step": {"module": "step.mlir",
   "inputs": [{"variable": "w"}, {"dataset": "d", "field": "x"}, {"dataset": "d", "field": "mask"}],
   "outputs": [{"metric": "loss"}, {"gradient": "w"}]}},
 "train": {"function": "step", "steps": 2, "log_every": 1}}
JSON
  run -0 --separate-stderr timeout 60 tfd-run program.json --set train.steps=1 --replicas 2 </dev/null
  # Both batches in one step: the mean of the six rows, not of the eight.
  echo "$output"
  jq -es 'last.metrics.loss | . > 8.333 and . < 8.334' <<<"$output"
}

@test "run: --compat tensorflow: a training takes the very steps of TensorFlow" {
  cat >step.mlir <<'MLIR'
module @step {
  func.func public @main(%x: tensor<2xf32>) -> (tensor<f32>, tensor<f32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %mean = stablehlo.divide %sum, %two : tensor<f32>
    return %mean, %mean : tensor<f32>, tensor<f32>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1, "variables": {"w": {"dtype": "f32", "shape": [], "init": {"constant": {"value": 0}}}},
 "optimizer": {"sgd": {"learning_rate": 1}},
 "datasets": {"d": [{"csv": {"path": "rows.csv", "fields": {"x": {"columns": 0}}}}, {"batch": 4}]},
 "functions": {"step": {"module": "step.mlir", "inputs": [{"dataset": "d", "field": "x"}],
                        "outputs": [{"metric": "loss"}, {"gradient": "w"}]}},
 "train": {"function": "step", "epochs": 2, "log_every": 1, "replicas": "split"}}
JSON
  printf '%s\n' 1 2 3 4 10 30 >rows.csv
  losses() { jq -c 'select(.event == "step").metrics.loss' <<<"$output" | paste -sd' '; }
  # The last two rows of an epoch are one replica's; by default each has one, for which there is no module.
  for more in "" "--strategy central-storage"; do
    run -0 --separate-stderr timeout 60 tfd-run program.json --replicas 2 --compat tensorflow $more </dev/null
    [ "$(losses)" = '2.5 20 2.5 20' ]
  done
  # A step that a replica has no element for is lost where all elements have one shape.
  local each=(--replicas 2 --set train.replicas=each --set 'datasets.d[1].batch={"size": 2, "drop_remainder": true}')
  run -0 --separate-stderr timeout 60 tfd-run program.json "${each[@]}" </dev/null
  [ "$(losses)" = '2.5 10.75 11.75' ]
  run -0 --separate-stderr timeout 60 tfd-run program.json "${each[@]}" --compat tensorflow </dev/null
  [ "$(losses)" = '2.5 2.5' ]
  # Behind a repeat batches are cut and joined across the passes, also where a training goes on.
  local saved=(--replicas 2 --compat tensorflow
    --set 'datasets.d=[{"csv": {"path": "rows.csv", "fields": {"x": {"columns": 0}}}}, {"batch": 4}, {"repeat": 2}]')
  run -0 --separate-stderr timeout 60 tfd-run program.json "${saved[@]}" \
    --set 'train={"function": "step", "steps": 2, "log_every": 1, "replicas": "split", "checkpoint": {"dir": "ckpt"}}' </dev/null
  [ "$(losses)" = '2.5 10.75' ]
  run -0 --separate-stderr timeout 60 tfd-run program.json "${saved[@]}" \
    --set 'train={"function": "step", "steps": 3, "log_every": 1, "replicas": "split", "checkpoint": {"dir": "ckpt"}}' </dev/null
  [ "$(losses)" = '11.75' ]
}

@test "data: a hint in a program, before its batch; options belong to the whole pipeline" {
  cat >id.mlir <<'M'
module @id {
  func.func public @main(%x: tensor<4xi64>) -> tensor<4xi64> {
    return %x : tensor<4xi64>
  }
}
M
  echo '{"v": 1, "functions": {"id": {"module": "id.mlir", "inputs": [{"arg": 0, "field": "value"}], "outputs": [{"result": 0}]}}}' >id.json
  run -0 --separate-stderr timeout 60 tfd-run id.json --function id \
    --dataset '[{"range": 8}, {"shard": "hint"}, {"batch": 4}, {"options": {"auto_shard": "hint"}}]' </dev/null
  [ "$(jq -c '."0"' <<<"$output" | tr '\n' ' ')" = '[0,1,2,3] [4,5,6,7] ' ]
  echo '[{"range": 3}, {"concatenate": [[{"range": 3}, {"options": {"distribute": "dynamic"}}]]}]' >inner.json
  run -65 --separate-stderr tfd-data inner.json
  [[ $stderr == *"[1].concatenate[0][1].options: belongs to the whole pipeline, not to one within another" ]]
  echo '[{"command": {"argv": ["seq", "10"], "format": "csv", "fields": {"x": {"columns": 0}}, "shard": {"count": 2, "index": 1}}}]' >shard.json
  run -65 --separate-stderr tfd-data shard.json
  [[ $stderr == *"[0].command.shard: unknown"* ]]
}
