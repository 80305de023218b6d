#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whole trainings by one srun line inside a real Slurm: what ends them, what continues them; and a pipe through tfd-exec.

bats_require_minimum_version 1.5.0

source "$BATS_TEST_DIRNAME/slurm-trainings.bash"

# A program in $OUT whose training counts its steps.
program() {  # TRAIN, JSON
  T=$OUT counting_program "$1"
  cd "$OUT"
}

job_of() { squeue -h -o %i -n "$1" | head -n 1; }

srun_ends() {  # PROCESS CODE
  local code=0
  LIMIT=60 ends "$1"
  wait "$1" || code=$?
  [ "$code" = "$2" ] || { echo "exit code $code, not $2"; cat events talk; return 1; }
}

@test "srun without a cluster: tfd-run and tfd-launch refuse, and what they say trains; a batch script trains alone" {
  local linear=("$TFD_SOURCE/examples/linear/program.json" --set train.steps=3) code
  cd "$OUT"
  for command in "tfd-run ${linear[*]}" "tfd-run ${linear[*]} --strategy mirrored" "tfd-launch -- true"; do
    code=0
    # shellcheck disable=SC2086
    step -n2 $command >events 2>talk || code=$?
    [ "$code" = 64 ] && [ ! -s events ] || { echo "$code"; cat events talk; false; }
    grep -q ' is 2: 2 processes were started together.*--cluster slurm makes one training of them' talk
  done
  step -n2 tfd-run "${linear[@]}" --cluster slurm --replicas 2 --key-file none --insecure >events 2>talk || { cat talk; false; }
  jq -es '[.[] | select(.event == "start")] | length == 1 and .[0].workers == 2' events
  # The batch script has the counts of the job, and is none of its tasks; a step of one task is alone, too.
  timeout 120 sbatch --wait -n2 -o "$OUT/batch.events" -e "$OUT/batch.talk" --wrap "tfd-run ${linear[*]} && srun -n1 tfd-run ${linear[*]}" ||
    { cat batch.talk; false; }
  [ "$(grep -c '"event":"end"' batch.events)" = 2 ]
}

@test "srun tfd-run: two tasks serve variables, three train by themselves, and all end with 0" {
  program '{"function": "count", "steps": 20000, "log_every": 5000, "checkpoint": {"dir": "ck"}}'
  run -0 --separate-stderr step -n5 tfd-run --cluster slurm --jobs ps=2,worker=3 --insecure program.json
  [ "$(jq -s 'map(select(.event == "end") | .task) | sort | join(" ")' <<<"$output")" = '"worker:0 worker:1 worker:2"' ]
  jq -es 'all(.[] | select(.event == "end"); .reason == "done")
    and (map(select(.event == "end") | .updates) | add) == (map(select(.event == "end" and .task == "worker:0"))[0].step)' <<<"$output"
}

@test "srun tfd-run: SIGUSR1 saves, SIGTERM ends all with 75 after a last checkpoint, and the same line continues" {
  program '{"function": "count", "steps": 100000000, "log_every": 2000, "checkpoint": {"dir": "ck"}}'
  local line=(step -n5 -J run tfd-run --cluster slurm --jobs ps=2,worker=3 --insecure) srun job
  "${line[@]}" program.json >events 2>talk 3>&- &
  srun=$!
  until_event events '.event == "step" and .task == "worker:0"'
  job=$(job_of run)
  scancel --signal=USR1 "$job"
  until_event events '.event == "checkpoint" and .task == "worker:0"'
  scancel --signal=TERM "$job"
  srun_ends "$srun" 75
  [ "$(jq -s 'map(select(.event == "end") | .reason) | unique | join(" ")' events)" = '"interrupted"' ]
  run ! grep 'is gone' talk  # the parameter servers were there until all had ended
  local last
  last=$(jq -s 'map(select(.event == "checkpoint") | .step) | max' events)
  run -0 --separate-stderr "${line[@]}" program.json --set "train.steps=$((last + 50))"
  # The others may have gone on from there before the chief says so.
  jq -es --argjson last "$last" 'any(.[]; .event == "start" and .task == "worker:0" and .step >= $last
      and (.resumed_from | endswith("\($last).safetensors")))
    and any(.[]; .event == "end" and .task == "worker:0" and .reason == "done")' <<<"$output"
}

