# SPDX-License-Identifier: Apache-2.0
# Code shared by the tests of tfd-coordinate: a program that counts its own steps on two parameter servers, and a coordinator in
# the background whose events are read one by one.

# shellcheck source=serve.bash
source "$(dirname "${BASH_SOURCE[0]}")/serve.bash"

coordinate_setup() {
  serve_setup
  SOURCE=${TFD_SOURCE:-$BATS_TEST_DIRNAME/../..}
  mkfifo "$T/events"
  exec 6<>"$T/events"
  COORDINATOR=
  ANSWERS=0
  cd "$T" || return 1
}

coordinate_teardown() {
  [ -z "$COORDINATOR" ] || kill -KILL "$COORDINATOR" 2>/dev/null || true
  serve_teardown
}

# n0 is on ps:0, n1 on ps:1, and every step adds 1 to both; the loss is the step's number.
counting_program() { # TRAIN, JSON
  cat >"$T/count.mlir" <<'MLIR'
module @count {
  func.func public @main(%step: tensor<i32> loc("step")) -> (tensor<f32>, tensor<i32>, tensor<i32>) {
    %loss = stablehlo.convert %step : (tensor<i32>) -> tensor<f32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    return %loss, %one, %one : tensor<f32>, tensor<i32>, tensor<i32>
  }
}
MLIR
  cat >"$T/program.json" <<JSON
{"v": 1,
 "variables": {"n0": {"shape": [], "dtype": "s32", "init": {"zeros": {}}}, "n1": {"shape": [], "dtype": "s32", "init": {"zeros": {}}}},
 "functions": {"count": {"module": "count.mlir", "inputs": ["step"],
                         "outputs": [{"metric": "loss"}, {"assign_add": "n0"}, {"assign_add": "n1"}]}},
 "train": $1}
JSON
}

# MLIR lines that make %zero, %count and %mean of a batch of $1 numbers, %x.
mean_of_batch() { # SIZE
  cat <<MLIR
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %count = stablehlo.constant dense<$1.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<$1xf32>, tensor<f32>) -> tensor<f32>
    %mean = stablehlo.divide %sum, %count : tensor<f32>
MLIR
}

# tfd-coordinate ARGS… in the background; its events come from event(), its stderr goes to $T/talk.
coordinate() {
  env --default-signal=INT tfd-coordinate "$@" <&0 >"$T/events" 2>"$T/talk" 5>&- 6>&- 7>&- 8>&- &
  COORDINATOR=$!
}

