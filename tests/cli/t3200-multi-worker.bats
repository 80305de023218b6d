#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy multi-worker-mirrored: processes that make each step together.

load group
setup() { coordinate_setup; }
teardown() { run_teardown; }

@test "multi-worker: the weights have the same bits on one to four workers, and in mirrored" {
  local n args=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 4 --set train.steps=30)
  run -0 --separate-stderr timeout 60 tfd-run "${args[@]}" --strategy mirrored --set train.checkpoint.dir=ck0 </dev/null
  for n in 1 2 3 4; do
    group_of "$n"
    start_group "$n" "${args[@]}" --set "train.checkpoint.dir=ck$n"
    group_ends 0
    [ "$(weights "ck$n/step-00000030.safetensors")" = "$(weights ck0/step-00000030.safetensors)" ]
  done
  # Only the chief prints events.
  jq -es 'any(.[]; .event == "start" and .workers == 4 and .replicas == 4) and any(.[]; .event == "eval")' worker:0.events
  [ ! -s worker:1.events ]
}

@test "multi-worker: a transformer and a convolutional net have the same bits on one, two and four workers, and in mirrored" {
  local model n
  unset PJRT_NPROC NPROC
  for model in transformer cnn; do
    local args=("$EXAMPLES/$model/program.json" "${SEEDED[@]}" --replicas 4 --set train.steps=3)
    run -0 --separate-stderr timeout 120 tfd-run "${args[@]}" --strategy mirrored --set train.checkpoint.dir="$model-0" </dev/null
    for n in 1 2 4; do
      run -0 --separate-stderr timeout 120 tfd-launch -n "$n" -- tfd-run "${args[@]}" --strategy multi-worker-mirrored \
        --set train.checkpoint.dir="$model-$n"
      [ "$(weights "$model-$n/step-00000003.safetensors")" = "$(weights "$model-0/step-00000003.safetensors")" ]
    done
  done
}

@test "multi-worker: eight replicas over three workers give what one process gives, by TCP and by shared memory" {
  local how args=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 8 --set train.steps=10)
  run -0 --separate-stderr timeout 60 tfd-run "${args[@]}" --strategy mirrored --set train.checkpoint.dir=ck0 </dev/null
  for how in tcp shm; do
    group_of 3
    start_group 3 "${args[@]}" --set "train.checkpoint.dir=ck-$how" --collectives "$how"
    group_ends 0
    [ "$(weights "ck-$how/step-00000010.safetensors")" = "$(weights ck0/step-00000010.safetensors)" ]
  done
}

@test "multi-worker: workers of several devices share replicas that are more, or fewer" {
  local n args=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --set train.steps=10)
  for n in 3 8; do
    run -0 --separate-stderr timeout 60 tfd-run "${args[@]}" --replicas "$n" --strategy mirrored --set "train.checkpoint.dir=one$n" </dev/null
    group_of 2
    start_group 2 "${args[@]}" --replicas "$n" --devices cpu:2 --set "train.checkpoint.dir=ck$n"
    group_ends 0
    [ "$(weights "ck$n/step-00000010.safetensors")" = "$(weights "one$n/step-00000010.safetensors")" ]
  done
  run -64 --separate-stderr tfd-run "${args[@]}" --strategy multi-worker-mirrored --replicas 8 --devices cpu:2 </dev/null
  [[ $stderr == *"--replicas and --devices exclude each other without a cluster"* ]]
}

@test "multi-worker: a checkpoint says how many replicas its training has, and another number of workers goes on with as many" {
  local args=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --set train.checkpoint.dir=ck)
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 4 --strategy mirrored \
    --set train.checkpoint.dir=ck0 --set train.steps=20 </dev/null
  group_of 2
  start_group 2 "${args[@]}" --replicas 4 --set train.steps=10
  group_ends 0
  group_of 1
  start_group 1 "${args[@]}" --set train.steps=20
  group_ends 0
  jq -es 'any(.[]; .event == "start" and .step == 10 and .replicas == 4)' worker:0.events
  [ "$(weights ck/step-00000020.safetensors)" = "$(weights ck0/step-00000020.safetensors)" ]
  start_group 1 "${args[@]}" --set train.steps=25 --replicas 2
  group_ends 0
  grep -q 'replicas 2: the checkpoint.s training had 4' worker:0.talk
  group_of 3
  start_group 3 "${args[@]}" --set train.steps=30
  group_ends 65
  grep -q "the checkpoint's training has 2 replicas: there are 3 processes, each of which needs a replica (--replicas 3)" worker:0.talk
  start_group 3 "${args[@]}" --start-over --replicas 2
  group_ends 65
  grep -q -- "--replicas 2: there are 3 processes, each of which needs a replica (at least 3)" worker:0.talk
}

