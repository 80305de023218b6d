#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tasks that die under closures in a pipe.
# bats file_tags=long

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

# gated: says its number, and that it was asked to end. mark: leaves a mark. spin: computes forever, where nothing stops it.
lasting_program() {
  cat >spin.mlir <<'MLIR'
module @spin {
  func.func public @main(%x: tensor<i64> loc("x")) -> tensor<i64> {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %out = stablehlo.while(%i = %x) : tensor<i64>
      cond {
        %zero = stablehlo.constant dense<0> : tensor<i64>
        %more = stablehlo.compare GE, %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %and = stablehlo.and %i, %one : tensor<i64>
        %next = stablehlo.add %and, %one : tensor<i64>
        stablehlo.return %next : tensor<i64>
      }
    return %out : tensor<i64>
  }
}
MLIR
  jq -n --arg lasts "trap 'echo ended >$T/told; exit 0' TERM; echo begun >'$T/told'; sleep 1000 & wait" \
    --arg mark "read -r x; echo \$x >>'$T/marks'; echo \$x" '
    {dtype: "s32", shape: []} as $number
    | def command($line): {command: ["sh", "-c", $line], arguments: [$number], results: [$number], inputs: [{arg: 0}]};
    {v: 1, variables: {v: {shape: [], dtype: "s32", init: {zeros: {}}}},
     functions: {
       lasts: (command($lasts) + {outputs: [{assign_add: "v"}]}),
       mark: (command($mark) + {outputs: [{assign_add: "v"}]}),
       spin: {module: "spin.mlir", inputs: [{arg: 0}], outputs: [{result: 0}]}}}' >program.json
  : >marks
  mkfifo told lines
  exec 5<>lines 4<>told
}
told() { # WHAT
  local line
  IFS= read -r -t 30 -u 4 line
  [ "$line" = "$1" ]
}
lasting_closures() { printf '{"op": "schedule", "function": "%s", "args": [1]}\n' lasts mark mark; }

@test "fault: the command of a coordinator that was killed is told to end, and what waits behind it is never run" {
  serve --jobs worker=1,ps=1 --allow-native
  lasting_program
  coordinate program.json --cluster spec.json --closures - <lines
  lasting_closures >&5
  told begun
  kill -KILL "$COORDINATOR"
  told ended
  wait "$COORDINATOR" || true
  COORDINATOR=
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --ordered --closures <(
    echo '{"op": "schedule", "function": "mark", "args": [7]}'
    echo '{"op": "join"}'
  )
  [ "$(cat marks)" = 7 ]
  exec 5>&-
}

@test "fault: a newer coordinator has the command of an older one stopped, which is told whose the worker is" {
  serve --jobs worker=1,ps=1 --allow-native
  lasting_program
  coordinate program.json --cluster spec.json --closures - <lines
  lasting_closures >&5
  told begun
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --take-over --closures <(
    echo '{"op": "schedule", "function": "mark", "args": [7]}'
    echo '{"op": "join"}'
  )
  told ended
  [ "$(cat marks)" = 7 ]
  event '.line == 1 and .status == "error" and .error.code == "PERMISSION_DENIED"'
  exec 5>&-
  coordinator_ends 77
}

@test "fault: a call that can't be stopped is named by the next coordinator and by tfd-status" {
  serve --jobs worker=1,ps=1 --allow-native
  lasting_program
  coordinate program.json --cluster spec.json --closures - <lines
  echo '{"op": "schedule", "function": "spin", "args": [1]}' >&5
  local status
  for _ in $(seq 300); do
    status=$(timeout 10 tfd-status --cluster spec.json --json || true)
    [ "$(jq -r '.tasks[] | select(.task == "worker:0").doing' <<<"$status")" != spin ] || break
  done
  kill -KILL "$COORDINATOR"
  wait "$COORDINATOR" || true
  mkfifo heard
  exec 9<>heard
  timeout 60 tfd-coordinate program.json --cluster spec.json --closures /dev/null --timeout 4s 2>heard &
  COORDINATOR=$!
  local line=
  until [[ $line == *"waiting for worker:0, which is still running 'spin' of an earlier coordinator"* ]]; do
    IFS= read -r -t 20 -u 9 line
  done
  run -0 timeout 10 tfd-status --cluster spec.json --json
  jq -e '.tasks[] | select(.task == "worker:0") | .doing == "spin" and .abandoned' <<<"$output"
  run -0 timeout 10 tfd-status --cluster spec.json
  [[ $output == *"spin for "*", for a coordinator that is gone"* ]]
  kill -KILL "$(task_pid worker:0)"  # its successor loads the program
  coordinator_ends 0
  exec 5>&-
}

@test "fault: a closure that kills its workers is named on stderr, and given up after --max-losses" {
  serve --jobs worker=1,ps=1 --allow-native
  jq -n '{dtype: "s32", shape: []} as $number | {v: 1, functions: {
     deadly: {command: ["sh", "-c", "kill -KILL $PPID; read -r _; read -r _"], arguments: [$number], results: [$number], inputs: [{arg: 0}], outputs: [{result: 0}]},
     fine: {command: ["cat"], arguments: [$number], results: [$number], inputs: [{arg: 0}], outputs: [{result: 0}]}}}' >program.json
  {
    echo '{"op": "schedule", "function": "deadly", "args": [1], "id": "bad"}'
    for i in $(seq 5); do echo "{\"op\": \"schedule\", \"function\": \"fine\", \"args\": [$i]}"; done
  } >lines.jsonl
  run -1 --separate-stderr timeout 120 tfd-coordinate program.json --cluster spec.json --keep-going --max-losses 4 --closures lines.jsonl
  jq -es '.[] | select(.id == "bad") | .error.code == "ABORTED" and (.error.message | test("4 times \\(worker:0\\)"))' <<<"$output"
  jq -es 'map(select(.status == "ready").value) | sort == [1, 2, 3, 4, 5]' <<<"$output"
  [ "$(grep -c "closure \"bad\" ('deadly') was running on a worker that died, 3 times (worker:0)" <<<"$stderr")" = 1 ]
}