# Whether it is worth a jq to ask if this JSON line is what the filter wants: one that begins with `.event == "step"` wants a
# line that says so.
may_be() { # LINE FILTER
  [[ $2 =~ ^\.(event|id)\ ==\ (\"[^\"]+\"|[0-9]+) && $2 != *" or "* ]] || return 0
  [[ $1 == *"\"${BASH_REMATCH[1]}\":${BASH_REMATCH[2]}"[,}]* ]]
}

# Waits for an event that jq finds true, a minute for each ($2: seconds) and five in all; EVENT is the one.
event() {
  local deadline=$((SECONDS + 300))
  while [ "$SECONDS" -lt "$deadline" ] && IFS= read -r -t "${2:-60}" -u 6 EVENT; do
    echo "# $EVENT"
    may_be "$EVENT" "$1" || continue
    [ "$(jq "$1" <<<"$EVENT")" != true ] || return 0
  done
  echo "no event: $1"
  cat "$T/talk"
  return 1
}

# Waits for the answer with this id (its JSON); EVENT is it. Cheaper than event() where there are thousands.
answer() {
  while IFS= read -r -t 60 -u 6 EVENT; do
    [[ $EVENT != "{\"id\":$1,"* ]] || return 0
  done
  echo "no answer to $1"
  cat "$T/talk"
  return 1
}

# Waits until COUNT closures with a number for an id are answered in all, in any order: a worker that has just started may
# answer after a thousand later closures.
answers() { # COUNT
  while [ "$ANSWERS" -lt "$1" ]; do
    IFS= read -r -t 60 -u 6 EVENT || { echo "$ANSWERS answers, not $1"; cat "$T/talk"; return 1; }
    [[ $EVENT != "{\"id\":"[0-9]* ]] || ANSWERS=$((ANSWERS + 1))
  done
}

coordinator_ends() { # CODE
  local code=0
  ends "$COORDINATOR" || return 1
  wait "$COORDINATOR" || code=$?
  COORDINATOR=
  [ "$code" = "$1" ] || { echo "exit code $code, not $1"; cat "$T/talk"; return 1; }
}

# SIGKILL for the coordinator; the next one has events of its own.
kill_coordinator() {
  kill -KILL "$COORDINATOR"
  ends "$COORDINATOR"
  COORDINATOR=
  exec 6>&-
  rm "$T/events" && mkfifo "$T/events" && exec 6<>"$T/events"
}

# N ports that are free at this moment, at every address; none of those that the system gives to whoever connects meanwhile.
ports() { # N
  python3 -c 'import random, socket, sys
found = []
while len(found) < int(sys.argv[1]):
    s = socket.socket()
    try:
        s.bind(("", random.randrange(10000, 32768)))
        found.append(s)
    except OSError:
        pass
print(*(s.getsockname()[1] for s in found))' "$1"
}

# The task TYPE INDEX of $SPEC, by this tool and its arguments, in the background; its stdout goes to TYPE-INDEX.out, its stderr
# to TYPE-INDEX.err; LAST is its process, added to STARTED.
role() { # TYPE INDEX TOOL ARGS…
  local task="{\"type\": \"$1\", \"index\": $2}" name=$1-$2
  shift 2
  TF_CONFIG=$(jq -c ".task = $task" <<<"$SPEC") timeout 60 "$@" </dev/null >"$name.out" 2>"$name.err" 5>&- 6>&- 7>&- 8>&- &
  LAST=$!
  STARTED="${STARTED:-} $LAST"
}

# Waits for all of STARTED.
all_end_with_0() {
  local process code
  for process in $STARTED; do
    code=0
    wait "$process" || code=$?
    [ "$code" = 0 ] || { tail -n 5 ./*.err; return 1; }
  done
  STARTED=
}

# For teardown: those that a failed test left.
kill_roles() {
  # shellcheck disable=SC2086
  [ -z "${STARTED:-}" ] || kill -KILL $STARTED 2>/dev/null || true
}

# The content of the newest checkpoint of directory $1: "STEP N0 N1".
counts_in() {
  tfd-resolve local --jobs worker=1,ps=2 | tfd-serve 2>/dev/null | timeout 60 tfd-coordinate -q program.json --ordered --closures <(
    echo "{\"op\": \"restore\", \"path\": \"$1\"}"
    echo '{"op": "read", "variable": "n0"}'
    echo '{"op": "read", "variable": "n1"}'
  ) | jq -r '.step // .value' | paste -sd' '
}

# TERM for the coordinator, whose checkpoint has as many steps as were counted: a training with an end of its own may be there
# before the test has read of it.
stops_with_each_step_once() { # [CHECKPOINTS]
  kill -TERM "$COORDINATOR"
  event '.event == "end" and .reason == "interrupted"'
  local step
  step=$(jq .step <<<"$EVENT")
  coordinator_ends 75
  [ "$(counts_in "${1:-ck}")" = "$step $step $step" ]
}

# SIGKILL at each of these steps for another worker of three: one that was killed may not be back yet.
workers_are_killed_at() { # STEP…
  local at
  for at; do
    event ".event == \"step\" and .step >= $at"
    kill -KILL "$(task_pid "worker:$((at % 3))")"
    event '.event == "worker" and .state == "lost"'
  done
}

# The training has made these steps to its end, and its checkpoint counts each once.
is_done_with_each_step_once() { # STEPS
  event ".event == \"end\" and .reason == \"done\" and .step == $1"
  coordinator_ends 0
  [ "$(counts_in ck)" = "$1 $1 $1" ]
}