@test "multi-worker: tfd-status shows step, generation, replicas and who is late" {
  group_of 3
  start_group 3 "$EXAMPLES/digits/program.json" --replicas 8 --set train.steps=1000000
  local doc='[.tasks[].group | [.generation, .first_replica, .own_replicas, .replicas]]'
  is_shown() {
    tfd-status --cluster cluster.json --key-file none --json >status.json || return 1
    jq -e 'all(.tasks[]; .group.step > 10 and (.group.late_ms | type) == "number")' status.json >seen
  }
  until_true is_shown
  [ "$(jq -c "$doc" status.json)" = '[[1,0,3,8],[1,3,3,8],[1,6,2,8]]' ]
  run -0 tfd-status --cluster cluster.json --key-file none
  [[ ${lines[0]} == "step "*" of 1000000"* ]]
  grep -Eq '^TASK +STATE +UPTIME +MEMORY +STEP +GEN +REPLICAS +LATE' <<<"$output"
  grep -Eq '^worker:0 +up +[0-9ms]+ +[0-9.]+ [KM]iB +[0-9]+ +1 +0-2 of 8 +[0-9.]+ ms' <<<"$output"
  kill -TERM "${PIDS[0]}"
  group_ends 75
}

@test "multi-worker: epochs are counted by the replicas that the checkpoint says" {
  local args=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --set 'datasets.train[2]={"repeat": {"count": 1}}' --set train.steps=null
    --set train.epochs=1)
  run -0 --separate-stderr timeout 60 tfd-run "${args[@]}" --replicas 4 --strategy mirrored --set train.checkpoint.dir=ck0 </dev/null
  local steps
  steps=$(jq -s 'map(select(.event == "end"))[0].step' <<<"$output")
  group_of 2
  start_group 2 "${args[@]}" --replicas 4 --set train.checkpoint.dir=ck --set train.max_time=1ms
  group_ends 0
  start_group 2 "${args[@]}" --set train.checkpoint.dir=ck
  group_ends 0
  [ "$(last worker:0 .step)" = "$steps" ]
  local final
  final=step-$(printf %08d "$steps").safetensors
  [ "$(weights "ck/$final")" = "$(weights "ck0/$final")" ]
}

@test "multi-worker: SIGTERM to a worker: all end at one step, saved, with 75, and the same command goes on" {
  group_of 2
  local args=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --set train.checkpoint.dir=ck)
  start_group 2 "${args[@]}" --set train.steps=1000000
  until_event worker:0 '.event == "step"'
  kill -TERM "${PIDS[1]}"
  group_ends 75
  local saved
  saved=$(last worker:0 .step)
  [ -f "ck/step-$(printf %08d "$saved").safetensors" ]
  grep -q "worker:0 at step $saved:" worker:0.talk
  [ ! -s worker:1.talk ] # its chief has said it
  start_group 2 "${args[@]}" --set "train.steps=$((saved + 5))"
  group_ends 0
  jq -es --argjson saved "$saved" 'any(.[]; .event == "start" and .step == $saved)' worker:0.events
  [ "$(last worker:0 .step)" = $((saved + 5)) ]
}

@test "multi-worker: who isn't there is named, and given up after --join" {
  group_of 3
  worker worker:0 "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --join 2s
  run_ends "$RUN" 75
  grep -q 'for worker:1, worker:2 to join$' worker:0.talk
  worker worker:1 "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --join 1s
  run_ends "$RUN" 75
  grep -q 'for worker:0 to join$' worker:1.talk
}

