#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Closures that have not begun when one fails are never run, wherever they wait: functions are commands that leave marks.

load coordinate
setup() {
  coordinate_setup
  mkfifo arrived gate
  exec 4<>arrived 9<>gate  # 3 is bats'
}
teardown() { coordinate_teardown; }

# gated: says its number, waits at the gate. mark: leaves its number in marks. bad: fails.
marking_program() {
  jq -n --arg gated "read -r x; echo \$x >'$T/arrived'; read -r _ <'$T/gate'; echo \$x" \
    --arg mark "read -r x; echo \$x >>'$T/marks'; echo \$x" '
    {dtype: "s32", shape: []} as $number
    | def command($line): {command: ["sh", "-c", $line], arguments: [$number], results: [$number], inputs: [{arg: 0}]};
    {v: 1, variables: {v: {shape: [], dtype: "s32", init: {zeros: {}}},
                     own: {shape: [], dtype: "s32", init: {zeros: {}}, per_worker: true}},
     functions: {
       gated: (command($gated) + {outputs: [{assign_add: "v"}]}),
       mark: (command($mark) + {outputs: [{assign_add: "v"}]}),
       bad: (command("echo no luck >&2; exit 3") + {outputs: [{result: 0}]})}}' >program.json
  : >marks
}
call() { echo "{\"op\": \"schedule\", \"function\": \"$1\", \"args\": [$2], \"id\": \"$3\"}"; }
say() { printf '%s\n' "$@" >&5; }
arrives() {
  local number
  IFS= read -r -t 30 -u 4 number
}

@test "drops: what waits at two workers when a third one's closure fails leaves no mark, and is cancelled at once" {
  serve --jobs worker=3,ps=1 --allow-native
  marking_program
  mkfifo lines
  exec 5<>lines
  coordinate program.json --cluster spec.json --closures - <lines
  # All three are there when each has its own variable.
  EVENT=
  until [[ $EVENT == *'"status":"ready","value":[0,0,0]}' ]]; do
    say '{"op": "read", "variable": "own"}'
    IFS= read -r -t 30 -u 6 EVENT
  done
  say "$(call gated 100 one)" "$(call gated 100 two)" "$(call gated 100 three)"
  arrives
  arrives
  arrives
  # Each has room for about seven more. The one that may leave the gate runs what the other two have no room for, then
  # the bad one.
  for i in $(seq 30); do say "$(call mark 1 "m$i")"; done
  say "$(call bad 1 bad)" '{"op": "done", "id": "all"}'
  event '.id == "all" and .value == false'
  echo >&9
  local ready=0 cancelled=0 line
  until IFS= read -r -t 30 -u 6 line && [[ $line == '{"id":"bad","status":"error"'* ]]; do
    [[ $line == *'"status":"ready"'* ]]
    ready=$((ready + 1))
  done
  [ "$ready" -gt 1 ]
  # Nobody has opened the gate: closures behind it have their answers nevertheless. (The last one before the bad one may still
  # have waited for its parameter server.)
  while [ $((ready + cancelled)) -lt 31 ]; do
    IFS= read -r -t 30 -u 6 line
    case $line in
      *'"status":"cancelled","because":"bad"}') cancelled=$((cancelled + 1)) ;;
      '{"id":"m30","status":"ready"'*) ready=$((ready + 1)) ;;
      *) echo "neither cancelled nor before the bad one: $line"; return 1 ;;
    esac
  done
  say '{"op": "join", "id": "joined"}'
  if IFS= read -r -t 0.3 -u 6 line; then echo "raised while two are executing: $line"; return 1; fi
  echo >&9
  echo >&9
  event '.id == "joined" and .status == "raised" and .error.message[-17:] == "; stderr: no luck"'
  [ "$(wc -l <marks)" = $((ready - 1)) ]
  # Clean again; the numbers of dropped closures hold nothing up.
  for i in $(seq 20); do say "$(call mark 1 "n$i")"; done
  say '{"op": "join", "id": "again"}'
  event '.id == "again" and .status == "ready"'
  say '{"op": "read", "variable": "v", "id": "v"}'
  event ".id == \"v\" and .value == $((300 + ready - 1 + 20))"
  [ "$(wc -l <marks)" = $((ready - 1 + 20)) ]
  exec 5>&-
  coordinator_ends 1
  [[ $(tail -1 talk) == *" failed, $((31 - ready)) canceled" ]]
}

@test "drops: with --keep-going everything leaves its mark" {
  serve --jobs worker=2,ps=1 --allow-native
  marking_program
  {
    for i in $(seq 40); do
      call mark 1 "m$i"
      [ $((i % 9)) != 0 ] || call bad 1 "b$i"
    done
    echo '{"op": "join"}'
  } >lines.jsonl
  run -1 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-going --closures lines.jsonl
  [ "$(wc -l <marks)" = 40 ]
  [[ $stderr == *", 4 failed, 0 canceled" ]]
}
