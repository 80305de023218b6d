#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy multi-worker-mirrored --compat tensorflow: what differs there as with TensorFlow's strategy.

load group
setup() { coordinate_setup; }
teardown() { run_teardown; }

# A program that writes down which replica gets which of 13 numbers in which step: 100 * (step + 1) + replica.
looking_program() {
  cat >look.mlir <<'MLIR'
module @look {
  func.func public @main(%step: tensor<i64>, %replica: tensor<i64>, %x: tensor<1xi64>) -> (tensor<f32>, tensor<13xi64>, tensor<i64>, tensor<i64>) {
    %loss = stablehlo.constant dense<0.0> : tensor<f32>
    %hundred = stablehlo.constant dense<100> : tensor<i64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %zeros = stablehlo.constant dense<0> : tensor<13xi64>
    %number = stablehlo.add %step, %one : tensor<i64>
    %hundreds = stablehlo.multiply %number, %hundred : tensor<i64>
    %seen = stablehlo.add %hundreds, %replica : tensor<i64>
    %all = stablehlo.broadcast_in_dim %seen, dims = [] : (tensor<i64>) -> tensor<13xi64>
    %places = stablehlo.iota dim = 0 : tensor<13xi64>
    %here = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<1xi64>) -> tensor<13xi64>
    %is = stablehlo.compare EQ, %places, %here : (tensor<13xi64>, tensor<13xi64>) -> tensor<13xi1>
    %out = stablehlo.select %is, %all, %zeros : tensor<13xi1>, tensor<13xi64>
    return %loss, %out, %seen, %seen : tensor<f32>, tensor<13xi64>, tensor<i64>, tensor<i64>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1,
 "variables": {"where": {"shape": [13], "dtype": "s64", "init": {"zeros": {}}, "aggregation": "sum"},
               "own": {"shape": [], "dtype": "s64", "init": {"zeros": {}}},
               "first": {"shape": [], "dtype": "s64", "init": {"zeros": {}}, "aggregation": "only_first_replica"}},
 "datasets": {"train": [{"range": 13}, {"batch": {"size": 4}}]},
 "functions": {"look": {"module": "look.mlir", "inputs": ["step", "replica_id", {"dataset": "train"}],
                        "outputs": [{"metric": "loss"}, {"assign_add": "where"}, {"assign_add": "own"}, {"assign_add": "first"}]}},
 "train": {"function": "look", "epochs": 1, "replicas": "split", "checkpoint": {"dir": "ck"}}}
JSON
}
compat() { # N ARGS…
  group_of "$1"
  start_group "$@" --compat tensorflow
}

@test "multi-worker: --compat tensorflow deals a batch's parts out to the workers in turns, until all have ended" {
  looking_program
  # Batches of range(13).batch(4) on 2 x 2 replicas: step 0 worker 0 [0][2], worker 1 [1][3]; the last one [12][] and [][].
  compat 2 program.json --replicas 4
  group_ends 0
  [ "$(last worker:0 .step)" = 4 ]
  [ "$(newest_numbers ck where 13q | xargs)" = "100 102 101 103 200 202 201 203 300 302 301 303 400" ]
  # Values without aggregation are each replica's own, or those of its worker's first one: the file has the first replica's.
  [ "$(newest_numbers ck own q first q | xargs)" = "1000 1000" ]
}

@test "multi-worker: --compat tensorflow: an epoch ends with the data of all, and the next one begins for all" {
  looking_program
  # Three workers' parts of each batch are ceil(4 / 3) rows: the third one has none of any.
  sed -i 's/tensor<1xi64>/tensor<2xi64>/; s/%here = .*/%row = stablehlo.slice %x [0:1] : (tensor<2xi64>) -> tensor<1xi64>\n    %here = stablehlo.broadcast_in_dim %row, dims = [0] : (tensor<1xi64>) -> tensor<13xi64>/' look.mlir
  compat 3 program.json --replicas 3 --set 'datasets.train=[{"range": 12}, {"batch": {"size": 4}}]' --set train.epochs=2
  group_ends 0
  [ "$(last worker:0 .step)" = 6 ]
  [ "$(newest_numbers ck where 13q | xargs)" = "500 0 502 0 700 0 702 0 900 0 902 0 0" ]
}