@test "multi-worker: if workers differ, all end with what differs, those who have come before, too" {
  group_of 3
  local first chief
  worker worker:2 "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --join 60s
  first=$RUN
  worker worker:0 "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --join 60s
  chief=$RUN
  worker worker:1 "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --set train.steps=7
  run_ends "$RUN" 65
  run_ends "$chief" 65
  run_ends "$first" 65
  local i
  for i in 0 1 2; do grep -q 'the members differ in the number of steps: worker:[02] has .*, worker:1 has 7' "worker:$i.talk"; done
  group_of 2
  worker worker:1 "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --collectives tcp
  run -65 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --cluster cluster.json --task worker:0
  [[ $stderr == *'the members differ in --collectives: worker:0 has auto, worker:1 has tcp'* ]]
  run_ends "$RUN" 65
}

@test "multi-worker: a checkpoint has XLA's threads, and workers that differ in them are named" {
  group_of 2
  local program=("$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --set train.checkpoint.dir=ck)
  PJRT_NPROC=3 worker worker:1 "${program[@]}" --set train.steps=5
  local other=$RUN
  PJRT_NPROC=1 worker worker:0 "${program[@]}" --set train.steps=5
  run_ends "$RUN" 0
  run_ends "$other" 0
  grep -q "^tfd-run: worker:0 has 1 of XLA's threads, worker:1 has 3: the last bits" worker:0.talk
  tail -c +9 ck/step-00000005.safetensors | head -c 2000 | grep -q '"threads":"1"'
  run -0 --separate-stderr env PJRT_NPROC=2 timeout 60 tfd-run -v "$EXAMPLES/digits/program.json" --set train.checkpoint.dir=ck --set train.steps=6 </dev/null
  [[ $stderr == *"ck/step-00000005.safetensors: made with 1 of XLA's threads, and there are 2 now"* ]]
}

@test "multi-worker: all workers have as many of XLA's threads as the chief may use processors, then as the checkpoint says" {
  local program=("$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --set train.checkpoint.dir=ck)
  threads_of() { tail -c +9 "$1" | head -c 2000 | grep -ao '"threads":"[0-9]*"'; }
  unset PJRT_NPROC NPROC
  group_of 2
  TFD_PROCESSORS=5 worker worker:1 "${program[@]}" --set train.steps=5 -v
  local other=$RUN
  TFD_PROCESSORS=3 worker worker:0 "${program[@]}" --set train.steps=5
  run_ends "$RUN" 0
  run_ends "$other" 0
  run ! grep "of XLA's threads" worker:0.talk
  [ "$(threads_of ck/step-00000005.safetensors)" = '"threads":"3"' ]
  group_of 1
  TFD_PROCESSORS=7 worker worker:0 "${program[@]}" --set train.steps=9 -v
  run_ends "$RUN" 0
  grep -q "XLA has 3 threads in each process, as in the checkpoint, since last bits depend on it; PJRT_NPROC=7 uses" worker:0.talk
  [ "$(threads_of ck/step-00000009.safetensors)" = '"threads":"3"' ]
}

@test "multi-worker: an error of one worker's data ends the step in all, with its text" {
  cp -r "$EXAMPLES/digits" digits
  group_of 3
  # The others' copy is whole; worker:1's ends in a line that is none.
  cp -r digits other
  sed -i '40s/.*/what is this/' other/digits-train.csv
  worker worker:1 digits/program.json --strategy multi-worker-mirrored --key-file none --data-root other
  PIDS=("$RUN")
  local i
  for i in 2 0; do
    worker "worker:$i" digits/program.json --strategy multi-worker-mirrored --key-file none --data-root digits
    PIDS+=("$RUN")
  done
  group_ends 65
  for i in 0 1 2; do grep '^tfd-run: worker:1: .*digits-train.csv' "worker:$i.talk"; done | sort -u >lines
  [ "$(wc -l <lines)" = 1 ]
  run ! grep "worker:[0-9].*worker:[0-9]" lines
  [ "$(last worker:0 .error.task)" = '"worker:1"' ]
}

@test "multi-worker: what it can't do is said before anything is done" {
  group_of 2
  run -65 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --cluster cluster.json </dev/null
  [[ $stderr == *'which task of the cluster'* ]]
  run -64 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --batch per-replica </dev/null
  [[ $stderr == *'--batch is for --strategy multi-worker-mirrored'* ]]
  run -64 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --batch per-replica --replicas 2 </dev/null
  [[ $stderr == *'--batch per-replica and --replicas exclude each other: there is one for each device'* ]]
  run -64 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --silence 5s </dev/null
  [[ $stderr == *'--silence is for --strategy multi-worker-mirrored'* ]]
  run -64 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --silence 1s </dev/null
  [[ $stderr == *'--silence 1s: at least 3s'* ]]
  run -0 --separate-stderr timeout 60 tfd-launch -n 1 --no-prefix --silence 4s -- sh -c 'echo "$TFD_SILENCE"' </dev/null
  [ "$output" = 4s ]
  run -0 --separate-stderr timeout 60 tfd-launch -n 1 --no-prefix -- sh -c 'echo "${TFD_SILENCE-none}"' </dev/null
  [ "$output" = none ]
  run -64 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --verify-every -1 </dev/null
  [[ $stderr == *'--verify-every: -1 is out of range'* ]]
  run -64 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --collectives shm </dev/null
  [[ $stderr == *'--collectives is for --strategy multi-worker-mirrored'* ]]
  jq '.cluster.worker[1] = "10.1.2.3:4000"' cluster.json >far.json
  run -77 --separate-stderr tfd-run "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --cluster far.json --task worker:1 \
    --key-file none </dev/null
  [[ $stderr == *'there is no key'* ]]
  # Without a cluster it is mirrored.
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/linear/program.json" --strategy multi-worker-mirrored --replicas 2 </dev/null
  jq -es 'any(.[]; .event == "start" and .task == "local" and .replicas == 2)' <<<"$output"
}

@test "multi-worker: where mpirun or srun has started several processes, and no cluster is named, the option that does is told" {
  # A pipe into which nobody writes, as rank 0 of mpirun has, and the end of a file, as the others have.
  mkfifo silent
  exec 9<>silent
  local program=("$EXAMPLES/linear/program.json" --strategy multi-worker-mirrored)
  local mpi=(OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2)
  local slurm=(SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NODELIST='n[1-2]' SLURM_STEP_TASKS_PER_NODE='1(x2)')
  run -64 --separate-stderr env "${mpi[@]}" timeout 60 tfd-run "${program[@]}" <&9
  [[ $stderr == "tfd-run: OMPI_COMM_WORLD_SIZE is 2: 2 processes were started together, but nothing names their cluster: \
--cluster mpi makes one training of them; --cluster none trains in each by itself"* ]]
  run -64 --separate-stderr env "${slurm[@]}" timeout 60 tfd-run "${program[@]}" </dev/null
  [[ $stderr == *'--cluster slurm makes one training of them'* ]]
  # Each by itself, if that is meant; and what a launcher has named is the cluster.
  run -0 --separate-stderr env "${mpi[@]}" timeout 60 tfd-run "${program[@]}" --cluster none <&9
  jq -es 'any(.[]; .event == "start" and .task == "local")' <<<"$output"
  run -0 --separate-stderr env "${mpi[@]}" timeout 60 tfd-launch -n 1 --no-prefix -- tfd-run "${program[@]}" <&9
  exec 9>&-
}

@test "multi-worker: the newest checkpoint that any worker sees is the one that all continue from" {
  # Each has a directory of its own, as on hosts that share none.
  local i args=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 4 --set train.checkpoint.dir=ck)
  run -0 --separate-stderr timeout 60 tfd-run "${args[@]}" --strategy mirrored --set train.checkpoint.dir=whole --set train.steps=20 </dev/null
  group_of 2
  mkdir a b
  start_apart() { # ARGS…
    PIDS=()
    for i in b:1 a:0; do
      pushd "${i%:*}" >/dev/null
      ln -sf ../cluster.json .
      worker "worker:${i#*:}" "${args[@]}" --strategy multi-worker-mirrored --key-file none "$@"
      popd >/dev/null
      PIDS=("$RUN" "${PIDS[@]}")
    done
  }
  start_apart --set train.steps=10
  group_ends 0
  [ ! -e b/ck ]
  mv a/ck b/ck # as if the other one had been the chief
  start_apart --set train.steps=20
  group_ends 0
  grep -q 'ck/step-00000010.safetensors is the newest checkpoint of the group' b/worker:1.talk
  grep -q '^tfd-run: continuing at step 10: another worker has the newest checkpoint$' a/worker:0.talk
  jq -es 'any(.[]; .event == "start" and .step == 10)' a/worker:0.events
  [ "$(weights a/ck/step-00000020.safetensors)" = "$(weights whole/step-00000020.safetensors)" ]
  # Older checkpoints than the chief's don't count.
  start_apart --set train.steps=25
  group_ends 0
  jq -es 'any(.[]; .event == "start" and .step == 20)' a/worker:0.events
  # A training that starts over looks at none.
  rm -r a/ck
  start_apart --set train.steps=5 --start-over
  group_ends 0
  jq -es 'any(.[]; .event == "start" and .step == 0)' a/worker:0.events
}

@test "multi-worker: an evaluator says that it doesn't see the checkpoints' directory" {
  group_of 1
  jq '.cluster.evaluator = ["127.0.0.1:1"]' cluster.json >all.json
  mv all.json cluster.json
  worker evaluator:0 "$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --set train.checkpoint.dir=elsewhere
  until_talk evaluator:0 'elsewhere: there is no such directory here yet: the checkpoints of the chief are waited for'
  kill -TERM "$RUN"
  run_ends "$RUN" 0
}

@test "multi-worker: where the cluster has an evaluator, it alone evaluates, the last checkpoint too; the workers do for train.stop" {
  local program=("$EXAMPLES/digits/program.json" --strategy multi-worker-mirrored --key-file none --set train.steps=60 --set train.evaluate.every=20
    --set train.checkpoint.every=20 --set 'train.checkpoint.keep_best={"metric": "accuracy"}')
  group_of 2
  jq '.cluster.evaluator = ["127.0.0.1:1"]' cluster.json >all.json && mv all.json cluster.json
  worker evaluator:0 "${program[@]}" --set train.checkpoint.dir=ck
  local evaluator=$RUN
  start_group 2 "${program[@]}" -v --set train.checkpoint.dir=ck
  group_ends 0
  run ! grep 'is lost' worker:0.talk worker:1.talk
  run_ends "$evaluator" 0
  jq -es 'all(.[]; .event != "eval" and (.best | not))' worker:0.events
  [ "$(last evaluator:0 .step)" = 60 ]
  jq -es 'any(.[]; .event == "eval" and .step == 60) and any(.[]; .event == "checkpoint" and .best)' evaluator:0.events
  start_group 2 "${program[@]}" --set train.checkpoint.dir=stop --set 'train.stop={"metric": "loss", "patience": 9}'
  group_ends 0
  [ "$(jq -s 'map(select(.event == "eval")) | map(.step)' -c worker:0.events)" = '[20,40,60]' ]
}

@test "multi-worker: a group in whose directory another one trains is refused; with --take-over it begins, and the first one ends, all with who that is" {
  local program=("$EXAMPLES/digits/program.json" --set train.steps=1000000 --set train.checkpoint.dir=ck --set train.checkpoint.every=50)
  group_of 2
  start_group 2 "${program[@]}"
  local first=("${PIDS[@]}")
  RUN=${PIDS[0]} until_event worker:0 '.event == "checkpoint"'
  mkdir second
  cd second
  group_of 2
  start_group 2 "${program[@]}" --set train.checkpoint.dir=../ck
  run_ends "${PIDS[0]}" 77
  run_ends "${PIDS[1]}" 77
  grep -q "ck is in use by process ${first[0]} on " worker:0.talk
  group_of 2
  start_group 2 "${program[@]}" --set train.checkpoint.dir=../ck --take-over
  cd ..
  run_ends "${first[0]}" 75
  run_ends "${first[1]}" 75
  local i
  for i in 0 1; do grep -q "ck: another training has begun there since, in process ${PIDS[0]} on " "worker:$i.talk"; done
  cd second
  RUN=${PIDS[0]} until_event worker:0 '.event == "checkpoint"'
  kill -TERM "${PIDS[1]}"
  group_ends 75
}
