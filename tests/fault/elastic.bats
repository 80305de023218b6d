#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Groups of tfd-run --workers MIN:MAX, whose members die, freeze, leave and come back while the training goes on: in the end the
# weights are an undisturbed run's, to the bit.
# TFD_FAULT_SEEDS="1 2 3": orders of random faults, one after the other.
# bats file_tags=long

load elastic
setup() { elastic_setup; }
teardown() { run_teardown; }

@test "elastic: a killed worker is done without, comes back, and the chief's place is taken" {
  local args=(--workers 1:3 --set train.steps=1000000)
  members 3 "${args[@]}"
  reaches 0 500
  killed 1
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0, worker:2; worker:1 is lost (.*)$'
  member 1 "${args[@]}"
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0, worker:2, worker:1; with worker:1 anew$'
  jq -es 'any(.[]; .event == "worker" and .task == "worker:1" and .state == "lost" and .step >= 500)' worker:0.events
  killed 0
  RUN=${PIDS[2]} until_event worker:2 '.event == "start" and .workers == 2 and .replicas == 4 and .adopted'
  member 0 "${args[@]}"
  talks 2 'generation [0-9]* goes on at step [0-9]*: worker:2, worker:1, worker:0; with worker:0 anew$'
  ends_with_undisturbed_bits 143
  [ "$(jq -r .writer.generation ck/index.json)" -ge 5 ]
}

@test "elastic: of two that die at once each is lost for its own reason" {
  local args=(--workers 1:3 --set train.steps=1000000)
  members 3 "${args[@]}"
  reaches 0 500
  kill -KILL "${PIDS[1]}" "${PIDS[2]}"
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0; worker:[12] is lost (.*); worker:[12] is lost (.*)$'
  local name
  for name in worker:1 worker:2; do
    jq -es --arg name "$name" 'any(.[]; .event == "worker" and .task == $name and .state == "lost" and (.reason | startswith($name + " is lost (")))' worker:0.events
  done
  ends_with_undisturbed_bits 137
}

@test "elastic: who is asked to end hands over, the chief too; the last one saves, and all go on from that" {
  local args=(--workers 1:3 --set train.steps=1000000)
  members 3 "${args[@]}"
  reaches 0 500
  kill -TERM "${PIDS[1]}"
  run_ends "${PIDS[1]}" 0
  grep -q 'the others go on; the same command joins them again$' worker:1.talk
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0, worker:2; worker:1 has left$'
  kill -TERM "${PIDS[0]}"
  run_ends "${PIDS[0]}" 0
  [ "$(last worker:0 .reason)" = '"left"' ]
  RUN=${PIDS[2]} until_event worker:2 '.event == "start" and .workers == 1'
  kill -TERM "${PIDS[2]}"
  run_ends "${PIDS[2]}" 75
  local saved
  saved=$(last worker:2 .step)
  grep -q "the same command continues from ck/step-$(printf %08d "$saved").safetensors$" worker:2.talk
  [ -f "ck/step-$(printf %08d "$saved").safetensors" ]
  PIDS=()
  local i
  for i in 2 1 0; do member "$i" --workers 1:3 --set "train.steps=$((saved + 100))"; done
  group_ends 0
  jq -es --argjson saved "$saved" 'any(.[]; .event == "start" and .step == $saved and .workers == 3)' worker:0.events
  undisturbed "$((saved + 100))"
  local file
  file=step-$(printf %08d "$((saved + 100))").safetensors
  [ "$(weights "ck/$file")" = "$(weights "undisturbed/$file")" ]
}

