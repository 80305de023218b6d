#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy parameter-server: asynchronous workers that are clients by themselves, on servers of tfd-serve.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

@test "run: two asynchronous workers and a ps train the digits to more than 90 % by shell alone" {
  cluster_of 2 1
  local program=$EXAMPLES/digits/program.json set=(--set train.steps=2400 --set train.checkpoint.dir=ck)
  two_workers "$program" "${set[@]}"
  both_end
  jq -e 'select(.event == "end") | .reason == "done" and .step == 2400 and .eval.accuracy > 0.9 and .updates > 0' worker:0.events
  last worker:1 '.updates > 0 and .reason == "done"' | grep -qx true
  # Every update is counted once by the global step.
  [ "$(last worker:0 .step)" = $(($(last worker:0 .updates) + $(last worker:1 .updates))) ]
  # Only the chief saves and evaluates.
  jq -es 'all(.[]; .event != "checkpoint" and .event != "eval")' worker:1.events
  serve_ends 0  # the chief said goodbye to the ps
}

@test "run: without a cluster everything is in this process, by replicas" {
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/linear/program.json" --replicas 2 </dev/null
  jq -es 'any(.[]; .event == "start" and .task == "local" and .replicas == 2 and .devices == ["cpu:0", "cpu:1"])' <<<"$output"
  jq -es 'any(.[]; .event == "end" and .step == 200 and .updates == 200 and .metrics.loss < 0.01)' <<<"$output"
}

@test "run: stdin is left alone unless a strategy or --cluster - asks for a spec" {
  counting_program '{"function": "count", "steps": 5}'
  SPEC='{"cluster": {"worker": ["h:1"]}, "task": {"type": "worker", "index": 0}}'
  # A pipe into which nobody writes, as under srun, mpirun and ssh.
  mkfifo silent
  exec 9<>silent
  run -0 --separate-stderr timeout 60 tfd-run program.json <&9
  jq -es 'any(.[]; .event == "start" and .task == "local" and .replicas == 1)' <<<"$output"
  TF_CONFIG=$SPEC run -0 --separate-stderr timeout 60 tfd-run program.json <&9
  jq -es 'any(.[]; .event == "start" and .task == "worker:0")' <<<"$output"
  exec 9>&-
  run -0 --separate-stderr bash -c 'printf "one\ntwo\n" | { timeout 60 tfd-run -q program.json >/dev/null && cat; }'
  [ "$output" = $'one\ntwo' ]
  for asked in "--strategy parameter-server" "--cluster -" "--task worker:0"; do
    # shellcheck disable=SC2086
    run -65 --separate-stderr timeout 60 tfd-run program.json $asked <<<"$SPEC"
    [[ $stderr == *'the cluster spec needs to have `ps` jobs'* ]]
  done
}

