#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every exit code that a man page lists, provoked: a table a tool. A code that is listed and not here, or here and not
# listed, fails.

load run.bash

setup() {
  RUNS=()
  coordinate_setup
  unset KUBECONFIG "${!KUBERNETES_@}" "${!SLURM_@}" "${!OMPI_@}" "${!PMI@}"
  HAD=
}
teardown() {
  [ -z "${STAND_IN:-}" ] || kill "$STAND_IN" 2>/dev/null || true
  run_teardown
}

# CODE COMMAND…: ends with this code; the tool states the error once.
gives() {
  local code=$1
  shift
  HAD+="$code "
  run "-$code" --separate-stderr timeout 30 "$@"
  case $code in
    0 | 1 | 69 | 123 | 126 | 127) ;; # other answers than errors, or errors of others that are passed on as well
    *) [ "$(grep -c '^tfd[a-z-]*: ' <<<"$stderr")" -ge 1 ] || { echo "$code: $stderr"; return 1; } ;;
  esac
}
in_shell() { gives "$1" bash -c "$2"; }

# The codes in TOOL's EXIT STATUS are those that were given.
all_of() {
  local listed
  listed=$(awk '/^# / { on = ($0 == "# EXIT STATUS") } on && /^\*[0-9]/' "$SOURCE/man/$1.1.scd" | grep -oE '\*[0-9]+\*' | tr -d '*' | sort -nu)
  diff <(echo "$listed") <(tr ' ' '\n' <<<"$HAD" | grep . | sort -nu)
}

keys() {
  diverges=("$SOURCE/examples/linear/program.json" --set optimizer.sgd.learning_rate=1e30 --set train.checkpoint=null)
  tfd-serve -q --generate-key --key-file key
  tfd-serve -q --generate-key --key-file other
  cp key open
  chmod 644 open
}

# A spec of nobody: connections are refused.
dead_spec() { echo '{"cluster": {"worker": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"]}}' >dead.json; }

# A task of another version of the protocol, in version.json.
another_version() {
  mkfifo stop
  python3 "$BATS_TEST_DIRNAME/other-version.py" <stop >port 3>&- 5>&- 6>&- 7>&- 8>&- &
  exec 4>stop
  until_true test -s port
  echo "{\"cluster\": {\"worker\": [\"127.0.0.1:$(cat port)\"]}}" >version.json
}

broken_program() { echo '{"v": 1, "variables": 3}' >broken.json; }

@test "exit codes: tfd" {
  printf '#!%s/none\n' "$T" >tfd-broken
  chmod +x tfd-broken
  gives 0 tfd --help
  gives 64 tfd
  in_shell 71 'exec tfd --help >/dev/full'
  touch none
  PATH=$T:$PATH gives 126 tfd broken
  mkdir alone
  cp "$(command -v tfd)" alone/tfd
  gives 78 alone/tfd schema  # without its installed files
  all_of tfd
}

@test "exit codes: tfd-resolve" {
  cat >kubeconfig <<YAML
{apiVersion: v1, kind: Config, current-context: here, contexts: [{name: here, context: {cluster: c, user: u}}],
 clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: u, user: {token: t}}]}
YAML
  echo '{"routes": [{"path": "*/pods", "replies": [{"status": 401, "body": "{}"}]}]}' >script.json
  mkfifo commands
  "$TFD_BUILD/tests/kit/tfd-http-stand-in" script.json requests.jsonl <commands >url 3>&- 5>&- 6>&- 7>&- 8>&- &
  STAND_IN=$!
  exec 4>commands
  until_true test -s url
  sed "s|http://127.0.0.1:1|$(cat url)|" kubeconfig >refusing

  gives 0 tfd-resolve local --jobs worker=1
  gives 64 tfd-resolve local --no-such-option
  gives 65 tfd-resolve hostlist 'a[1-'
  KUBECONFIG=$T/kubeconfig gives 69 tfd-resolve kubernetes --timeout 1s
  in_shell 71 'exec tfd-resolve local --jobs worker=1 >/dev/full'
  mkfifo silent
  in_shell 75 'exec tfd-resolve union --timeout 300ms <>silent'
  KUBECONFIG=$T/refusing gives 77 tfd-resolve kubernetes
  gives 78 tfd-resolve slurm
  touch plain
  gives 126 tfd-resolve local --jobs worker=1 -- ./plain
  gives 127 tfd-resolve local --jobs worker=1 -- ./none
  exec 4>&-
  all_of tfd-resolve
}

@test "exit codes: tfd-serve" {
  keys
  gives 0 tfd-serve --jobs worker=1 -- true
  gives 64 tfd-serve --jobs worker
  gives 65 tfd-serve --cluster none.json
  in_shell 71 'exec tfd-serve --jobs worker=1 >/dev/full'
  mkfifo silent
  in_shell 75 'exec tfd-serve --timeout 300ms <>silent'
  gives 77 tfd-serve --jobs worker=1 --bind 0.0.0.0
  echo '{"cluster": {"worker": ["203.0.113.1:2222"]}}' >elsewhere.json
  gives 78 tfd-serve --cluster elsewhere.json
  touch plain
  gives 126 tfd-serve --jobs worker=1 -- ./plain
  gives 127 tfd-serve --jobs worker=1 -- ./none
  cat >fake-task <<'SH'
#!/bin/sh
exit 3
SH
  chmod +x fake-task
  gives 69 tfd-serve --task-program ./fake-task --jobs worker=1
  all_of tfd-serve
}

