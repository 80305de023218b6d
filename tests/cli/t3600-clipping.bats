#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Gradients are clipped in the same order wherever a program trains: of those that are accumulated the mean, as in Keras.

load clipping
setup() { coordinate_setup; }
teardown() { run_teardown; }

# Two updates: of 1.5, 2 and 6, which is half of each gradient; of 1.5, 2 and 2.5, each by its own norm; of 3, 3.5 and 3.5.
each_way() { # COMMAND…: is called with a name for the checkpoints
  local clip
  for clip in '"global_clipnorm": 6.5=-3 -4 -12' '"clipnorm": 2.5=-3 -4 -5' '"clipvalue": 3.5=-6 -7 -7'; do
    clipping_program "${clip%%=*}" 6
    rm -rf ck
    "$@"
    [ "$(clipped_values ck)" = "${clip#*=}" ] || { echo "${clip%%=*}: $(clipped_values ck), not ${clip#*=}"; return 1; }
  done
}

here() { run -0 --separate-stderr timeout 60 tfd-run -q program.json "$@" </dev/null; }
in_a_pipe() { # PS [OPTION]
  run -0 --separate-stderr timeout 60 bash -c "tfd-resolve local --jobs worker=1,ps=$1 | tfd-serve | tfd-coordinate -q program.json ${2:-}"
}
v1() {
  worker worker:0 program.json --keep-servers
  run_ends "$RUN" 0
}

@test "clipping: the mean of accumulated gradients is clipped, on one device, whatever the way of its steps" {
  each_way here
  each_way here --step threads
}

@test "clipping: the mean of accumulated gradients is clipped, on two devices, whatever the way of their steps" {
  each_way here --devices 2
  each_way here --devices 2 --step fused
}

@test "clipping: the mean of accumulated gradients is clipped, with the variables on the host" {
  each_way here --strategy central-storage
  each_way here --strategy central-storage --devices 2
}

@test "clipping: the mean of accumulated gradients is clipped, on one parameter server or two, under a coordinator" {
  each_way in_a_pipe 1
  each_way in_a_pipe 2
  each_way in_a_pipe 2 --strict
}

@test "clipping: the mean of accumulated gradients is clipped, on two parameter servers of an asynchronous worker" {
  cluster_of 1 2
  each_way v1
}

@test "clipping: a checkpoint from between the gradients of an update goes on anywhere" {
  clipping_program '"global_clipnorm": 6.5' 8
  in_a_pipe 2
  [ "$(clipped_values ck)" = "-3 -4 -12" ]
  here --set train.steps=10 --step threads
  [ "$(clipped_values ck)" = "-4.5 -6 -18" ]
  here --set train.steps=12 --strategy central-storage
  [ "$(clipped_values ck)" = "-6 -8 -24" ]
}

@test "clipping: --compat tensorflow clips each replica's gradients before they are added up" {
  clipping_program '"clipvalue": 3.5' 3
  jq 'del(.optimizer.sgd.gradient_accumulation_steps) | .train.replicas = "split"
      | .datasets.d[0].tensor_slices.fields.x = {"dtype": "f32", "shape": [3], "data": [0, 3, 0]}
      | .datasets.d += [{"batch": {"size": 2}}]' program.json >with.json
  mv with.json program.json
  sed -i 's/(%x: tensor<f32>)/(%row: tensor<1xf32>)/; s/^    %of_a/    %x = stablehlo.reshape %row : (tensor<1xf32>) -> tensor<f32>\n&/' clipping.mlir
  local way
  # Three batches of two: the gradients of an element that isn't 0 are clipped to 3.5 each, or the mean of both is.
  for way in "" "--step fused" "--strategy central-storage"; do
    rm -rf ck
    # shellcheck disable=SC2086
    here --devices 2 --compat tensorflow $way
    [ "$(clipped_values ck)" = "-3.5 -3.5 -3.5" ]
    rm -rf ck
    # shellcheck disable=SC2086
    here --devices 2 $way
    [ "$(clipped_values ck)" = "-7 -7 -7" ]
  done
  for way in 'gradient_accumulation_steps=2' 'on_nonfinite="stop"' 'loss_scale=8'; do
    run -65 --separate-stderr timeout 60 tfd-run -q program.json --devices 2 --compat tensorflow --set "optimizer.sgd.$way" </dev/null
    [[ $stderr == *"optimizer.sgd.${way%%=*}: "* ]]
  done
}
