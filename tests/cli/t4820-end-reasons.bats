#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-coordinate: a training that was over is over for a second start, and for its evaluator. And the cause of an error.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# Gets no better after the first evaluation.
stopping_program() {
  counting_program '{"function": "count", "steps": 1000, "log_every": 1000,
    "checkpoint": {"dir": "ck"}, "evaluate": {"function": "eval", "every": 10}, "stop": {"metric": "loss", "patience": 2}}'
  cat >"$T/eval.mlir" <<'MLIR'
module @eval {
  func.func public @main(%x: tensor<i32>) -> tensor<f32> {
    %one = stablehlo.convert %x : (tensor<i32>) -> tensor<f32>
    return %one : tensor<f32>
  }
}
MLIR
  jq '.datasets = {"one": [{"tensor_slices": {"fields": {"x": {"dtype": "s32", "shape": [1], "data": [1]}}}}]}
    | .functions.eval = {"module": "eval.mlir", "inputs": [{"dataset": "one", "field": "x"}], "outputs": [{"metric": "loss"}]}' \
    "$T/program.json" >"$T/with-eval.json"
  mv "$T/with-eval.json" "$T/program.json"
}

@test "end reasons: a run that stopped is over for the same command, and goes on by another rule" {
  stopping_program
  serve --jobs worker=1,ps=2
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  jq -es 'last | .event == "end" and .reason == "stopped" and .step == 30' <<<"$output"
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  [[ $stderr == *"already stopped at step 30, after 2 evaluations without a better loss"* ]]
  jq -es 'last | .event == "end" and .reason == "nothing_left" and .step == 30 and .eval.loss == 1' <<<"$output"
  jq -es 'all(.[]; .event != "step")' <<<"$output"
  # More patience is another rule, by the evaluations seen so far: one more evaluation.
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --set train.stop.patience=3
  jq -es '.[0].step == 30 and (last | .reason == "stopped" and .step == 40)' <<<"$output"
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --set train.stop=null --set train.steps=80
  jq -es 'last | .reason == "done" and .step == 80' <<<"$output"
}

@test "end reasons: a run whose data ended is over for the same command" {
  counting_program '{"function": "count", "log_every": 1000, "checkpoint": {"dir": "ck"}}'
  jq '.datasets = {"two": [{"tensor_slices": {"fields": {"x": {"dtype": "s32", "shape": [2], "data": [1, 1]}}}}]}
    | .functions.count.inputs = [{"dataset": "two", "field": "x"}]' program.json >with-data.json
  serve --jobs worker=1,ps=2
  run -0 --separate-stderr timeout 60 tfd-coordinate with-data.json --cluster spec.json --keep-servers
  jq -es 'last | .reason == "end_of_data" and .step == 2' <<<"$output"
  run -0 --separate-stderr timeout 60 tfd-coordinate with-data.json --cluster spec.json --keep-servers
  [[ $stderr == *"already at step 2, where the data ended"* ]]
  jq -es 'last | .reason == "nothing_left" and .step == 2' <<<"$output"
}

@test "end reasons: an evaluator ends with a training that stopped early, before or after it is started" {
  stopping_program
  serve --jobs worker=1,ps=2
  mkdir ck
  tfd-resolve local --jobs worker=1,ps=2 | tfd-serve 2>/dev/null 3>&- 6>&- 7>&- 8>&- 9>&- |
    timeout 60 tfd-coordinate -q program.json --follow-checkpoints >followed 2>talk-follow 3>&- 6>&- 7>&- 8>&- 9>&- &
  local follower=$!
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers
  jq -es 'last | .reason == "stopped"' <<<"$output"
  wait "$follower"
  jq -es 'last | .event == "end" and .reason == "stopped" and .step == 30 and .eval.loss == 1' followed
  # One that comes too late sees that it is over, too.
  run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --keep-servers --follow-checkpoints
  jq -es 'last | .event == "end" and .reason == "stopped" and .step == 30' <<<"$output"
}

@test "end reasons: an evaluator ends with a training that max_time ended, which goes on when it is started again" {
  stopping_program
  serve --jobs worker=1,ps=2
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers \
    --set train.stop=null --set train.steps=100000000 --set train.evaluate.every=100000000 --set train.max_time=200ms
  jq -es 'last | .reason == "max_time"' <<<"$output"
  step=$(jq -s 'last.step' <<<"$output")
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers \
    --set train.stop=null --set "train.steps=$((step + 5))"
  jq -es ".[0].step == $step and (last | .reason == \"done\" and .step == $((step + 5)))" <<<"$output"
}

@test "end reasons: where nothing is left, tasks that are at work for another run are left alone" {
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck"}}'
  serve --jobs worker=2,ps=2
  run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --keep-servers --set train.steps=5
  coordinate program.json --cluster spec.json --set train.checkpoint.dir=other
  event '.event == "step"'
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --set train.steps=5
  [[ $stderr == *"already at step 5 of 5"*"the tasks are left running: "*" belongs to another run "*", whose coordinator is still connected"* ]]
  event '.event == "step"'
  event '.event == "step"'
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted"'
  coordinator_ends 75
}

@test "end reasons: a parameter server that is gone is lost at once, as TensorFlow has it by the third report" {
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100}'
  local -a compat
  for compat in "" "--compat tensorflow"; do
    serve --jobs worker=1,ps=2
    # shellcheck disable=SC2086
    coordinate program.json --cluster spec.json $compat -v
    event '.event == "step"'
    kill -KILL "$(task_pid ps:1)"
    event '.event == "end" and .reason == "error" and .error.code == "UNAVAILABLE" and .error.task == "ps:1"'
    coordinator_ends 69
    kill -TERM "$SERVE"
    ends "$SERVE"
    SERVE=
  done
  run -78 --separate-stderr env TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES=some timeout 20 tfd-coordinate program.json --cluster spec.json --compat tensorflow ||
    [ "$status" = 65 ]
  [[ $stderr == *"TF_COORDINATOR_IGNORE_TRANSIENT_PS_FAILURES: 'some' is not a number"* ]]
}
