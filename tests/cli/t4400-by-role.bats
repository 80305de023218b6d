#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-coordinate --by-role: the same command line for every task of a cluster. And the evaluator's job alone.

load coordinate
setup() { coordinate_setup; }
teardown() {
  kill_roles
  coordinate_teardown
}

# The task TYPE INDEX by the command line that all have in common.
by_role() { role "$1" "$2" tfd-coordinate "$T/program.json" --by-role; }

@test "by-role: chief, workers and parameter servers by one command line, and all end with 0" {
  counting_program '{"function": "count", "steps": 200, "log_every": 100}'
  read -r chief w0 w1 p0 p1 <<<"$(ports 5)"
  SPEC="{\"cluster\": {\"chief\": [\"127.0.0.1:$chief\"], \"worker\": [\"127.0.0.1:$w0\", \"127.0.0.1:$w1\"], \"ps\": [\"127.0.0.1:$p0\", \"127.0.0.1:$p1\"]}}"
  by_role ps 0
  by_role ps 1
  by_role worker 0
  by_role worker 1
  by_role chief 0
  all_end_with_0
  [ "$(jq -c 'select(.event == "end") | [.reason, .step]' chief-0.out)" = '["done",200]' ]
  [ ! -s ps-0.out ]
  [ ! -s worker-0.out ]
}

@test "by-role: an evaluator evaluates the checkpoints that appear, and ends with the last" {
  cp "$EXAMPLES"/digits/*.mlir "$EXAMPLES"/digits/*.csv* . 2>/dev/null || true
  jq --arg ck "$T/ck" '.train.steps = 60 | .train.checkpoint = {"dir": $ck, "every": 20, "keep": 10}' "$EXAMPLES/digits/program.json" >program.json
  read -r chief w0 p0 ev <<<"$(ports 4)"
  SPEC="{\"cluster\": {\"chief\": [\"127.0.0.1:$chief\"], \"worker\": [\"127.0.0.1:$w0\"], \"ps\": [\"127.0.0.1:$p0\"], \"evaluator\": [\"127.0.0.1:$ev\"]}}"
  by_role evaluator 0
  evaluator=$LAST
  by_role ps 0
  by_role worker 0
  by_role chief 0
  code=0
  wait "$LAST" || code=$?
  [ "$code" = 0 ] || { cat chief-0.err; false; }
  wait "$evaluator" || { cat evaluator-0.err; false; }
  jq -es 'last | .event == "end" and .reason == "done" and .step == 60 and .eval.accuracy > 0.2' evaluator-0.out
  [ "$(jq -cs '[.[] | select(.event == "eval") | .step] == ([.[] | select(.event == "eval") | .step] | unique)' evaluator-0.out)" = true ]
  # The same as the chief's own evaluation of the same step.
  [ "$(jq -s '[.[] | select(.event == "eval")] | last.metrics' evaluator-0.out)" = "$(jq -s '[.[] | select(.event == "eval")] | last.metrics' chief-0.out)" ]
  STARTED=
}

@test "by-role: follow-checkpoints ends when interrupted, with what it saw" {
  cp "$EXAMPLES"/digits/*.mlir "$EXAMPLES"/digits/*.csv* . 2>/dev/null || true
  jq --arg ck "$T/ck" '.train.steps = 100000 | .train.checkpoint = {"dir": $ck}' "$EXAMPLES/digits/program.json" >program.json
  serve --jobs worker=1,ps=1
  run -0 --separate-stderr timeout 60 tfd-coordinate -q program.json --cluster spec.json --keep-servers --set train.steps=10
  coordinate program.json --cluster spec.json --follow-checkpoints
  event '.event == "eval" and .step == 10'
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted" and .step == 10'
  coordinator_ends 0
}

@test "by-role: a cluster that isn't one of parameter servers is one line and 65" {
  counting_program '{"function": "count", "steps": 5}'
  bad() { # PATTERN SPEC
    run -65 --separate-stderr env TF_CONFIG="$2" timeout 20 tfd-coordinate program.json --by-role </dev/null
    echo "$stderr"
    [[ $stderr =~ $1 ]]
  }
  bad 'no chief, so no task would coordinate' '{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "worker", "index": 0}}'
  bad 'no ps' '{"cluster": {"worker": ["a:1"], "chief": ["b:1"]}, "task": {"type": "worker", "index": 0}}'
  bad 'no worker' '{"cluster": {"ps": ["a:1"], "chief": ["b:1"]}, "task": {"type": "chief", "index": 0}}'
  bad "at most one 'chief'" '{"cluster": {"ps": ["a:1"], "worker": ["d:1"], "chief": ["b:1", "c:1"]}, "task": {"type": "chief", "index": 0}}'
  bad 'tpu' '{"cluster": {"ps": ["a:1"], "worker": ["d:1"], "tpu": ["b:1"]}, "task": {"type": "worker", "index": 0}}'
  run -65 --separate-stderr env TF_CONFIG='{"cluster": {"worker": ["a:1"], "ps": ["b:1"], "chief": ["c:1"]}}' timeout 20 tfd-coordinate program.json --by-role </dev/null
  [[ $stderr == "tfd-coordinate: --by-role: "* ]]
}
