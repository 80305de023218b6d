#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The page of tf.distribute.coordinator.ClusterCoordinator, sentence by sentence, as JSON lines. In C++ all of them are in
# tests/unit/coordinator/test_documented.cpp.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# The answers to the lines of stdin on $WORKERS workers and one ps, by examples/counter, in the order of the lines.
answers() {
  cat >lines.jsonl
  tfd-resolve local --jobs "worker=${WORKERS:-2},ps=1" | tfd-serve 2>/dev/null |
    timeout 60 tfd-coordinate -q "$EXAMPLES/counter/program.json" --ordered --closures lines.jsonl || true
}
add() { echo "{\"op\": \"schedule\", \"function\": \"add_fn\", \"args\": [{\"per_worker\": \"ones\"}], \"id\": \"$1\"}"; }
next_three() { echo "{\"op\": \"schedule\", \"function\": \"worker_fn\", \"args\": [{\"per_worker\": \"threes\"}], \"id\": \"$1\"}"; }
threes='{"op": "create_per_worker_dataset", "dataset": "threes"}'
ENDLESS=(--set 'datasets.ones=[{"tensor_slices": [1]}, {"repeat": {}}]')
ones='{"op": "create_per_worker_dataset", "dataset": "ones"}'

@test "coordinator page: example: worker_fn(iterator) returns next(iterator), fetched as 3" {
  run -0 answers < <(echo "$threes"; next_three remote_value; echo '{"op": "fetch", "of": {"remote": "remote_value"}}')
  [ "$(jq -s '.[2].value' <<<"$output")" = 3 ]
}

@test "coordinator page: example: v.assign_add(next(iterator)) is read back as 1" {
  run -0 answers < <(echo "$ones"; add result; echo '{"op": "fetch", "of": {"remote": "result"}}'; echo '{"op": "join"}'; echo '{"op": "read", "variable": "v"}')
  [ "$(jq -s -c '[.[2].value, .[4].value]' <<<"$output")" = '[1,1]' ]
}

@test "coordinator page: fetch of a structure returns the values with the same structure, and other types as they are" {
  run -0 answers < <(echo "$threes"; next_three a; next_three b
    echo '{"op": "fetch", "of": {"x": [{"remote": "a"}, {"deep": {"remote": "b"}}], "y": "text", "z": [1.5, null, true]}}')
  [ "$(jq -s -c '.[3].value' <<<"$output")" = '{"x":[3,{"deep":3}],"y":"text","z":[1.5,null,true]}' ]
}

@test "coordinator page: done tells whether all the scheduled functions have finished execution" {
  run -0 answers < <(echo '{"op": "done"}'; echo "$ones"; add a; echo '{"op": "join"}'; echo '{"op": "done"}')
  [ "$(jq -s -c '[.[0].value, .[4].value]' <<<"$output")" = '[true,true]' ]
}

@test "coordinator page: join raises any one of the errors and clears those collected so far" {
  WORKERS=1 run -0 answers < <(echo "$threes"; for i in 1 2 3 4; do next_three "c$i"; done; echo '{"op": "join"}'; echo '{"op": "join"}')
  [ "$(jq -s -c '[.[5].status, .[5].error.code, .[6].status]' <<<"$output")" = '["raised","OUT_OF_RANGE","ready"]' ]
}

@test "coordinator page: schedule raises any one of the errors, and the function given to it isn't run" {
  serve --jobs worker=1,ps=1
  mkfifo lines
  exec 5<>lines
  coordinate "$EXAMPLES/counter/program.json" --cluster spec.json "${ENDLESS[@]}" --closures - <lines
  { echo "$threes"; for i in 1 2 3 4; do next_three "c$i"; done; } >&5
  event '.id == "c4" and .status == "error"'
  next_three late >&5
  event '.id == "late" and .status == "raised" and .error.code == "OUT_OF_RANGE"'
  echo '{"op": "done", "id": "clean"}' >&5
  event '.id == "clean" and .value == true'
  exec 5>&-
  coordinator_ends 1
}

@test "coordinator page: a RemoteValue is not supported as an argument, positional or by name" {
  run -0 answers < <(echo "$threes"; next_three a
    echo '{"op": "schedule", "function": "worker_fn", "args": [{"remote": "a"}]}'
    echo '{"op": "schedule", "function": "worker_fn", "args": [{"per_worker": "threes"}], "kwargs": {"x": {"remote": "a"}}}')
  [ "$(jq -s -c '[.[2,3].error.code]' <<<"$output")" = '["INVALID_ARGUMENT","INVALID_ARGUMENT"]' ]
  [[ "$(jq -s -r '.[2].error.message' <<<"$output")" == *"a remote value can't be an argument: fetch it first"* ]]
  [[ "$(jq -s -r '.[3].error.message' <<<"$output")" == *"a remote value can't be an argument: fetch it first"* ]]
}

@test "coordinator page: only functions of the program can be scheduled" {
  run -0 answers < <(echo '{"op": "schedule", "function": "lambda: 3"}'; echo '{"op": "join"}')
  [ "$(jq -s -c '[.[0].error.code, .[1].status]' <<<"$output")" = '["INVALID_ARGUMENT","ready"]' ]
}

@test "coordinator page: a function whose worker becomes unavailable is migrated, and progress is made with the others" {
  serve --jobs worker=2,ps=1
  mkfifo lines
  exec 5<>lines
  coordinate "$EXAMPLES/counter/program.json" --cluster spec.json "${ENDLESS[@]}" --closures - <lines
  echo "$ones" >&5
  for i in $(seq 200); do add "c$i"; done >&5
  kill -KILL "$(task_pid worker:0)"
  for i in $(seq 201 400); do add "c$i"; done >&5
  echo '{"op": "join", "id": "joined"}' >&5
  answer '"joined"'
  echo '{"op": "read", "variable": "v", "id": "v"}' >&5
  event '.id == "v" and .value == 400'
  exec 5>&-
  coordinator_ends 0
}

@test "coordinator page: when a parameter server fails UNAVAILABLE is raised, and the exit code is 69" {
  serve --jobs worker=1,ps=1
  mkfifo lines
  exec 5<>lines
  coordinate "$EXAMPLES/counter/program.json" --cluster spec.json "${ENDLESS[@]}" --closures - <lines
  echo "$ones" >&5
  event '.line == 1'
  kill -KILL "$(task_pid ps:0)"
  for i in $(seq 50); do add "c$i"; done >&5 || true
  coordinator_ends 69
  exec 5>&-
  grep -q 'ps:0' talk
}

@test "coordinator page: a coordinator that is brought back continues the progress from a checkpoint" {
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 100}}'
  serve --jobs worker=2,ps=2
  coordinate program.json --cluster spec.json
  event '.event == "checkpoint"'
  kill -KILL "$COORDINATOR"
  ends "$COORDINATOR"
  step=$(ls ck | tail -n 1 | sed 's/step-0*//; s/\..*//')
  exec 6>&-
  rm events && mkfifo events && exec 6<>events
  kill -KILL "$(task_pid ps:0)" "$(task_pid ps:1)" # or it would go on without one
  coordinate program.json --cluster spec.json --set "train.steps=$((step + 50))"
  event ".event == \"start\" and .step == $step"
  event '.event == "end" and .reason == "done"'
  coordinator_ends 0
  [ "$(counts_in ck)" = "$((step + 50)) $((step + 50)) $((step + 50))" ]
}