@test "srun tfd-coordinate --by-role: SIGUSR1 checkpoints, SIGTERM is 75, and the requeued job continues" {
  program '{"function": "count", "steps": 100000000, "log_every": 2000, "checkpoint": {"dir": "ck"}}'
  cat >script <<'SCRIPT'
#!/bin/bash
last=$(jq -s 'map(select(.event == "checkpoint") | .step) | max // empty' events 2>/dev/null)
srun --overcommit tfd-coordinate --by-role --insecure --jobs chief=1,ps=2,worker=3 program.json ${last:+--set train.steps=$((last + 50))} >>events 2>>talk
code=$?
echo $code >>codes
[ $code = 75 ] && scontrol requeue "$SLURM_JOB_ID"
exit $code
SCRIPT
  local job
  job=$(sbatch --parsable -N1 -n6 --overcommit --requeue --open-mode=append -o out script)
  until_event events '.event == "step"'
  scancel --signal=USR1 "$job"
  until_event events '.event == "checkpoint"'
  scancel --signal=TERM "$job"
  until_event events '.event == "end"'
  [ "$(jq -r .reason <<<"$EVENT")" = interrupted ]
  slurm_wait 30 grep -qx 75 codes
  slurm_wait 30 eval "[ \"\$(squeue -h -j $job -o %T)\" = PENDING ]"
  slurm_wait 30 scontrol update "jobid=$job" StartTime=now  # which would be in two minutes
  until_event events '.event == "start" and .resumed_from != null'
  until_event events '.event == "end" and .reason == "done"'
  slurm_wait 30 grep -qx 0 codes
  run ! grep 'is gone' talk
}

@test "srun tfd-run: four tasks make each step together, SIGTERM ends all with 75, and the same line continues" {
  cp -r "$BATS_TEST_DIRNAME/../../examples/digits" "$OUT/digits"
  cd "$OUT"
  local line=(step -n4 -J group tfd-run digits/program.json --strategy multi-worker-mirrored --cluster slurm --insecure
    --set train.checkpoint.dir=ck --set train.log_every=50) srun last
  "${line[@]}" --set train.steps=1000000 >events 2>talk 3>&- &
  srun=$!
  until_event events '.event == "step" and .step >= 100'
  jq -es 'any(.[]; .event == "start" and .workers == 4 and .replicas == 4)' events
  scancel --signal=TERM "$(job_of group)"
  srun_ends "$srun" 75
  last=$(jq -s 'map(select(.event == "end") | .step) | max' events)
  [ -e "ck/step-$(printf %08d "$last").safetensors" ]
  run -0 --separate-stderr "${line[@]}" --set "train.steps=$((last + 50))"
  jq -es --argjson last "$last" 'any(.[]; .event == "start" and .step == $last and .workers == 4)
    and any(.[]; .event == "end" and .reason == "done" and .step == $last + 50)' <<<"$output"
}

