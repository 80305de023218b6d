#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tasks that die under closures in a pipe.

load ../cli/coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

@test "fault: closures of a killed worker are migrated, each applied once" {
  serve --jobs worker=2,ps=2
  counting_program '{"function": "count", "steps": 1}'
  mkfifo lines
  exec 5<>lines
  coordinate program.json --cluster spec.json --closures - <lines
  seq 3000 | sed 's/.*/{"op": "schedule", "function": "count", "id": &}/' >&5
  answer 500
  kill -KILL "$(task_pid worker:0)"
  seq 3001 6000 | sed 's/.*/{"op": "schedule", "function": "count", "id": &}/' >&5
  echo '{"op": "join", "id": "join"}' >&5
  answer '"join"'
  jq -e '.status == "ready"' <<<"$EVENT"
  echo '{"op": "read", "variable": "n0", "id": "n0"}' >&5
  answer '"n0"'
  jq -e '.value == 6000' <<<"$EVENT"
  echo '{"op": "read", "variable": "n1", "id": "n1"}' >&5
  answer '"n1"'
  jq -e '.value == 6000' <<<"$EVENT"
  exec 5>&-
  coordinator_ends 0
}

@test "fault: a lost parameter server answers what was read, and ends it with 69 though the input is open" {
  serve --jobs worker=2,ps=2
  counting_program '{"function": "count", "steps": 1}'
  mkfifo lines
  exec 5<>lines
  coordinate program.json --cluster spec.json --closures - <lines
  echo '{"op": "schedule", "function": "count", "id": "a"}' >&5
  answer '"a"'
  jq -e '.status == "ready"' <<<"$EVENT"
  kill -KILL "$(task_pid ps:0)"
  coordinator_ends 69
  grep -q 'parameter server ps:0 is gone' talk
  exec 5>&-
}

@test "fault: where a parameter server is lost every line that is there has its answer" {
  serve --jobs worker=2,ps=2
  counting_program '{"function": "count", "steps": 1}'
  {
    seq 20000 | sed 's/.*/{"op": "schedule", "function": "count", "id": &}/'
    echo '{"op": "join", "id": "join"}'
    echo '{"op": "read", "variable": "n0", "id": "read"}'
  } >lines.jsonl
  coordinate program.json --cluster spec.json --closures lines.jsonl
  answer 500
  kill -KILL "$(task_pid ps:0)"
  answer '"read"'
  jq -e '.status == "error" and .error.code == "UNAVAILABLE"' <<<"$EVENT"
  coordinator_ends 69
}