@test "run: mirrored runs a function on every device, each with its rows of a batch" {
  doubling_program
  run -0 --separate-stderr timeout 60 tfd-run --strategy mirrored --function double --dataset '[{"range":4},{"batch":2}]' \
    --devices cpu:0,cpu:1 program.json </dev/null
  [ "$output" = '{"0":[0],"1":[2]}
{"0":[4],"1":[6]}' ]
}

@test "run: mirrored and central-storage train alike, and go on from each other's checkpoints" {
  local losses=() strategy
  seeded=(--set 'datasets.train[1]={"shuffle": {"buffer": 2000, "seed": 7}}' --set train.steps=40 --set train.log_every=10
    --set train.evaluate.every=20)
  for strategy in mirrored central-storage; do
    run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" --strategy "$strategy" --devices 2 "${seeded[@]}" \
      --set "train.checkpoint={\"dir\": \"$strategy\"}" -v
    jq -es '.[0].replicas == 2 and .[0].devices == ["cpu:0", "cpu:1"]' <<<"$output"
    losses+=("$(jq -c 'select(.event == "eval") | .metrics.loss * 100000 | round' <<<"$output" | paste -sd' ')")
    [[ $strategy == mirrored || $stderr == *"the variables are on the host: --strategy central-storage"* ]]
  done
  [ -n "${losses[0]}" ]
  [ "${losses[0]}" = "${losses[1]}" ]
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" --strategy one-device "${seeded[@]}" \
    --set train.steps=60 --set 'train.checkpoint={"dir": "central-storage"}'
  jq -es '.[0].step == 40 and .[-1].step == 60' <<<"$output"
}

@test "run: a training that goes on with other replicas than its checkpoint's says so" {
  local train=(timeout 60 tfd-run "$EXAMPLES/digits/program.json" --strategy mirrored --set train.checkpoint.dir=ck)
  run -0 --separate-stderr "${train[@]}" --devices 2 --set train.steps=10
  run -0 --separate-stderr "${train[@]}" --devices 2 --set train.steps=20
  [[ $stderr != *"results differ"* ]]
  run -0 --separate-stderr "${train[@]}" --devices 1 --set train.steps=30
  [[ $stderr == *"tfd-run: 1 replica: the checkpoint's training had 2: the results differ from here on"* ]]
}

@test "run: a step is fused, or goes by threads, with the same numbers" {
  local losses=() way train
  train=(timeout 60 tfd-run "$EXAMPLES/digits/program.json" --strategy mirrored --devices 2 --set train.checkpoint=null --set train.log_every=10
    --set train.steps=30 --set train.evaluate=null --set 'datasets.train[1]={"shuffle": {"buffer": 2000, "seed": 7}}')
  for way in fused threads; do
    run -0 --separate-stderr "${train[@]}" --step "$way" --trace trace.json
    losses+=("$(jq -c 'select(.event == "step") | .metrics.loss * 100000 | round' <<<"$output" | paste -sd' ')")
    jq -e --arg name "$([ $way = fused ] && echo step || echo reduce)" 'map(select(.name == $name)) | length == 30' trace.json
    run -0 --separate-stderr "${train[@]}" --step "$way" --explain --json
    jq -e --arg way "$way" --arg where "$([ $way = fused ] && echo devices || echo host)" \
      '.step.way == $way and .reduce.where == $where and .memory.fits' <<<"$output"
    # 57 720 bytes of variables and slots on each device, and those on their way there.
    jq -e '.memory.host_at_start > 2 * 57720 and .memory.host_at_start <= 1.2 * 2 * 57720' <<<"$output"
  done
  [ -n "${losses[0]}" ]
  [ "${losses[0]}" = "${losses[1]}" ]
  run -0 --separate-stderr "${train[@]}" --step fused --explain
  [[ $output == *"  fused    "* && $output == *"reduce   19.2 kB of each replica, on the devices, by one all_reduce a dtype"* ]]
  run -64 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" --strategy central-storage --step fused
  [[ $stderr == *"--step fused: it is for variables on devices, but these are on the host: --strategy central-storage"* ]]
}

@test "run: a checkpoint of another optimizer is refused with the command that takes its values; a bare name is an optimizer" {
  train=(timeout 60 tfd-run "$EXAMPLES/linear/program.json" --set train.steps=5)
  run -0 --separate-stderr "${train[@]}" --set optimizer=adam --set train.checkpoint.dir=ck </dev/null
  run -65 --separate-stderr "${train[@]}" --set optimizer=sgd --set train.checkpoint.dir=ck </dev/null
  [ "$stderr" = "tfd-run: ck/step-00000005.safetensors: 'w' was trained with adam, but the program has sgd: keep the optimizer, or \
start from the values alone: --checkpoint ck --set train.checkpoint.dir=NEW" ]
  run -0 --separate-stderr "${train[@]}" --set optimizer=sgd --checkpoint ck --set train.checkpoint.dir=new </dev/null
  [ -f new/step-00000005.safetensors ]
  run -65 --separate-stderr "${train[@]}" --set optimizer=adm </dev/null
  [[ $stderr == *"optimizer.adm: no such optimizer, did you mean 'adam'?" ]]
  run -65 --separate-stderr "${train[@]}" --set 'train.early_stopping={"monitor": "loss"}' </dev/null
  [[ $stderr == *"train.early_stopping: unknown key, did you mean 'train.stop'?" ]]
}

@test "run: --devices says what it takes" {
  counting_program '{"function": "count", "steps": 1}'
  refused() { # DEVICES, WHAT
    run -64 --separate-stderr tfd-run program.json --devices "$1" </dev/null
    [[ $stderr == "tfd-run: --devices $2"* ]] || { echo "$stderr"; false; }
  }
  refused frog "'frog': must be a count, or devices such as cpu:0,cpu:1 or gpu:all"
  refused cpu:0,cpu:0 "'cpu:0': appears twice"
  refused cpu:0,gpu:1 "'gpu:1': one process has devices of one kind"
  refused cpu:all "'cpu:all': a CPU has as many devices as you like: write a count"
  refused 0 "0 is out of range"
  run -64 --separate-stderr tfd-serve --jobs worker=1 --devices cpu:0,cpu:0
  [[ $stderr == *"--devices 'cpu:0': appears twice"* ]]
  run -64 --separate-stderr tfd-run program.json --devices 2 --replicas 2 </dev/null
  run -64 --separate-stderr tfd-run program.json --strategy mirrored --jobs ps=1,worker=1 </dev/null
  [[ $stderr == *"--strategy mirrored runs in this process: it takes no --cluster, --jobs or --task"* ]]
  run -78 --separate-stderr timeout 60 tfd-run program.json --devices gpu:0 </dev/null
  [[ $stderr == *"is for cpu, not for gpu: pip install 'jax-cuda12-plugin[with-cuda]' and set TFD_PJRT_PLUGIN=cuda12, or the same with cuda13"* ]]
  cp program.json saved.json
  run -0 timeout 60 tfd-run saved.json --set train.checkpoint.dir=ck </dev/null
  for devices in gpu:all gpu:0,gpu:1 tpu:all; do  # the error comes first: no word of the checkpoint, or of replicas
    run -78 --separate-stderr timeout 60 tfd-run saved.json --set train.checkpoint.dir=ck --devices "$devices" </dev/null
    [[ $stderr == "tfd-run: --devices $devices: the PJRT plug-in "*" is for cpu, not for ${devices%%:*}: pip install "* ]]
    [ "$(wc -l <<<"$stderr")" = 1 ]
  done
  run -0 --separate-stderr timeout 60 tfd-run program.json --devices cpu:3,cpu:1 </dev/null
  jq -es '.[0].devices == ["cpu:3", "cpu:1"] and .[0].replicas == 2' <<<"$output"
}

@test "run: a cluster's spec that nobody reads is said, and stays where it is" {
  run -0 --separate-stderr timeout 60 bash -c '(echo "{\"cluster\": {\"worker\": [\"127.0.0.1:1\"]}}"; sleep 2) | { tfd-run "$0" && cat; }' "$EXAMPLES/linear/program.json"
  [[ $stderr == *"tfd-run: a cluster's spec waits in stdin, unread: this run is for one host. To train on the cluster: tfd-coordinate; \
to be one task of it: --cluster - --task JOB:INDEX"* ]]
  [ "$(tail -n 1 <<<"$output")" = '{"cluster": {"worker": ["127.0.0.1:1"]}}' ]
  [ "$(grep -c 'waits in stdin' <<<"$stderr")" = 1 ]
  run -0 --separate-stderr timeout 60 bash -c 'echo something else | tfd-run "$0"' "$EXAMPLES/linear/program.json"
  [[ $stderr != *stdin* ]]
}

@test "run: options of other tools, and classes' names, say what there is here" {
  local words
  for words in '--steps 3|--set train.steps=N' '--batch_size 3|tfd-data' '--resume|--start-over' '--gpus 2|--devices gpu:N' \
    '--nproc-per-node 2|tfd-launch -n N' '--strategy MirroredStrategy|mirrored' '--strategy MultiWorkerMirroredStrategy|multi-worker-mirrored'; do
    # shellcheck disable=SC2086  # an option and its value
    run -64 tfd-run program.json ${words%%|*}
    [[ $output == *"${words#*|}"* ]] || { echo "$words: $output"; return 1; }
  done
  echo '// a comment' >commented.json
  run -65 tfd-run commented.json
  [[ $output == *"JSON has no comments" ]]
  for text in '{"a": 1, // x' '{ # x' '1 // x }' '{"a": 1, /* x */ "b": 2}'; do
    printf '%s\n' "$text" >c.json
    run -65 tfd-run c.json
    [[ $output == *"JSON has no comments" ]]
  done
}

@test "run: one-device is one replica in this process, whatever TF_CONFIG says" {
  counting_program '{"function": "count", "steps": 5}'
  TF_CONFIG='{"cluster": {"worker": ["h:1"]}}' run -0 --separate-stderr timeout 60 tfd-run program.json --strategy one-device <<<'{}'
  jq -es 'any(.[]; .event == "start" and .task == "local" and .replicas == 1 and .devices == ["cpu:0"])' <<<"$output"
  jq -es 'any(.[]; .event == "end" and .reason == "done" and .step == 5)' <<<"$output"
  run -64 --separate-stderr tfd-run program.json --strategy one-device --replicas 2 </dev/null
  [[ $stderr == "tfd-run: --replicas 2: --strategy one-device has one replica"* ]]
  run -64 --separate-stderr tfd-run program.json --strategy one-device --cluster spec.json </dev/null
  [[ $stderr == "tfd-run: --strategy one-device runs in this process"* ]]
  run -0 --separate-stderr tfd-run program.json --strategy one-device --cluster none --check </dev/null
}

@test "run: every update is applied once to every parameter server, whoever sends it" {
  counting_program '{"function": "count", "steps": 300, "log_every": 50, "checkpoint": {"dir": "ck"}}'
  cluster_of 3 2
  local -a all=()
  for i in 2 1 0; do worker "worker:$i" program.json; all+=("$RUN"); done
  for one in "${all[@]}"; do run_ends "$one" 0; done
  local step
  step=$(last worker:0 .step)
  [ "$step" -ge 300 ]
  [ "$step" -le 302 ]  # the others were on their way
  [ "$(counted ck)" = "$step $step $step" ]
}

@test "run: the others wait for the chief, and say for whom when it doesn't come" {
  counting_program '{"function": "count", "steps": 30}'
  cluster_of 2 2
  worker worker:1 program.json --timeout 1s
  run_ends "$RUN" 75
  grep -q 'worker:0' worker:1.talk
}

@test "run: a worker that is killed doesn't stop the others, and joins again" {
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck"}}'
  cluster_of 2 2
  worker worker:0 program.json
  CHIEF=$RUN
  local step
  worker worker:1 program.json
  until_event worker:1 '.event == "step"'
  kill -KILL "$RUN"
  ends "$RUN"
  step=$(jq -s 'map(.step // 0) | max' worker:0.events)
  RUN=$CHIEF until_event worker:0 ".event == \"step\" and .step > $step"
  worker worker:1 program.json
  until_event worker:1 ".event == \"start\" and .joined and .step > 0"
  until_event worker:1 '.event == "step"'
  OTHER=$RUN
  both_are_stopped
  saved_within 1
}

@test "run: SIGUSR1 makes the chief save, SIGTERM makes it save and stop with 75, and the next run goes on" {
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck"}}'
  cluster_of 1 2
  worker worker:0 program.json
  until_event worker:0 '.event == "step"'
  kill -USR1 "$RUN"
  until_event worker:0 '.event == "checkpoint"'
  kill -TERM "$RUN"
  run_ends "$RUN" 75
  local step
  step=$(last worker:0 .step)
  worker worker:0 program.json --set "train.steps=$((step + 10))"
  run_ends "$RUN" 0
  [ "$(last worker:0 '[.reason, .step]')" = "[\"done\",$((step + 10))]" ]
  [ "$(counted ck)" = "$((step + 10)) $((step + 10)) $((step + 10))" ]
}

@test "run: a lost parameter server is named, with exit code 69" {
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100}'
  cluster_of 1 2
  worker worker:0 program.json
  until_event worker:0 '.event == "step"'
  kill -KILL "$(task_pid ps:1)"
  run_ends "$RUN" 69
  grep -q 'parameter server ps:1 is gone' worker:0.talk
  jq -e 'select(.event == "end") | .reason == "error" and .error.task == "ps:1"' worker:0.events
}

@test "run: the evaluator only evaluates, as checkpoints appear" {
  local program=$EXAMPLES/digits/program.json set=(--set train.steps=200 --set train.checkpoint.dir=ck)
  cluster_of 1 1
  jq '.cluster.evaluator = ["127.0.0.1:9"]' cluster.json >with.json && mv with.json cluster.json
  worker evaluator:0 "$program" "${set[@]}"
  local evaluator=$RUN
  worker worker:0 "$program" "${set[@]}"
  run_ends "$RUN" 0
  run_ends "$evaluator" 0
  jq -e 'select(.event == "end") | .step == 200 and .eval.accuracy > 0.5' evaluator:0.events
  jq -es 'all(.[]; .event != "eval")' worker:0.events
}

@test "run: a partitioned variable lies on several parameter servers, and its checkpoint continues without any" {
  local program=$EXAMPLES/digits/program.json set=(--set train.checkpoint.dir=ck --set 'variables.w1.partitioner={"fixed_shards": {"num_shards": 3}}')
  cluster_of 1 3
  worker worker:0 "$program" "${set[@]}" --set train.steps=150
  run_ends "$RUN" 0
  run -0 --separate-stderr timeout 60 tfd-run "$program" --set train.checkpoint.dir=ck --set train.steps=300 --cluster none </dev/null
  jq -es 'any(.[]; .event == "start" and .step == 150) and any(.[]; .event == "end" and .step == 300 and .eval.accuracy > 0.8)' <<<"$output"
}

@test "run: an early stop is the chief's to decide, the others end too, and the best is restored" {
  falling_program 50 2
  cluster_of 2 1
  two_workers program.json
  both_end
  [ "$(last worker:0 .reason)" = '"stopped"' ]
  [ "$(last worker:1 .reason)" = '"stopped"' ]
  # The first evaluation is the best one, as n only grows.
  local first
  first=$(jq -s 'map(select(.event == "eval"))[0].step' worker:0.events)
  [ "$(last worker:0 .restored_step)" = "$first" ]
  [ "$(jq -s 'map(select(.event == "checkpoint" and .best)) | map(.step)' -c worker:0.events)" = "[$first]" ]
}

@test "run: epochs are passes of all workers together over the data" {
  epochs_program 5
  cluster_of 2 1
  two_workers program.json
  both_end
  # 12 elements, 5 times, one a step.
  jq -es 'any(.[]; .event == "start" and .steps == 60)' worker:0.events
  [ "$(last worker:0 .step)" = 60 ]
  run -0 --separate-stderr timeout 60 tfd-run program.json --cluster none --replicas 3 </dev/null
  jq -es 'any(.[]; .event == "end" and .step == 20)' <<<"$output"
}

@test "run: rows of tables are looked up and updated by replicas of workers, and only those" {
  rows_program '{"function": "touch", "steps": 40, "log_every": 10, "checkpoint": {"dir": "ck"}}'
  cluster_of 2 2
  two_workers program.json --replicas 2
  both_end
  # Every step of a worker touches one row for each replica: row 0 and row 1, once each; nobody touches the others.
  python3 - ck "$(last worker:0 .step)" <<'PY'
import json, os, struct, sys
data = open(os.path.join(sys.argv[1], max(os.listdir(sys.argv[1]))), "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
begin, end = header["table"]["data_offsets"]
rows = struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin:8 + size + end])
steps = float(sys.argv[2])
assert rows[0] + rows[1] == 2 * steps, (rows, steps)
assert rows[2:] == (0.0,) * (len(rows) - 2), rows
PY
}

