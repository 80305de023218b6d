#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The documentation of tf.compat.v1's ParameterServerStrategy, in the shell: clusters from TF_CONFIG, its examples. Sentence by
# sentence it is in tests/unit/strategy/test_documented_v1.cpp.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

# TF_CONFIG of task $1 (TYPE:INDEX) in the cluster of cluster.json, or of file $2.
tf_config() { jq -c --arg task "$1" '{cluster, task: ($task | split(":") | {type: .[0], index: (.[1] | tonumber)})}' "${2:-cluster.json}"; }

# tfd-run in the background with nothing but TF_CONFIG to know its cluster by.
configured() { # TASK PROGRAM ARGS…
  local task=$1
  shift
  TF_CONFIG=$(tf_config "$task") env --default-signal=INT tfd-run "$@" </dev/null >"$task.events" 2>"$task.talk" 5>&- 6>&- 7>&- 8>&- &
  RUN=$!
  RUNS+=("$RUN")
}

@test "documented: by default TF_CONFIG tells of the cluster and the task, and it must have a cluster spec" {
  counting_program '{"function": "count", "steps": 20}'
  cluster_of 1 2
  configured worker:0 program.json
  run_ends "$RUN" 0
  jq -es '.[0].event == "start" and .[0].task == "worker:0" and (last | .event == "end" and .step == 20)' worker:0.events
  # A cluster without parameter servers, which is another strategy's where none is stated, and no task.
  TF_CONFIG='{"cluster": {"worker": ["h:1"]}, "task": {"type": "worker", "index": 0}}' \
    run -65 --separate-stderr tfd-run program.json --check --strategy parameter-server </dev/null
  [[ $stderr == *'`ps`'* ]]
  TF_CONFIG='{"cluster": {"worker": ["h:1"]}, "task": {"type": "worker", "index": 0}}' run -0 --separate-stderr tfd-run program.json --check </dev/null
  [[ $stderr == *'--strategy multi-worker-mirrored, since the cluster has 1 worker and no ps'* ]]
  TF_CONFIG='{"cluster": {"worker": ["h:1"], "ps": ["h:2"]}}' run -65 --separate-stderr tfd-run program.json --check </dev/null
  [[ $stderr == *"which task is this? --task worker:0; to train on the whole cluster: tfd-coordinate"* ]]
  TF_CONFIG='{"cluster": {"worker": ["h:1"], "ps": ["h:2"]}, "task": {"type": "worker", "index": 1}}' run -65 --separate-stderr tfd-run program.json --check </dev/null
  [[ $stderr == *"worker:1"* || $stderr == *"index 1"* ]] || { echo "$stderr"; false; }
}

@test "documented: example: train_and_evaluate, with a chief, a worker, parameter servers and an evaluator by TF_CONFIG" {
  falling_program 100 1000
  cluster_of 1 2
  jq '.cluster.chief = ["127.0.0.1:7"] | .cluster.evaluator = ["127.0.0.1:8"]' cluster.json >with.json
  mv with.json cluster.json
  local -a set=(--set train.steps=300 --set 'train.stop=null' --set train.checkpoint.every=100 --set train.checkpoint.keep_best=null)
  configured evaluator:0 program.json "${set[@]}"
  local evaluator=$RUN
  configured worker:0 program.json "${set[@]}"
  local other=$RUN
  configured chief:0 program.json "${set[@]}"
  run_ends "$RUN" 0
  run_ends "$other" 0
  run_ends "$evaluator" 0
  # The chief initializes, trains too and saves; the worker only trains; the evaluator only evaluates.
  jq -es 'any(.[]; .event == "checkpoint") and (last | .reason == "done" and .step >= 300)' chief:0.events
  jq -es 'all(.[]; .event != "checkpoint" and .event != "eval")' worker:0.events
  jq -es 'any(.[]; .event == "eval") and all(.[]; .event != "step" and .event != "checkpoint")' evaluator:0.events
  [ "$(last chief:0 .step)" = $(($(last chief:0 .updates) + $(last worker:0 .updates))) ]
}

@test "documented: example: the task's type tells a script what it is to do" {
  export TF_CONFIG='{"cluster": {"worker": ["localhost:12345", "localhost:23456"], "ps": ["localhost:34567"]}, "task": {"type": "worker", "index": 0}}'
  local did=
  case $(tfd-resolve tf-config --get task.type) in
    worker) did="what a worker does" ;;
    ps) did="what a parameter server does" ;;
  esac
  [ "$did" = "what a worker does" ]
  [ "$(tfd-resolve tf-config --get task.index)" = 0 ]
  [ "$(tfd-resolve tf-config | jq -c .cluster)" = '{"worker":["localhost:12345","localhost:23456"],"ps":["localhost:34567"]}' ]
}

@test "documented: variables are on parameter servers in turn, a colocated one beside the other; none is on a worker" {
  counting_program '{"function": "count", "steps": 1}'
  serve --jobs worker=1,ps=2
  run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --keep-servers --closures /dev/null \
    --set 'variables.a={"shape": [], "dtype": "s32", "init": {"zeros": {}}, "colocate_with": "n1"}' \
    --set 'variables.b={"shape": [], "dtype": "s32", "init": {"zeros": {}}, "colocate_with": "n1"}' \
    --set 'variables.c={"shape": [], "dtype": "s32", "init": {"zeros": {}}}'
  run -0 tfd-status --cluster spec.json --json
  # n0, n1 with a and b, then c on the first again: those that are colocated take nobody's turn.
  [ "$(jq -c '[.tasks[] | select(.task | startswith("ps")) | .variables]' <<<"$output")" = "[2,3]" ] || { echo "$output"; false; }
  jq -e '.tasks[] | select(.task == "worker:0") | (.variables // 0) == 0' <<<"$output"
}

@test "documented: a device scope changes no variable's device: there is none to be stated" {
  counting_program '{"function": "count", "steps": 1}'
  run -65 --separate-stderr tfd-run program.json --cluster none --check --set variables.n0.device=/job:ps/task:1 </dev/null
  [[ $stderr == *"variables.n0.device: unknown key"* ]]
}

@test "documented: a worker's devices are its replicas; num_replicas_in_sync counts them, and one CPU is a replica too" {
  counting_program '{"function": "count", "steps": 300}'
  cluster_of 2 2
  configured worker:1 program.json --replicas 3
  local other=$RUN
  configured worker:0 program.json
  run_ends "$RUN" 0
  run_ends "$other" 0
  jq -es '.[0].replicas == 1' worker:0.events
  jq -es '.[0].replicas == 3 and .[0].devices == ["cpu:0", "cpu:1", "cpu:2"]' worker:1.events
}
