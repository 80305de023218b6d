#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Data that are handed out element by element: each once in an epoch, whoever is killed in it.
# bats file_tags=long

load ../cli/coordinate
load seen
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# A training of unseeded data for EPOCHS epochs, by two workers, whose coordinator gets that signal on the way; the next one goes
# on until the end, and each element was seen once in an epoch.
goes_on_after() { # SIGNAL EPOCHS
  serve --jobs worker=2,ps=1
  seeing_program '{"shuffle": {"buffer": 300}}, {"options": {"distribute": "dynamic"}}' \
    "{\"function\": \"see\", \"epochs\": $2, \"log_every\": 100, \"checkpoint\": {\"dir\": \"ck\", \"every\": 100000}}"
  coordinator_is_stopped_midway "$1"
  coordinate program.json --cluster spec.json
  event ".event == \"end\" and .reason == \"done\" and .step == ${2}000"
  coordinator_ends 0
  [ "$(seen_in "ck/step-$(printf %08d "${2}000").safetensors")" = "$2" ]
}

@test "fault: of data that are handed out each element is seen once in an epoch, whichever workers are killed in it" {
  serve --jobs worker=3,ps=1
  seeing_program '{"shuffle": {"buffer": 300, "seed": 5}}, {"options": {"distribute": "dynamic"}}' '{"function": "see", "epochs": 60, "log_every": 100, "checkpoint": {"dir": "ck", "every": 100000}}'
  coordinate program.json --cluster spec.json
  workers_are_killed_at 300 1201 2501
  event '.event == "end" and .reason == "done" and .step == 60000'
  coordinator_ends 0
  [ "$(seen_in ck/step-00060000.safetensors)" = 60 ]
}

@test "fault: a training that continues goes on with the elements that nobody has seen" { goes_on_after TERM 20; }

@test "fault: so does a coordinator that adopts the training of one that was killed" { goes_on_after KILL 21; }
