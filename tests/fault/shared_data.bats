#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Data of which asynchronous workers of tfd-run have one order: each element once in an epoch, whoever is slow or dies.
# bats file_tags=long

load ../cli/run
load seen
setup() {
  coordinate_setup
  EPOCHS=20 # long enough to be killed in
  [ -z "${TFD_SANITIZED:-}" ] || EPOCHS=4
}
teardown() { run_teardown; }

train_for() { # EPOCHS
  echo "{\"function\": \"see\", \"epochs\": $1, \"log_every\": 50, \"checkpoint\": {\"dir\": \"ck\", \"every\": 100000}}"
}

# The checkpoint of the last step, which is this one, has seen each number so often.
saw_each() { # STEPS TIMES
  LIMIT=150 ends "$CHIEF" || return 1 # tens of thousands of steps, on a busy machine
  run_ends "$CHIEF" 0 || return 1
  [ "$(last worker:0 .step)" = "$1" ] || { echo "ended at $(last worker:0 .step), not $1"; return 1; }
  [ "$(seen_in "ck/step-$(printf %08d "$1").safetensors")" = "$2" ] || { seen_in ck/step-*; return 1; }
}

@test "fault: workers see each element once in an epoch, however many of them are killed in it" {
  [ -n "${TFD_SANITIZED:-}" ] || EPOCHS=40 # until the last one is killed, on a busy machine
  export TFD_TRANSPORT=tcp                 # which takes longer
  seeing_program '{"shuffle": {"buffer": 300}}, {"prefetch": 2}' "$(train_for $EPOCHS)"
  cluster_of 4 2
  worker worker:3 program.json
  local third=$RUN
  worker worker:2 program.json
  local second=$RUN
  two_workers program.json
  until_event worker:0 '.event == "step" and .step >= 300'
  kill -KILL "$third"
  until_event worker:0 '.event == "step" and .step >= 1500'
  kill -KILL "$second"
  until_event worker:0 '.event == "step" and .step >= 3000'
  kill -KILL "$OTHER"
  worker worker:1 program.json
  OTHER=$RUN
  saw_each "${EPOCHS}000" $EPOCHS
  run_ends "$OTHER" 0
}

@test "fault: a worker that stands still for a while makes the others neither skip nor repeat any" {
  seeing_program '{"shuffle": {"buffer": 300, "seed": 7}}, {"batch": {"size": 3}}, {"unbatch": {}}' "$(train_for $EPOCHS)"
  cluster_of 2 1
  two_workers program.json
  until_event worker:0 '.event == "step" and .step >= 200'
  kill -STOP "$OTHER"
  until_event worker:0 '.event == "step" and .step >= 2000'
  kill -CONT "$OTHER"
  saw_each "${EPOCHS}000" $EPOCHS
  run_ends "$OTHER" 0
}

@test "fault: who has nothing left to do says whom it waits for, and makes the steps of one that is given up" {
  EPOCHS=4 # all others' steps are made before a server has given it up
  seeing_program '{"shuffle": {"buffer": 300}}' "$(train_for $EPOCHS)"
  cluster_of 2 1
  two_workers program.json
  until_event worker:0 '.event == "step" and .step >= 200'
  kill -STOP "$OTHER"
  RUN=$CHIEF until_talk worker:0 "waiting for worker:1 to make the last steps"
  kill -KILL "$OTHER"
  saw_each "${EPOCHS}000" $EPOCHS
}

@test "fault: a chief that is killed has its elements seen by the others, and goes on with the rest of the epoch" {
  seeing_program '{"shuffle": {"buffer": 300}}, {"options": {"distribute": "dynamic"}}' "$(train_for $EPOCHS)"
  cluster_of 2 1
  two_workers program.json
  until_event worker:0 '.event == "step" and .step >= 500'
  kill -KILL "$CHIEF"
  ends "$CHIEF"
  worker worker:0 program.json
  CHIEF=$RUN
  until_event worker:0 '.event == "start" and .joined'
  saw_each "${EPOCHS}000" $EPOCHS
  run_ends "$OTHER" 0
}

@test "fault: without a number of steps all workers end when the data do, and each element was seen" {
  seeing_program "{\"repeat\": $EPOCHS}" '{"function": "see", "log_every": 50, "checkpoint": {"dir": "ck", "every": 100000}}'
  cluster_of 3 1
  worker worker:2 program.json
  local second=$RUN
  two_workers program.json
  until_event worker:0 '.event == "step" and .step >= 500'
  kill -KILL "$second"
  saw_each "${EPOCHS}000" $EPOCHS
  [ "$(last worker:0 .reason)" = '"end_of_data"' ]
  run_ends "$OTHER" 0
}

@test "fault: replicas of workers take the elements of a step together" {
  seeing_program '{"shuffle": {"buffer": 100}}' "$(train_for 3)"
  cluster_of 2 1
  two_workers program.json --replicas 3
  saw_each 1000 3
  run_ends "$OTHER" 0
}