@test "run: --jobs gives the tasks of a Slurm step their jobs, without --cluster too; a ps becomes a server" {
  counting_program '{"function": "count", "steps": 5}'
  local slurm=(env SLURM_STEP_NODELIST=n9,n10 SLURM_STEP_TASKS_PER_NODE='2(x2)' SLURM_STEP_ID=0 SLURM_JOB_ID=7)
  run -0 --separate-stderr "${slurm[@]}" SLURM_PROCID=3 tfd-run program.json --jobs ps=1,worker=3 --check </dev/null
  [[ $stderr == *"worker:2 of 3 workers, 1 replica, variables on /job:ps/task:0: ok"* ]]
  run -0 --separate-stderr "${slurm[@]}" SLURM_PROCID=0 tfd-run program.json --cluster slurm --jobs ps=1,worker=3 --check </dev/null
  [[ $stderr == *"ps:0 serves variables: ok"* ]]
  run -64 --separate-stderr "${slurm[@]}" SLURM_PROCID=0 tfd-run program.json --jobs ps=none --check </dev/null
  [[ $stderr == *"--jobs: "* ]]
  echo '{"cluster": {"worker": ["h:1"]}}' >spec.json
  run -64 --separate-stderr tfd-run program.json --cluster spec.json --jobs ps=1,worker=3 --check </dev/null
  [[ $stderr == *"--jobs: --cluster spec.json has its own jobs"* ]]
  # Where there is nothing else to listen on it is the server of one task, until the goodbye.
  local port
  port=$(ports 1)
  jq -n --arg ps "127.0.0.1:$port" '{cluster: {worker: ["127.0.0.1:1"], ps: [$ps]}}' >cluster.json
  worker ps:0 program.json -v
  local server=$RUN
  worker worker:0 program.json
  run_ends "$RUN" 0
  run_ends "$server" 0
  [ ! -s ps:0.events ]
}