@test "multi-worker: --compat tensorflow adds gradients up in the order of TensorFlow's ring" {
  cat >order.mlir <<'MLIR'
module @order {
  func.func public @main(%w: tensor<30xf32>, %v: tensor<10xf32>, %replica: tensor<i64>, %x: tensor<1xi64>) -> (tensor<f32>, tensor<30xf32>, tensor<10xf32>) {
    %loss = stablehlo.constant dense<0.0> : tensor<f32>
    %large = stablehlo.constant dense<1.0e8> : tensor<f32>
    %least = stablehlo.constant dense<-1.0e8> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %second = stablehlo.constant dense<1> : tensor<i64>
    %is_first = stablehlo.compare EQ, %replica, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %is_second = stablehlo.compare EQ, %replica, %second : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %rest = stablehlo.select %is_second, %least, %one : tensor<i1>, tensor<f32>
    %own = stablehlo.select %is_first, %large, %rest : tensor<i1>, tensor<f32>
    %gw = stablehlo.broadcast_in_dim %own, dims = [] : (tensor<f32>) -> tensor<30xf32>
    %gv = stablehlo.broadcast_in_dim %own, dims = [] : (tensor<f32>) -> tensor<10xf32>
    return %loss, %gw, %gv : tensor<f32>, tensor<30xf32>, tensor<10xf32>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1,
 "variables": {"w": {"shape": [30], "dtype": "f32", "init": {"zeros": {}}}, "v": {"shape": [10], "dtype": "f32", "init": {"zeros": {}}}},
 "optimizer": {"sgd": {"learning_rate": 1}},
 "datasets": {"train": [{"range": 3}, {"batch": {"size": 3}}]},
 "functions": {"order": {"module": "order.mlir", "inputs": [{"variables": "*"}, "replica_id", {"dataset": "train"}],
                         "outputs": [{"metric": "loss"}, {"gradient": "w", "reduce": "sum"}, {"gradient": "v", "reduce": "sum"}]}},
 "train": {"function": "order", "epochs": 1, "replicas": "split", "checkpoint": {"dir": "ck"}}}
JSON
  compat 3 program.json --replicas 3
  group_ends 0
  # v comes before w. In the first 16 elements of all 40 it is (1e8 - 1e8) + 1; in the others (-1e8 + 1) + 1e8, (1 + 1e8) - 1e8.
  [ "$(newest_numbers ck v 10f w 30f | sort | uniq -c | xargs)" = "16 -1 24 0" ] || { newest_numbers ck v 10f w 30f | xargs && false; }
  [ "$(newest_numbers ck w 8f | xargs)" = "-1 -1 -1 -1 -1 -1 0 0" ]
}

@test "multi-worker: --compat tensorflow goes on from a checkpoint with the same elements" {
  local args=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 2)
  compat 2 "${args[@]}" --set train.steps=10 --set train.checkpoint.dir=ck
  group_ends 0
  compat 2 "${args[@]}" --set train.steps=20 --set train.checkpoint.dir=ck
  group_ends 0
  compat 2 "${args[@]}" --set train.steps=20 --set train.checkpoint.dir=ck0
  group_ends 0
  [ "$(weights ck/step-00000020.safetensors)" = "$(weights ck0/step-00000020.safetensors)" ]
}

