#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Processes that are frozen for a while, and coordinators that come second.
# bats file_tags=long

load ../cli/coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# A pipe of closures at descriptor 5, counted by the program.
counting_pipe() { # OPTIONS…
  counting_program '{"function": "count", "steps": 1}'
  mkfifo lines
  exec 5<>lines
  coordinate program.json --cluster spec.json --keep-servers "$@" --closures - <lines
}
count_up() { # FROM TO
  seq "$1" "$2" | sed 's/.*/{"op": "schedule", "function": "count", "id": &}/'
}

@test "frozen: a parameter server for 4 s, then the coordinator for 4 s: all is counted, each once" {
  serve --jobs worker=2,ps=2
  counting_pipe
  { count_up 1 60000; echo '{"op": "join", "id": "join"}'
    echo '{"op": "read", "variable": "n0", "id": "n0"}'; echo '{"op": "read", "variable": "n1", "id": "n1"}'; } >&5 &
  answers 2000
  pid=$(task_pid ps:1)
  kill -STOP "$pid"
  sleep 4
  kill -CONT "$pid"
  answers 20000
  kill -STOP "$COORDINATOR"
  sleep 4
  kill -CONT "$COORDINATOR"
  answer '"n0"'
  [ "$(jq .value <<<"$EVENT")" = 60000 ]
  answer '"n1"'
  [ "$(jq .value <<<"$EVENT")" = 60000 ]
  exec 5>&-
  coordinator_ends 0
  grep -q 'ps:1 is silent (no heartbeat for 2s); waiting up to 30s for it (--rejoin)' talk
}

@test "frozen: a parameter server while the coordinator connects is named, and waited for" {
  serve --jobs worker=1,ps=2
  pid=$(task_pid ps:1)
  kill -STOP "$pid"
  counting_pipe
  timeout 60 tail -n +1 --pid="$COORDINATOR" -F talk 2>/dev/null 3>&- | grep -qm1 'still connecting: waited .* for ps:1 (silent)'
  kill -CONT "$pid"
  count_up 1 10 >&5
  answer 10
  exec 5>&-
  coordinator_ends 0
}

@test "frozen: a parameter server for longer than --rejoin is lost" {
  serve --jobs worker=1,ps=2
  counting_pipe --rejoin 1s
  count_up 1 10 >&5
  answer 10
  pid=$(task_pid ps:0)
  kill -STOP "$pid"
  coordinator_ends 69
  kill -CONT "$pid"
  grep -q 'parameter server ps:0 is gone: no heartbeat for' talk
  exec 5>&-
}

@test "second: it is refused while the first one answers, and says who that is; a dead one is succeeded at once" {
  serve --jobs worker=1,ps=2
  counting_pipe
  count_up 1 1 >&5
  answer 1
  run -77 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --closures - </dev/null
  [[ $stderr == "tfd-coordinate: ps:0 is in use by coordinator on "*" (process $COORDINATOR), for "*"; --take-over takes the cluster from it" ]]
  # The first one has noticed nothing.
  count_up 2 2 >&5
  answer 2
  echo '{"op": "read", "variable": "n0", "id": "n0"}' >&5
  answer '"n0"'
  [ "$(jq .value <<<"$EVENT")" = 2 ]
  kill_coordinator
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --closures - <<<'{"op": "read", "variable": "n0"}'
  [ "$(jq .value <<<"$output")" = 0 ]
  exec 5>&-
}

@test "second: with --take-over it comes in, and nothing that the first one writes arrives" {
  serve --jobs worker=1,ps=2
  counting_pipe
  count_up 1 3 >&5
  answer 3
  mkfifo others answers
  exec 7<>others 8<>answers
  timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --take-over --closures - <others >answers 2>their-talk 5>&- 6>&- 7>&- 8>&- &
  SECOND=$!
  echo '{"op": "assign", "variable": "n0", "value": 5, "id": "mine"}' >&7
  read -r -t 60 -u 8 line
  [ "$(jq -c '[.id, .status]' <<<"$line")" = '["mine","ready"]' ]
  # Later writes of the first one, a variable or a closure, are refused; it ends with 77.
  echo '{"op": "assign", "variable": "n0", "value": 777, "id": "late"}' >&5
  answer '"late"'
  [ "$(jq -r .error.code <<<"$EVENT")" = PERMISSION_DENIED ]
  count_up 4 4 >&5
  coordinator_ends 77
  grep -q 'another coordinator has taken the cluster over' talk
  echo '{"op": "read", "variable": "n0", "id": "still"}' >&7
  read -r -t 60 -u 8 line
  [ "$(jq -c '[.id, .value]' <<<"$line")" = '["still",5]' ]
  exec 7>&- 5>&-
  wait "$SECOND"
}

@test "second: a training that is frozen is succeeded, and fenced off when it goes on" {
  serve --jobs worker=2,ps=2
  counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 1000}}'
  coordinate program.json --cluster spec.json --keep-servers
  event '.event == "checkpoint" and .step >= 1000'
  kill -STOP "$COORDINATOR"
  timeout 60 tfd-coordinate program.json --cluster spec.json --keep-servers --set train.steps=9000 >second 2>second-talk
  [ "$(jq -r 'select(.event == "end") | [.reason, .step] | join(" ")' second)" = "done 9000" ]
  kill -CONT "$COORDINATOR"
  coordinator_ends 77
}
