#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Trainings under the cluster's key, at an address that other hosts reach: every task of the run uses the same file.

load coordinate

setup() {
  coordinate_setup
  STARTED=
  tfd-serve -q --generate-key --key-file "$T/key"
  for OWN in $(hostname -I); do
    case $OWN in 127.* | *:*) ;; *) return 0 ;; esac
  done
  skip "no address but loopback's"
}
teardown() {
  kill_roles
  coordinate_teardown
}

@test "keys: tfd-coordinate --by-role hands --key-file to every task" {
  counting_program '{"function": "count", "steps": 100, "log_every": 100}'
  read -r chief w0 p0 <<<"$(ports 3)"
  SPEC="{\"cluster\": {\"chief\": [\"$OWN:$chief\"], \"worker\": [\"$OWN:$w0\"], \"ps\": [\"$OWN:$p0\"]}}"
  # Without it nobody serves.
  TF_CONFIG=$(jq -c '.task = {"type": "ps", "index": 0}' <<<"$SPEC") run -77 --separate-stderr timeout 20 tfd-coordinate program.json --by-role
  [[ $stderr == *"ps:0 would listen on $OWN:$p0, where other hosts can connect"* ]]
  for task in "ps 0" "worker 0" "chief 0"; do
    role $task tfd-coordinate program.json --by-role --key-file key
  done
  all_end_with_0
  [ "$(jq -c 'select(.event == "end") | [.reason, .step]' chief-0.out)" = '["done",100]' ]
}

@test "keys: by TFD_KEY_FILE, and a spec that names it" {
  counting_program '{"function": "count", "steps": 100, "log_every": 100}'
  read -r chief w0 p0 <<<"$(ports 3)"
  SPEC="{\"cluster\": {\"chief\": [\"$OWN:$chief\"], \"worker\": [\"$OWN:$w0\"], \"ps\": [\"$OWN:$p0\"]}, \"key_file\": \"$T/key\"}"
  role ps 0 tfd-coordinate program.json --by-role
  role worker 0 tfd-coordinate program.json --by-role
  cp key other-name
  TFD_KEY_FILE=other-name role chief 0 tfd-coordinate program.json --by-role
  all_end_with_0
  [ "$(jq -c 'select(.event == "end") | [.reason, .step]' chief-0.out)" = '["done",100]' ]
}

@test "keys: tfd-run's workers are clients under it" {
  counting_program '{"function": "count", "steps": 50, "log_every": 10}'
  read -r w0 p0 p1 <<<"$(ports 3)"
  SPEC="{\"cluster\": {\"worker\": [\"$OWN:$w0\"], \"ps\": [\"$OWN:$p0\", \"$OWN:$p1\"]}}"
  role ps 0 tfd-serve -q --key-file key --cluster env --task ps:0 --once
  role ps 1 tfd-run program.json --key-file key
  TF_CONFIG=$(jq -c '.task = {"type": "worker", "index": 0}' <<<"$SPEC") run -77 --separate-stderr timeout 20 tfd-run program.json
  [[ $stderr == *"tfd-run: "*"ps:"[01]" at $OWN:"*" requires the cluster's key, and none was found here"* ]]
  role worker 0 tfd-run program.json --key-file key
  all_end_with_0
  [ "$(jq -c 'select(.event == "end") | [.reason, .step]' worker-0.out)" = '["done",50]' ]
}