@test "multi-worker: --compat tensorflow: what doesn't go with it is refused" {
  looking_program
  group_of 2
  refused() { # CODE TEXT ARGS…
    run "-$1" --separate-stderr timeout 60 tfd-run program.json --strategy multi-worker-mirrored --cluster cluster.json --task worker:0 \
      --key-file none --compat tensorflow "${@:3}" </dev/null
    [[ $stderr == *"$2"* ]] || { echo "$stderr"; false; }
  }
  refused 64 "it takes no --workers" --workers 1:2
  TFD_MEMBER_FILE=$T/member TFD_WORKERS=1:2 refused 64 "it takes no TFD_WORKERS, which is tfd-launch --workers or --nnodes MIN:MAX"
  refused 64 "3 replicas can't be divided by 2 workers: each has as many" --replicas 3
}

@test "multi-worker: --compat tensorflow with --function deals the rows out, and reduces and gathers them, as TensorFlow does" {
  doubling_program
  printed() { # ARGS…
    compat 2 program.json --replicas 4 --function double "$@"
    group_ends 0
    [ ! -s worker:1.events ]
    cat worker:0.events
  }
  # Batches of range(13).batch(4) on 2 x 2 replicas: step 0 worker 0 [0][2], worker 1 [1][3]; the last one [12][] and [][].
  local thirteen='[{"range": 13}, {"batch": {"size": 4}}]'
  [ "$(printed --dataset "$thirteen" | sed -n '1p;$p')" = '{"0":[0],"1":[4],"2":[2],"3":[6]}
{"0":[24]}' ]
  # With 3 rows, and with 2, too, the first replica of each worker gets one first.
  [ "$(printed --dataset '[{"range": 5}, {"batch": {"size": 3}}]')" = '{"0":[0],"1":[4],"2":[2]}
{"0":[6],"2":[8]}' ]
  [ "$(printed --dataset "$thirteen" --gather 0 | sed -n '1p;$p')" = '[0,4,2,6]
[24]' ]
  [ "$(printed --dataset "$thirteen" --reduce sum | xargs)" = '[12] [44] [76] [24]' ]
  # A mean of integers is one of floating-point numbers, of all replicas; over the rows, of the existing ones.
  [ "$(printed --dataset "$thirteen" --reduce mean | xargs)" = '[3.0] [11.0] [19.0] [6.0]' ]
  [ "$(printed --dataset "$thirteen" --reduce mean --axis 0 | xargs)" = '3.0 11.0 19.0 24.0' ]
  compat 2 program.json --replicas 4 --function count --dataset "$thirteen"
  group_ends 65
  grep -q "function 'count' updates variables, which --function of several workers with --compat tensorflow doesn't do$" worker:0.talk
}

@test "multi-worker: --compat tensorflow with --predict gives each row's result once, in the order of the workers' replicas" {
  doubling_program
  local n
  for n in 1 2; do
    compat "$n" program.json --replicas 4 --predict double --output rows.npy --dataset '[{"range": 8}, {"batch": {"size": 4}}]'
    group_ends 0
    mv rows.npy "rows$n.npy"
  done
  numbers() { python3 -c 'import sys; data = open(sys.argv[1], "rb").read(); print(*memoryview(data[-64:]).cast("q"))' "$1"; }
  [ "$(numbers rows1.npy)" = '0 2 4 6 8 10 12 14' ]
  [ "$(numbers rows2.npy)" = '0 4 2 6 8 12 10 14' ]
}

@test "multi-worker: --compat tensorflow with --predict, where an early replica has fewer rows than later ones" {
  doubling_program
  seq 0 8 >a.csv
  seq 100 115 >b.csv
  # Each worker has a file and takes 8 of 16 rows: in the second step worker 0 has one row for its two replicas.
  compat 2 program.json --replicas 4 --predict double --dataset '[{"csv": {"path": ["a.csv", "b.csv"], "fields": {"x": {"columns": 0, "dtype": "s64"}}}},
    {"batch": {"size": 16}}]'
  group_ends 0
  [ "$(xargs <worker:0.events)" = '0 2 4 6 8 10 12 14 200 202 204 206 208 210 212 214 16 216 218 220 222 224 226 228 230' ]
}