@test "run: --function prints what each replica returns for its share of every element" {
  doubling_program
  # The example of experimental_distribute_dataset: range(4).batch(2) on two replicas, times two.
  run -0 --separate-stderr timeout 60 tfd-run program.json --replicas 2 --function double --dataset '[{"range": 4}, {"batch": {"size": 2}}]' --cluster none </dev/null
  [ "$output" = '{"0":[0],"1":[2]}
{"0":[4],"1":[6]}' ]
  # Variables are where the strategy has them, and what the replicas want of them is one update.
  cluster_of 1 2
  worker worker:0 program.json --replicas 2 --function count --dataset four
  run_ends "$RUN" 0
  [ "$(cat worker:0.events)" = '{"0":0,"1":0}
{"0":2,"1":2}' ]
  run -65 --separate-stderr timeout 60 tfd-run program.json --function double --cluster none </dev/null
  [[ $stderr == *"'double' takes arguments: it needs a dataset to take them from"* ]]
  run -65 --separate-stderr timeout 60 tfd-run program.json --function dubble --cluster none </dev/null
  [[ $stderr == *"no function 'dubble'"*double* ]]
  run -64 --separate-stderr timeout 60 tfd-run program.json --dataset four --cluster none </dev/null
}

@test "run: --function runs under every strategy of one host, and says with -v on which devices" {
  doubling_program
  local function=(timeout 60 tfd-run program.json --function count --dataset four -v) kind
  for kind in mirrored central-storage; do
    run -0 --separate-stderr "${function[@]}" --strategy "$kind" --devices cpu:0,cpu:1 </dev/null
    [ "$output" = '{"0":0,"1":0}
{"0":2,"1":2}' ]
    [[ $stderr == *"$kind: 2 replicas on "*"device:CPU:0, "*"device:CPU:1, variables on "* ]]
  done
  [[ $stderr == *"variables on /job:localhost/replica:0/task:0/device:CPU:0"* ]]
  run -0 --separate-stderr "${function[@]}" --strategy tpu --topology 1x1x1x2 </dev/null
  [ "$output" = '{"0":0,"1":0}
{"0":2,"1":2}' ]
  run -0 --separate-stderr timeout 60 tfd-run program.json --function double --dataset '[{"range": 2}, {"batch": 1}]' -v </dev/null
  [ "$output" = '{"0":[0]}
{"0":[2]}' ]
  [[ $stderr == *"one-device: 1 replica on "* ]]
}

@test "run: --function prints the variables that the function returns behind its results, as they are then" {
  doubling_program
  run -0 --separate-stderr timeout 60 tfd-run program.json --strategy mirrored --devices 2 --function count --dataset four \
    --set 'functions.count.returns=["n"]' </dev/null
  [ "$output" = '{"0":[0, 2],"1":[0, 2]}
{"0":[2, 4],"1":[2, 4]}' ]
  run -65 --separate-stderr timeout 60 tfd-run program.json --replicas 2 --function count --dataset four --reduce sum \
    --set 'functions.count.returns=["n"]' </dev/null
  [[ $stderr == *"function 'count': a variable is the same on all 2 replicas: there is no sum of it"* ]]
  cluster_of 1 2
  worker worker:0 program.json --replicas 2 --function count --dataset four --set 'functions.count.returns=["n"]'
  run_ends "$RUN" 0
  [ "$(cat worker:0.events)" = '{"0":[0, 2],"1":[0, 2]}
{"0":[2, 4],"1":[2, 4]}' ]
}

@test "run: --reduce and --gather make one value of what the replicas return" {
  doubling_program
  local function=(timeout 60 tfd-run program.json --replicas 2 --cluster none --function)
  run -0 --separate-stderr "${function[@]}" double --dataset four --reduce sum </dev/null
  [ "$output" = '[2]
[10]' ]
  run -0 --separate-stderr "${function[@]}" double --dataset four --gather 0 </dev/null
  [ "$output" = '[0,2]
[4,6]' ]
  run -0 --separate-stderr "${function[@]}" double --dataset four --reduce mean </dev/null # of integers, a fraction
  [ "$output" = '[1.0]
[5.0]' ]
  run -0 --separate-stderr "${function[@]}" double --dataset four --reduce mean --axis 0 </dev/null
  [ "$output" = '1.0
5.0' ]
  run -0 --separate-stderr "${function[@]}" double --dataset four --reduce sum --axis -1 </dev/null
  [ "$output" = '2
10' ]
  run -65 --separate-stderr "${function[@]}" double --dataset four --reduce sum --axis 1 </dev/null
  [[ $stderr == *"function 'double': there is no axis 1 of [1], which has rank 1"* ]]
  run -64 --separate-stderr "${function[@]}" double --dataset four --reduce sum --axis 0,x </dev/null
  run -64 --separate-stderr "${function[@]}" double --dataset four --gather 0 --axis 0 </dev/null
  [[ $stderr == *"--axis is for --reduce"* ]]
  run -65 --separate-stderr "${function[@]}" double --dataset four --gather 1 </dev/null
  [[ $stderr == *"cannot gather along axis 1: the replicas returned s64[1]"* ]]
  run -64 --separate-stderr "${function[@]}" double --dataset four --gather 0 --reduce sum </dev/null
  run -64 --separate-stderr timeout 60 tfd-run program.json --cluster none --reduce sum </dev/null
  [[ $stderr == *"--reduce is for --function"* ]]
}

@test "run: a cluster needs a task and a ps, and tfd-run a strategy that there is" {
  counting_program '{"function": "count", "steps": 5}'
  echo '{"cluster": {"worker": ["h:1"]}, "task": {"type": "worker", "index": 0}}' >no-ps.json
  run -65 --separate-stderr tfd-run program.json --cluster no-ps.json </dev/null
  [[ $stderr == *'the cluster spec needs to have `ps` jobs'* ]]
  run -0 --separate-stderr tfd-launch -n 2 --no-prefix -- tfd-run program.json </dev/null
  [[ $stderr == *'--strategy multi-worker-mirrored, since the cluster has 2 workers and no ps'* ]]
  run -65 --separate-stderr tfd-run program.json --task worker:0 --cluster - <<<'{"cluster": {"worker": ["h:1", "h:2"]}}'
  [[ $stderr == *'needs to have `ps` jobs; workers alone train together with --strategy multi-worker-mirrored'* ]]
  run -0 --separate-stderr tfd-launch -n 2 --no-prefix -- tfd-run program.json --strategy mirrored </dev/null
  [ "$(grep -c "each of 2 tasks trains by itself: --strategy multi-worker-mirrored makes one training of them" <<<"$stderr")" = 1 ]
  echo '{"cluster": {"worker": ["h:1"], "ps": ["h:2"]}}' >no-task.json
  run -65 --separate-stderr tfd-run program.json --cluster no-task.json </dev/null
  [[ $stderr == *"which task is this? --task worker:0; to train on the whole cluster: tfd-coordinate"* ]]
  run -0 --separate-stderr tfd-run program.json --cluster no-task.json --task ps:0 --check </dev/null
  [[ $stderr == *"ps:0 serves variables: ok"* ]]
  run -64 --separate-stderr tfd-run program.json --strategy mirorred </dev/null
  [[ $stderr == *"--strategy: invalid value 'mirorred', did you mean 'mirrored'?"* ]] || { echo "$stderr"; false; }
  TF_CONFIG='{"cluster": {"chief": ["h:0"], "worker": ["h:1"], "ps": ["h:2"]}, "task": {"type": "worker", "index": 0}}' \
    run -0 --separate-stderr tfd-run program.json --check --replicas 2 </dev/null
  [[ $stderr == *"worker:0 of 2 workers, 2 replicas, variables on /job:ps/task:0: ok"* ]]
}

@test "run: --predict gives each example's result once, in order, whatever the sizes of batches and modules" {
  doubling_program
  local predict=(timeout 60 tfd-run program.json --cluster none --predict double)
  local seven='[{"range": 7}, {"batch": {"size": 3}}]'
  run -0 --separate-stderr "${predict[@]}" --dataset "$seven" </dev/null # a module that takes one row
  [ "$output" = $'0\n2\n4\n6\n8\n10\n12' ]
  sed -i 's/tensor<1xi64>/tensor<4xi64>/g' double.mlir # a batch, and the rest of it, is padded
  local replicas
  for replicas in 1 2 3; do
    run -0 --separate-stderr "${predict[@]}" --dataset "$seven" --replicas "$replicas" </dev/null
    [ "$output" = $'0\n2\n4\n6\n8\n10\n12' ]
  done
  sed 's/4xi64/2xi64/g' double.mlir >two.mlir
  local both=(--set 'functions.double.module=["double.mlir", "two.mlir"]')
  run -0 --separate-stderr "${predict[@]}" "${both[@]}" --dataset '[{"range": 11}, {"batch": {"size": 7}}]' --output out.npy </dev/null
  [[ $stderr == *"11 predictions written to out.npy"* ]]
  [ -z "$output" ]
  [ "$(od -An -v -t d8 -w8 -j 128 out.npy | xargs)" = "0 2 4 6 8 10 12 14 16 18 20" ]
  run -0 --separate-stderr "${predict[@]}" "${both[@]}" --dataset "$seven" --output out.jsonl </dev/null
  [ "$(xargs <out.jsonl)" = "0 2 4 6 8 10 12" ]
}

@test "run: what --predict can't do is said, and no file is left" {
  doubling_program
  local run=(timeout 60 tfd-run program.json --cluster none)
  refused() { # CODE, WHAT, OPTIONS…
    run "-$1" --separate-stderr "${run[@]}" "${@:3}" </dev/null
    [[ $stderr == *"$2"* ]] || { echo "$stderr"; false; }
  }
  refused 65 "double: an element with a scalar has no rows: batch the dataset" --predict double --dataset '[{"range": 4}]' --output out.npy
  [ ! -e out.npy ]
  refused 65 "dataset '--dataset' never ends: predictions need one that does" --predict double --dataset '[{"range": 4}, {"repeat": {}}, {"batch": {"size": 2}}]'
  refused 65 "function 'count' can't predict: it updates variables" --predict count --dataset four
  refused 65 "no function 'dubble', did you mean 'double'? (there: double and count)" --predict dubble --dataset four
  refused 65 "no function 'dubble', did you mean 'double'? (there: double and count)" --check --predict dubble --dataset four
  refused 65 "no function 'dubble', did you mean 'double'? (there: double and count)" --check --function dubble
  refused 65 "function 'count' can't predict: it updates variables" --check --predict count --dataset four
  refused 65 "no dataset 'five'" --check --function double --dataset five
  refused 65 "'double' takes arguments: it needs a dataset to take them from" --check --function double
  refused 64 "--reduce" --check --function double --dataset four --reduce medium
  run -0 "${run[@]}" --check --function double --dataset '[{"range": 4}]' </dev/null
  refused 65 "cannot open nowhere" --predict double --dataset four --checkpoint nowhere
  refused 64 "--output x.csv: the name must end in .npy or .jsonl" --predict double --dataset four --output x.csv
  refused 64 "--output is for --predict" --function double --dataset four --output x.npy
  refused 64 "--predict writes what each example gives: it takes no --reduce or --gather" --predict double --dataset four --gather 0
  refused 64 "--function and --predict exclude each other" --predict double --function double --dataset four
}

@test "run: --logdir has the metrics of steps and evaluations for TensorBoard" {
  cp -r "$EXAMPLES"/digits/* .
  local train=(timeout 60 tfd-run program.json --set train.checkpoint=null --set train.steps=200 --set train.evaluate.every=100)
  run -0 --separate-stderr "${train[@]}" --logdir a/logs </dev/null
  grep -q loss a/logs/train/events.out.tfevents.*
  grep -q steps_per_second a/logs/train/events.out.tfevents.*
  grep -q accuracy a/logs/eval/events.out.tfevents.*
  run ! grep -q accuracy a/logs/train/events.out.tfevents.*
  touch file
  run -64 --separate-stderr "${train[@]}" --logdir a/logs --function predict --dataset test </dev/null
  run --separate-stderr "${train[@]}" --logdir file/logs </dev/null
  [ "$status" != 0 ]
  [[ $stderr == *"--logdir: cannot make file/logs: "* ]]
  rm -r a/logs/* # what can't be written while it trains is a warning, once
  echo x >a/logs/eval
  run -0 --separate-stderr "${train[@]}" --logdir a/logs </dev/null
  [ "$(grep -c "the training goes on without these metrics" <<<"$stderr")" = 1 ]
  [ -s a/logs/train/events.out.tfevents.* ]
}

@test "run: --check says what a program takes, gives and costs" {
  cp -r "$EXAMPLES"/digits/* .
  run -0 --separate-stderr tfd-run program.json --check </dev/null
  [[ ${lines[0]} == "variables  4, 19.2 kB, and 38.5 kB that the optimizer keeps; 4810 parameters to train" ]]
  [[ ${lines[1]} == "  w1 f32[64,64]" ]]
  [[ $output == *"function   train_step"*"  takes    variable w1 f32[64,64], "*"dataset train.image f32[64,64]"*"  gives    metric loss f32[], gradient w1 f32[64,64]"* ]]
  [[ $output == *"  gives    metric accuracy.numerator f32[], metric accuracy.denominator f32[], metric loss f32[]"* ]]
  [[ $output == *"flops, "*" in, "*" out, "*" temporary"* ]]
  run -0 --separate-stderr tfd-run program.json --check --json </dev/null
  # Forward 64 x 64 x 64 and 64 x 64 x 10, both gradients of the second, that of w1.
  jq -e '.parameters == 4810 and .variables.each[3].name == "b2" and .variables.slot_bytes == 38480 and
    (.functions[0] | .name == "train_step" and (.inputs | length) == 6 and .outputs[1].is == "gradient" and .modules[0].memory.arguments > 19240 and
     .modules[0].flops >= 2 * (2 * 64 * 64 * 64 + 3 * 64 * 64 * 10))' <<<"$output"
  run -64 --separate-stderr tfd-run program.json --json </dev/null
  cp program.json $'not\xff.json'
  run -0 --separate-stderr tfd-run $'not\xff.json' --check --json </dev/null
  jq -e '.parameters == 4810' <<<"$output"
  run -0 --separate-stderr tfd-run "$EXAMPLES/cnn/program.json" --check --json </dev/null
  jq -e '.functions | map(.modules[0].flops) | all(. > 1e4)' <<<"$output"
}

@test "run: --trace is a timeline of what each replica did" {
  cp -r "$EXAMPLES"/digits/* .
  local train=(timeout 60 tfd-run -q program.json --set train.steps=30 --set train.checkpoint=null --set train.evaluate.every=10 --trace trace.json)
  run -0 --separate-stderr "${train[@]}" --devices 2 </dev/null
  jq -e 'map(select(.ph == "X")) |
    (map(select(.name == "compute" and .tid == 1)) | length) == 30 and (map(select(.name == "compute" and .tid == 2)) | length) == 30 and
    (map(select(.name == "reduce")) | length) == 30 and (map(select(.name == "update")) | length) == 60 and
    (map(select(.name == "data")) | length) == 30 and (map(select(.name == "evaluate")) | length) == 3 and
    all(.dur >= 0 and .ts >= 0) and (map(.args.step) | max) == 30' trace.json
  [ "$(jq -c 'map(select(.ph == "M") | .args.name)' trace.json)" = '["training","replica 0","replica 1"]' ]
  run -0 --separate-stderr "${train[@]}" --strategy central-storage </dev/null
  jq -e '(map(select(.name == "update")) | length) == 30' trace.json
  run --separate-stderr "${train[@]}" --trace nowhere/trace.json </dev/null
  [ "$status" != 0 ]
  [[ $stderr == *"--trace: cannot write nowhere/trace.json: no such file or directory"* ]]
  mkfifo pipe
  exec 5<>pipe  # somebody reads it, but not all
  run -65 --separate-stderr "${train[@]}" --trace pipe </dev/null
  exec 5>&-
  [[ $stderr == *"--trace: pipe is no regular file"* ]]
}