@test "srun tfd-run: with MIN:MAX a group goes on without a task that is killed, and takes in who is started again" {
  cp -r "$BATS_TEST_DIRNAME/../../examples/digits" "$OUT/digits"
  cd "$OUT"
  cat >task <<'SCRIPT'
#!/bin/bash
# One task of the step; task 2 is killed once, and started again by its own script.
line=(tfd-run digits/program.json --strategy multi-worker-mirrored --cluster slurm --insecure --workers 1:3 --set train.checkpoint.dir=ck
  --set train.log_every=100 --set train.steps=10000000)
[ "$SLURM_PROCID" = 2 ] || exec "${line[@]}"
"${line[@]}" &
until grep -q '"step":500' events 2>/dev/null; do sleep 0.1; done
kill -KILL $!
wait $!
exec "${line[@]}"
SCRIPT
  chmod +x task
  local srun job
  touch talk
  step -n3 -J elastic bash -c 'exec ./task >>events 2>>talk' 3>&- &
  srun=$!
  until_true grep -q 'generation [0-9]* goes on at step [0-9]*: worker:0, worker:1; worker:2 is lost (.*)$' talk
  until_true grep -q 'generation [0-9]* goes on at step [0-9]*: worker:0, worker:1, worker:2; with worker:2 anew$' talk
  job=$(job_of elastic)
  scancel --signal=TERM "$job"
  srun_ends "$srun" 75
  jq -es 'any(.[]; .event == "end" and .reason == "interrupted")' <(grep -a '^{.*}$' events)
}

@test "srun tfd-launch: one on each node, which meet by the step; the tasks of all are one group" {
  cd "$OUT"
  cat >launcher <<'SCRIPT'
#!/bin/sh
touch "started.$SLURM_PROCID"
exec tfd-launch -v -n 2 --cluster slurm --insecure --join 40s -- sh -c 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK $GROUP_RANK $MASTER_ADDR"'
SCRIPT
  chmod +x launcher
  run --separate-stderr step -N2 --ntasks-per-node=1 ./launcher
  if [ "$status" != 0 ]; then
    echo "exit code $status; started: $(echo started.*)"; echo "$output"; echo "$stderr"; squeue; sinfo
    [ -e started.0 ] && [ -e started.1 ] || skip "Slurm started no task on one of the nodes"
    return 1
  fi
  [ "$(sort <<<"$output")" = 'worker:0: 0/4 0 0 n1
worker:1: 1/4 1 0 n1
worker:2: 2/4 0 1 n1
worker:3: 3/4 1 1 n1' ]
}

@test "the examples of the man pages for Slurm run as they are written" {
  cd "$OUT"
  local page line words=()
  for page in tfd-ps.7 tfd-coordinate.1; do
    while read -r line; do words+=("man/$page.scd:$((line - 1))"); done < <(grep -n '^# needs: slurm$' "$TFD_SOURCE/man/$page.scd" | cut -d: -f1)
  done
  [ ${#words[@]} -ge 2 ]
  # One node of this host, which all addresses are on.
  export TFD_HAVE_SLURM=1 SLURM_OVERCOMMIT=1 SLURM_NNODES=1
  run -0 salloc -N1 -n5 --overcommit "$TFD_SOURCE/tests/dist/run-examples.sh" "${words[@]}"
  [[ $output == *"${#words[@]} examples, 0 failed"* ]]
}

@test "seq | srun tfd-exec: retries, a job log, and --halt now ends the rest" {
  cd "$OUT"
  tfd-serve --jobs worker=2 --allow-native --output spec.json --detach >/dev/null
  local server
  server=$(jq .supervisor.pid spec.json)
  # shellcheck disable=SC2016
  run -0 --separate-stderr bash -c 'seq 6 | timeout 60 srun -n1 tfd-exec --cluster spec.json --joblog j --retries 2 --halt now,fail=1 "[ {} != 3 ] || ! mkdir once 2>/dev/null && echo got {}"'
  [ "$output" = "$(printf 'got %s\n' 1 2 3 4 5 6)" ]
  [ "$(tail -n +2 j | wc -l)" = 6 ]
  # shellcheck disable=SC2016
  run --separate-stderr bash -c 'seq 1000 | timeout 60 srun -n1 tfd-exec --cluster spec.json --joblog k --retries 1 --halt now,fail=1 "[ {} != 3 ]"'
  [ "$status" != 0 ]
  [ "$(tail -n +2 k | wc -l)" -lt 1000 ]
  kill -TERM "$server"
}