@test "elastic: all that are told to end together end together, the chief first or last, and none hands over" {
  local order i step
  for order in "0 1 2" "2 1 0"; do
    rm -rf ck
    members 3 --workers 2:3 --set train.steps=1000000
    reaches 0 500
    for i in $order; do kill -TERM "${PIDS[$i]}"; done
    for i in 0 1 2; do run_ends "${PIDS[$i]}" 75; done
    step=$(last worker:0 .step)
    [ "$(last worker:0 .reason)" = '"interrupted"' ]
    [ "$(jq -r .latest ck/index.json)" = "step-$(printf %08d "$step").safetensors" ]
    run ! grep -E 'has left|is lost|the others go on' ./*.talk
    PIDS=()
  done
}

@test "elastic: too few wait for others, and give up after --join with what is saved" {
  local args=(--workers 2:3 --set train.steps=1000000)
  members 3 "${args[@]}" --join 5s
  RUN=${PIDS[0]} until_event worker:0 '.event == "checkpoint"'
  killed 1
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0, worker:2; worker:1 is lost (.*)$'
  killed 2
  run_ends "${PIDS[0]}" 75
  grep -q 'waited 5[.0-9a-z]* for worker:1, worker:2 to join$' worker:0.talk
  saves_its_last_step 0
}

# The last of a group, which was worker $1, saved the step that it had, with the bits of an undisturbed run.
saves_its_last_step() { # I
  local saved file
  [ "$(last "worker:$1" .reason)" = '"interrupted"' ]
  saved=$(last "worker:$1" .step)
  file=step-$(printf %08d "$saved").safetensors
  [ "$(jq -r .latest ck/index.json)" = "$file" ]
  undisturbed "$saved"
  [ "$(weights "ck/$file")" = "$(weights "undisturbed/$file")" ]
}

@test "elastic: who is left of too few, the chief or another, saves what it has before it ends by SIGTERM" {
  local args=(--workers 2:2 --set train.steps=1000000 --set train.checkpoint.every=1000000) left
  for left in 0 1; do
    rm -rf ck undisturbed
    members 2 "${args[@]}"
    reaches 0 500
    killed $((1 - left))
    talks "$left" "waiting for worker:$((1 - left)) to join"
    kill -TERM "${PIDS[$left]}"
    run_ends "${PIDS[$left]}" 75
    saves_its_last_step "$left"
  done
}

@test "elastic: a frozen worker is lost after a while, and comes back as it thaws" {
  local args=(--workers 1:2 --silence 4s --set train.steps=1000000)
  members 2 "${args[@]}"
  reaches 0 500
  kill -STOP "${PIDS[1]}"
  talks 0 "worker:1 doesn't answer (no heartbeat for 3s): it is lost after 4s$"
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0; worker:1 is lost (.*)$'
  kill -CONT "${PIDS[1]}"
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0, worker:1; with worker:1 anew$'
  ends_with_undisturbed_bits 143
}

@test "elastic: with --batch per-replica there are as many replicas as workers, and each element is still taken once an epoch" {
  statistics_program statistics
  run -0 --separate-stderr timeout 120 tfd-launch -n 3 --workers 1:3 --fault 'kill worker:1 at step 700' --no-prefix -- \
    tfd-run statistics/program.json --strategy multi-worker-mirrored --batch per-replica --key-file none --set train.checkpoint.dir=ck \
    --set train.epochs=60
  [[ $stderr == *'generation 2 goes on at step '*': worker:0, worker:2; worker:1 '* ]]
  # An element counts four: each was taken once in each of 60 epochs. Two changes of the number of replicas share a sum of
  # integers anew, rounded down, as a checkpoint does that is restored: up to 2 are lost in each.
  local last seen
  seen=$(newest_numbers ck seen i)
  [ "$seen" -gt 59996 ]
  [ "$seen" -le 60000 ]
  last=$(jq -s 'map(select(.event == "end"))[0].step' <<<"$output")
  [ "$last" -ge 5000 ]
  [ "$last" -le 7500 ]  # 15 000 elements, 3 or 2 a step
}

@test "elastic: with --batch per-replica the last of two workers goes on alone" {
  run -0 --separate-stderr timeout 120 tfd-launch -n 2 --workers 1:2 --max-failures 9 --fault 'kill worker:1 at step 300' --no-prefix -- \
    tfd-run "$EXAMPLES/digits/program.json" "${SEEDED[@]}" --strategy multi-worker-mirrored --batch per-replica --key-file none \
    --set train.checkpoint.dir=ck --set train.steps=600
  [[ $stderr == *'generation 2 goes on at step '*': worker:0; worker:1 '* ]]
  jq -es 'map(select(.event == "end")) | last | .reason == "done" and .step == 600' <<<"$output"
}

@test "elastic: tfd-launch starts again only who died; the weights are an undisturbed run's" {
  run -0 --separate-stderr timeout 120 tfd-launch -n 3 --workers 1:3 --fault 'kill worker:1 at step 700' --fault 'kill worker:0 at step 2500' \
    --no-prefix -- tfd-run "${OF_ALL[@]}" --strategy multi-worker-mirrored --key-file none \
    --set train.steps=20000 --set train.checkpoint.dir=ck
  # On a fast machine both die within the moment in which failures of one cause are gathered.
  grep -Eq '^tfd-launch: worker:1 was killed by SIGKILL; starting (worker:1 again in 1s \(failure 1|worker:0 and worker:1 again in 1s \(failures 1 to 2), at most 3\)$' <<<"$stderr"
  [[ $stderr != *'starting all'* ]]
  undisturbed 20000
  [ "$(weights ck/step-00020000.safetensors)" = "$(weights undisturbed/step-00020000.safetensors)" ]
}

@test "elastic: what is due at the step after which the chief dies is made by the next one, and events name that step" {
  run -0 --separate-stderr timeout 120 tfd-launch -n 3 --workers 1:3 --max-failures 9 --fault 'kill worker:0 at step 400' --fault 'kill worker:2 at step 550' --no-prefix \
    -- tfd-run "${OF_ALL[@]}" --strategy multi-worker-mirrored --key-file none --set train.steps=601 --set train.checkpoint.dir=due \
    --set train.checkpoint.every=200 --set train.checkpoint.keep=9 --set train.evaluate.every=200
  [ "$(cd due && echo step-*)" = 'step-00000200.safetensors step-00000400.safetensors step-00000600.safetensors step-00000601.safetensors' ]
  jq -es 'any(.[]; .event == "eval" and .step == 400) and any(.[]; .event == "worker" and .task == "worker:2" and .state == "lost" and .step == 550)' <<<"$output"
}

@test "elastic: tables whose rows are looked up have an undisturbed run's bits, too" {
  OF_ALL=("$EXAMPLES/recommender/program.json" --replicas 4 --set 'datasets.interactions[1]={"shuffle": {"buffer": 2000, "seed": 7}}')
  run -0 --separate-stderr timeout 120 tfd-launch -n 3 --workers 1:3 --fault 'kill worker:1 at step 1000' --fault 'kill worker:0 at step 2000' \
    --no-prefix -- tfd-run "${OF_ALL[@]}" --strategy multi-worker-mirrored --key-file none --set train.steps=4000 --set train.checkpoint.dir=ck
  [[ $stderr == *'; worker:1 '*'; worker:0 '* ]]
  undisturbed 4000
  [ "$(numbers_of_tables ck)" = "$(numbers_of_tables undisturbed)" ]
}

# Three workers whose program is another one with each value of VARIABLE; "the members differ in the program: …" is what they say.
of_variable() { # VARIABLE ARGS…
  local variable=$1
  shift
  run --separate-stderr timeout 300 tfd-launch -n 3 --no-prefix "$@" -- sh -c "exec tfd-run \"\$@\" --set train.log_every=\$((100 + $variable))" sh \
    "${OF_ALL[@]}" --strategy multi-worker-mirrored --key-file none --set train.steps=20000 --set train.checkpoint.dir=ck
  differs='the members differ in the program: train.log_every: worker:[0-2] has 10[0-2], worker:[0-2] has 10[0-2]'
}

@test "elastic: a task that comes again with another program is refused, with what differs, and the others go on if they are enough" {
  of_variable TFD_RESTARTS --workers 1:3 --fault 'kill worker:1 at step 700'
  [ "$status" = 0 ]
  grep -q "^tfd-run: .*$differs$" <<<"$stderr"
  grep -q "^tfd-launch: worker:1 exited with 65: .*$differs; the others go on without it$" <<<"$stderr"
  [ "$(grep -c 'starting' <<<"$stderr")" = 1 ]
  [[ $stderr != *'generation 3 goes on at step'* ]] # nobody met for it
  undisturbed 20000
  [ "$(weights ck/step-00020000.safetensors)" = "$(weights undisturbed/step-00020000.safetensors)" ]
  rm -r ck
  of_variable TFD_RESTARTS --workers 3:3 --fault 'kill worker:1 at step 700'
  [ "$status" = 65 ]
  grep -q "^tfd-launch: worker:1 exited with 65: .*$differs$" <<<"$stderr"
  [ "$(grep -c 'starting' <<<"$stderr")" = 1 ]
}

@test "elastic: tasks that differ at the first start end all at once, with what differs" {
  of_variable RANK --workers 1:3
  [ "$status" = 65 ]
  grep -q "^tfd-launch: worker:[0-2] exited with 65: .*$differs$" <<<"$stderr"
  [[ $stderr != *starting* ]]
}

@test "elastic: a task with another key than the others' is left out at the first start, if two have the same" {
  tfd-serve -q --generate-key --key-file key
  tfd-serve -q --generate-key --key-file other
  run -0 --separate-stderr timeout 120 tfd-launch -n 3 --workers 1:3 --no-prefix -- \
    sh -c '[ "$RANK" != 1 ] || set -- "$@" --key-file other; exec tfd-run "$@"' sh "${OF_ALL[@]}" --strategy multi-worker-mirrored --key-file key \
    --set train.steps=200 --set train.checkpoint.dir=ck
  grep -q '^tfd-launch: worker:1 exited with 77: .*; the others go on without it$' <<<"$stderr"
  undisturbed 200
  [ "$(weights ck/step-00000200.safetensors)" = "$(weights undisturbed/step-00000200.safetensors)" ]
}

@test "elastic: random deaths, freezes and farewells, of the chief too and of two at once, leave the undisturbed run's bits" {
  local seed
  for seed in ${TFD_FAULT_SEEDS:-1}; do random_faults "$seed" "$seed" 6; done
}

@test "elastic: who is lost takes no replica's copies of variables along, and who comes gets them" {
  statistics_program statistics
  OF_ALL=(statistics/program.json --replicas 4 --set 'datasets.train[2]={"repeat": {}}' --set train.epochs=null
    --set train.log_every=100 --set train.checkpoint.every=1000000)
  local args=(--workers 1:3 --set train.steps=1000000)
  members 3 "${args[@]}"
  reaches 0 300
  killed 1
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0, worker:2; worker:1 is lost (.*)$'
  member 1 "${args[@]}"
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0, worker:2, worker:1; with worker:1 anew$'
  killed 0
  RUN=${PIDS[2]} until_event worker:2 '.event == "start" and .workers == 2 and .replicas == 4 and .adopted'
  killed 2 # worker:1 alone has the others' copies now
  RUN=${PIDS[1]} until_event worker:1 '.event == "start" and .workers == 1 and .replicas == 4 and .adopted'
  PIDS=("${PIDS[1]}")
  ends_with_undisturbed_bits 143
}

# The process of a task, as its launcher says.
process_of() { sed -n "s/.*$1: process \([0-9]*\)$/\1/p" launch.talk | tail -n 1; } # TASK

@test "elastic: tfd-launch ends a member that is frozen when the others have made all steps, after --grace" {
  env --default-signal=INT tfd-launch -n 3 --workers 1:3 --silence 4s --grace 2s -v -- tfd-run "${OF_ALL[@]}" --strategy multi-worker-mirrored \
    --set train.steps=2000 </dev/null >launch.events 2>launch.talk 3>&- &
  RUN=$!
  RUNS+=("$RUN")
  until_true grep -q '"step":[1-9]00' launch.events
  kill -STOP "$(process_of worker:2)"
  run_ends "$RUN" 0
  grep -q 'worker:2 is lost' launch.talk
  grep -q '^tfd-launch: the training is done; ending worker:2, which hasn.t ended 2s after it$' launch.talk
}
