#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Numbers are never silently different: a loss that is not finite ends a training, one seed seeds everything, several replicas say
# what they take of a batch, and processors that differ agree on their instructions. In every strategy.

load group
setup() { coordinate_setup; }
teardown() { run_teardown; }

# Steps go through the roof from the second one on.
DIVERGES=(--set optimizer.adam.learning_rate=1e30 --set train.steps=40 --set train.checkpoint.every=10 --set train.log_every=1)
digits() { cp "$EXAMPLES"/digits/* .; }

# The training ended as it should: the step that failed is after the newest checkpoint, if there is one, and no checkpoint has a
# number that is not finite.
ended_by_loss() { # OUTPUT
  [[ $stderr =~ metric\ \'loss\'\ of\ replica\ [0-9]\ is\ (NaN|infinite)\ at\ step\ [0-9]+\ \(train\.on_nonfinite=continue ]]
  jq -es 'last | .event == "end" and .reason == "error" and .error.code == "INTERNAL"' <<<"$output"
  [ ! -e ck ] || ! ls ck/step-* 2>/dev/null || tfd-checkpoint verify ck
}

@test "not finite: a loss ends a training with 70 on one device, on several, fused and not, and in a group" {
  digits
  local how
  for how in '--devices 1' '--strategy mirrored --devices 2 --step threads' '--strategy mirrored --devices 2 --step fused' '--strategy parameter-server'; do
    rm -rf ck
    # shellcheck disable=SC2086
    run -70 --separate-stderr timeout 100 tfd-run program.json --cluster none $how "${DIVERGES[@]}" --set train.checkpoint.dir=ck </dev/null
    ended_by_loss
  done
  rm -rf ck
  run -70 --separate-stderr timeout 100 tfd-launch -n 2 -- tfd-run program.json --strategy multi-worker-mirrored "${DIVERGES[@]}" --set train.checkpoint.dir=ck
  [[ $stderr =~ metric\ \'loss\'\ of\ replica\ [01]\ is\ (NaN|infinite)\ at\ step\ [0-9]+ ]]
  ! ls ck/step-* 2>/dev/null || tfd-checkpoint verify ck
}

@test "not finite: a loss ends a training on parameter servers with 70, and the next one doesn't go on with what they hold" {
  digits
  serve --jobs worker=2,ps=2
  run -70 --separate-stderr timeout 100 tfd-coordinate program.json --cluster spec.json --keep-servers "${DIVERGES[@]}" --set train.checkpoint.dir=ck
  ended_by_loss
  [[ $stderr == *"worker:"* ]]
  run -0 --separate-stderr timeout 100 tfd-coordinate program.json --cluster spec.json --keep-servers --set train.steps=50 --set train.checkpoint.dir=ck
  [[ $stderr != *"still hold its state"* ]]
  tfd-checkpoint verify ck
}

@test "not finite: with v1's parameter servers all workers end with 70, and a new chief begins with finite numbers" {
  digits
  cluster_of 2 1
  two_workers program.json "${DIVERGES[@]}" --set train.checkpoint.dir=ck --keep-servers
  run_ends "$CHIEF" 70
  run_ends "$OTHER" 70
  grep -q "metric 'loss' of replica 0 is" worker:0.talk
  grep -q "metric 'loss' of replica 0 is" worker:1.talk
  two_workers program.json --set train.steps=60 --set train.checkpoint.dir=ck2
  both_end
  tfd-checkpoint verify ck2
}

@test "not finite: a gradient that is not finite beside a finite loss is never saved over the checkpoint before" {
  cat >step.mlir <<'MLIR'
module @step {
  func.func public @main(%w: tensor<f32>, %step: tensor<i32>) -> (tensor<f32>, tensor<f32>) {
    %last = stablehlo.constant dense<9> : tensor<i32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %0 = stablehlo.compare EQ, %step, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = stablehlo.select %0, %inf, %one : tensor<i1>, tensor<f32>
    return %one, %1 : tensor<f32>, tensor<f32>
  }
}
MLIR
  cat >program.json <<'JSON'
{"v": 1, "variables": {"w": {"shape": [], "init": {"zeros": {}}}}, "optimizer": {"sgd": {"learning_rate": 1}},
 "functions": {"step": {"module": "step.mlir", "inputs": [{"variable": "w"}, "step"], "outputs": [{"metric": "loss"}, {"gradient": "w"}]}},
 "train": {"function": "step", "steps": 20, "checkpoint": {"dir": "ck", "every": 5}}}
JSON
  local how
  serve --jobs worker=1,ps=1
  for how in 'tfd-run program.json --cluster none' 'tfd-coordinate program.json --cluster spec.json --keep-servers' \
    'tfd-coordinate program.json --cluster spec.json --keep-servers --set train.checkpoint.by=servers'; do
    rm -rf ck
    # shellcheck disable=SC2086
    run -70 --separate-stderr timeout 60 $how </dev/null
    [[ $stderr == *"variable 'w' is not finite"*"not saved"*"continues from ck/step-00000005"*"(step 5)"* ]]
    tfd-checkpoint verify ck
    [ "$(jq -r .latest ck/index.json)" = "$(basename ck/step-00000005*)" ]
  done
  run -70 --separate-stderr timeout 60 tfd-run program.json --cluster none --start-over --set optimizer.sgd.on_nonfinite=stop </dev/null
  [[ $stderr == *"the gradient of 'w' is not finite at step 10; "*"(step 5)"* ]]
  run -0 --separate-stderr timeout 60 tfd-run program.json --cluster none --start-over --set train.on_nonfinite=continue </dev/null
  run -1 tfd-checkpoint verify ck
}

@test "seed: one seeds initializers, shuffles and random inputs, so that the same command trains the same weights" {
  digits
  jq 'del(.variables[].init.glorot_uniform.seed) | .train.steps = 12 | del(.train.evaluate)' program.json >seeded.json
  local how n=0
  for how in '--devices 1' '--strategy mirrored --devices 2' '--strategy mirrored --devices 2 --step fused --set datasets.train[1].shuffle.reshuffle_each_iteration=false'; do
    n=$((n + 1))
    for i in 1 2; do
      # shellcheck disable=SC2086
      run -0 --separate-stderr timeout 100 tfd-run seeded.json --cluster none $how --set seed=1 --set train.checkpoint.dir="s$n-$i" </dev/null
    done
    run -0 tfd-checkpoint diff "s$n-1" "s$n-2"
  done
  for i in 1 2; do
    run -0 --separate-stderr timeout 100 tfd-launch -n 2 -- tfd-run seeded.json --strategy multi-worker-mirrored --set seed=1 --set train.checkpoint.dir="g$i"
  done
  run -0 tfd-checkpoint diff g1 g2
  run -0 tfd-checkpoint diff g1 s2-1 # two devices of one process are two processes
  run -0 --separate-stderr timeout 100 tfd-run seeded.json --cluster none --set seed=2 --set train.checkpoint.dir=other </dev/null
  run -1 tfd-checkpoint diff s1-1 other
  for i in 1 2; do run -0 --separate-stderr timeout 100 tfd-run seeded.json --cluster none --set train.checkpoint.dir="u$i" </dev/null; done
  run -1 tfd-checkpoint diff u1 u2
}

@test "seed: workers of a coordinator see the data in the order of the seed" {
  digits
  jq 'del(.variables[].init.glorot_uniform.seed) | .train.steps = 12 | .train.log_every = 1 | del(.train.evaluate)' program.json >seeded.json
  serve --jobs worker=1,ps=2
  for i in 1 2; do
    run -0 --separate-stderr timeout 100 tfd-coordinate seeded.json --cluster spec.json --keep-servers --set seed=1 --set train.checkpoint.dir="c$i"
  done
  run -0 tfd-checkpoint diff c1 c2
}

@test "replicas: a line at the start says what each takes of a batch" {
  digits
  run -0 --separate-stderr timeout 60 tfd-run program.json --cluster none --devices 1 --set train.steps=2 --set train.checkpoint=null </dev/null
  [[ $stderr != *"replicas"* ]]
  run -0 --separate-stderr timeout 60 tfd-run program.json --cluster none --devices 2 --set train.steps=2 --set train.checkpoint=null </dev/null
  [[ $stderr == *"2 replicas take a batch of 64 each, 128 a step, so an epoch has half the steps; train.replicas=split shares it"* ]]
  run -0 --separate-stderr timeout 60 tfd-run program.json --cluster none --devices 2 --set train.steps=2 --set train.checkpoint=null --set train.replicas=each </dev/null
  [[ $stderr == *"2 replicas take a batch of 64 each, 128 a step"* && $stderr != *"half the steps"* ]]
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/transformer/program.json" --cluster none --devices 2 --set train.steps=2 --set train.checkpoint=null --set train.evaluate=null --set train.replicas=split </dev/null
  [[ $stderr =~ 2\ replicas\ share\ batches\ of\ [0-9]+:\ [0-9]+\ each ]]
  run -0 --separate-stderr timeout 100 tfd-launch -n 2 -- tfd-run program.json --strategy multi-worker-mirrored --set train.steps=2 --set train.checkpoint=null
  [ "$(grep -c "2 replicas take a batch of 64 each" <<<"$stderr")" = 1 ]
}

@test "instructions: members whose processors differ compile for the newest that all have, and have the same bits" {
  digits
  [ "$(uname -m)" = x86_64 ] || skip
  grep -qm1 ' avx' /proc/cpuinfo || skip
  group_of 2
  local args=(program.json "${SEEDED[@]}" --set train.steps=30 --set train.checkpoint.dir=ck --set train.evaluate=null --verify-every 1 --strategy multi-worker-mirrored --key-file none)
  XLA_FLAGS=--xla_cpu_max_isa=SSE4_2 worker worker:1 "${args[@]}"
  PIDS=("$RUN")
  worker worker:0 "${args[@]}"
  PIDS+=("$RUN")
  group_ends 0
  grep -q 'XLA compiles for SSE4_2 in each process, the newest instruction set that all have (worker:0 [A-Z0-9_]*, worker:1 SSE4_2)' worker:0.talk
  head -c 4096 ck/step-00000030.safetensors | grep -aq '"isa":"SSE4_2"'
  # One process that may use no more has the same bits; goes on with newer ones with a line.
  XLA_FLAGS=--xla_cpu_max_isa=SSE4_2 run -0 --separate-stderr timeout 100 tfd-run program.json "${SEEDED[@]}" --strategy mirrored --devices 2 --set train.steps=30 \
    --set train.checkpoint.dir=one --set train.evaluate=null </dev/null
  [[ $stderr != *"last bits may differ"* ]]
  [ "$(weights ck/step-00000030.safetensors)" = "$(weights one/step-00000030.safetensors)" ]
  run -0 --separate-stderr timeout 100 tfd-run program.json "${SEEDED[@]}" --strategy mirrored --devices 2 --set train.steps=31 --set train.checkpoint.dir=one --set train.evaluate=null </dev/null
  [[ $stderr == *"one/step-00000030.safetensors: XLA compiled for SSE4_2 there, and compiles for "*" now: the last bits may differ; XLA_FLAGS=--xla_cpu_max_isa=SSE4_2 keeps them equal"* ]]
}

@test "kernels: members of which one has oneDNN compute without it" {
  [ -n "${TFD_TEST_ONEDNN:-}" ] || skip "oneDNN isn't here"
  digits
  group_of 2
  local args=(program.json "${SEEDED[@]}" --set train.steps=30 --set train.checkpoint.dir=ck --set train.evaluate=null --verify-every 1 --strategy multi-worker-mirrored --key-file none)
  TFD_ONEDNN=$TFD_TEST_ONEDNN worker worker:1 "${args[@]}"
  PIDS=("$RUN")
  worker worker:0 "${args[@]}"
  PIDS+=("$RUN")
  group_ends 0
  grep -q "programs compute by the kernels 'tfd-1' in each process, since the last bits depend on them (worker:0 tfd-1, worker:1 tfd-1+onednn-3[.0-9]*; TFD_KERNELS)" worker:0.talk
  head -c 4096 ck/step-00000030.safetensors | grep -aq '"kernels":"tfd-1"'
}

@test "kernels: members that differ compute by the plug-in's own, a checkpoint says so, and so does a training that goes on with others" {
  digits
  group_of 2
  local args=(program.json "${SEEDED[@]}" --set train.steps=30 --set train.checkpoint.dir=ck --set train.evaluate=null --verify-every 1 --strategy multi-worker-mirrored --key-file none)
  TFD_KERNELS=xla worker worker:1 "${args[@]}"
  PIDS=("$RUN")
  worker worker:0 "${args[@]}"
  PIDS+=("$RUN")
  group_ends 0
  grep -q "programs compute by the kernels 'xla' in each process, since the last bits depend on them (worker:0 tfd-1, worker:1 xla; TFD_KERNELS)" worker:0.talk
  head -c 4096 ck/step-00000030.safetensors | grep -aq '"kernels":"xla"'
  local one=(program.json "${SEEDED[@]}" --strategy mirrored --devices 2 --set train.evaluate=null --set train.checkpoint.dir=one)
  TFD_KERNELS=xla run -0 --separate-stderr timeout 100 tfd-run "${one[@]}" --set train.steps=30 </dev/null
  [ "$(weights ck/step-00000030.safetensors)" = "$(weights one/step-00000030.safetensors)" ]
  run -0 --separate-stderr timeout 100 tfd-run "${one[@]}" --set train.steps=31 </dev/null
  [[ $stderr == *"one/step-00000030.safetensors: programs computed by the kernels 'xla' there, and do by 'tfd-1' now: the last bits may differ; TFD_KERNELS=xla keeps them equal"* ]]
  head -c 4096 one/step-00000031.safetensors | grep -aq '"kernels":"tfd-1"'
  TFD_KERNELS=fast run -64 --separate-stderr timeout 100 tfd-run "${one[@]}" --set train.steps=32 </dev/null
  [[ $stderr == *"TFD_KERNELS=fast: it is xla (the plug-in's own kernels), tfd-1 (without oneDNN), or unset"* ]]
}