@test "exit codes: tfd-status" {
  keys
  dead_spec
  serve --jobs worker=1 --key-file key
  gives 0 tfd-status --cluster spec.json --key-file key
  gives 1 tfd-status --cluster dead.json --key-file none --timeout 200ms
  gives 64 tfd-status --cluster spec.json --wait --watch
  echo '{"cluster": {}}' >empty.json
  gives 65 tfd-status --cluster empty.json
  gives 69 tfd-status --cluster dead.json --key-file none --timeout 200ms --logs worker:0
  in_shell 71 'exec tfd-status --help >/dev/full'
  gives 75 tfd-status --cluster dead.json --key-file none --wait --timeout 200ms
  another_version
  gives 76 tfd-status --cluster version.json --key-file none --wait
  gives 77 tfd-status --cluster spec.json --key-file other --wait
  gives 77 tfd-status --cluster spec.json --key-file open
  all_of tfd-status
}

@test "exit codes: tfd-exec" {
  keys
  dead_spec
  serve --allow-native --jobs worker=1 --key-file key
  gives 0 tfd-exec --cluster spec.json --key-file key true ::: 1
  gives 64 tfd-exec --cluster spec.json --resume true ::: 1
  echo nothing >log
  gives 65 tfd-exec --cluster spec.json --key-file key --joblog log --resume true ::: 1
  in_shell 71 'exec tfd-exec --cluster spec.json --key-file key echo ::: 1 >/dev/full'
  gives 75 tfd-exec --cluster dead.json --key-file none --connect-timeout 200ms true ::: 1
  another_version
  gives 76 tfd-exec --cluster version.json --key-file none true ::: 1
  gives 77 tfd-exec --cluster spec.json --key-file other true ::: 1
  gives 78 tfd-exec --cluster spec.json --key-file key --workdir "$T/none" true ::: 1
  gives 123 tfd-exec --cluster spec.json --key-file key false ::: 1
  all_of tfd-exec
}

# A parameter server of another version, and a plug-in that is none, to both tools that train.
strangers() { # TOOL ARGS…
  another_version
  jq '.cluster = {"worker": ["127.0.0.1:1"], "ps": .cluster.worker}' version.json >version-of-ps.json
  gives 76 "$1" program.json --cluster version-of-ps.json --key-file none "${@:2}"
  echo nonsense >plugin.so
}

@test "exit codes: tfd-coordinate" {
  keys
  dead_spec
  counting_program '{"function": "count", "steps": 5}'
  serve --jobs worker=1,ps=1 --key-file key
  with=(program.json --cluster spec.json --key-file key --keep-servers)
  gives 0 tfd-coordinate "${with[@]}"
  echo '{"no": "closure"}' >lines
  gives 1 tfd-coordinate "${with[@]}" --closures lines
  gives 64 tfd-coordinate --no-such-option
  broken_program
  gives 65 tfd-coordinate broken.json --cluster spec.json --key-file key
  strangers tfd-coordinate
  gives 78 env TFD_PJRT_PLUGIN="$T/plugin.so" tfd-serve -q --jobs worker=1,ps=1 -- tfd-coordinate program.json
  gives 70 tfd-serve -q --jobs worker=1,ps=1 -- tfd-coordinate "${diverges[@]}"
  in_shell 71 'exec tfd-coordinate program.json --cluster spec.json --key-file key --keep-servers >/dev/full'
  gives 75 tfd-coordinate program.json --cluster dead.json --key-file none --timeout 300ms
  gives 77 tfd-coordinate program.json --cluster spec.json --key-file other
  counting_program '{"function": "count", "steps": 100000000, "log_every": 10}'
  coordinate "${with[@]}"
  event '.event == "step"'
  kill -KILL "$(task_pid ps:0)"
  coordinator_ends 69
  HAD+="69 "
  all_of tfd-coordinate
}

@test "exit codes: tfd-run" {
  keys
  counting_program '{"function": "count", "steps": 5}'
  serve --jobs ps=1 --key-file key
  jq '.cluster.worker = ["127.0.0.1:1"]' spec.json >cluster.json
  jq '.cluster.ps = ["127.0.0.1:2"]' cluster.json >dead.json
  with=(--strategy parameter-server program.json --task worker:0 --keep-servers)
  gives 0 tfd-run "${with[@]}" --cluster cluster.json --key-file key
  gives 64 tfd-run --no-such-option
  broken_program
  gives 65 tfd-run --strategy parameter-server broken.json --cluster cluster.json --task worker:0 --key-file key
  gives 75 tfd-run "${with[@]}" --cluster dead.json --key-file none --timeout 300ms
  gives 77 tfd-run "${with[@]}" --cluster cluster.json --key-file other
  touch ck
  gives 71 tfd-run "${with[@]}" --cluster cluster.json --key-file key --set 'train.checkpoint={"dir": "ck"}'
  strangers tfd-run --task worker:0
  gives 70 tfd-run "${diverges[@]}" --cluster none
  gives 78 env TFD_PJRT_PLUGIN="$T/plugin.so" tfd-run program.json --cluster none
  counting_program '{"function": "count", "steps": 100000000, "log_every": 10}'
  worker worker:0 "${with[@]:0:3}" --keep-servers --key-file key
  until_true grep -q '"step"' worker:0.events
  kill -KILL "$(task_pid ps:0)"
  run_ends "$RUN" 69
  HAD+="69 "
  all_of tfd-run
}
