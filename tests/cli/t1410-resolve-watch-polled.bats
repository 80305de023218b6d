#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-resolve --watch for clusters that have to be asked again and again: a TPU, named or found by auto.

bats_require_minimum_version 1.5.0
load google.bash

setup() { google_setup; }
teardown() { google_teardown; }

readonly node=/v2/projects/p/locations/z/nodes/my-tpu

reply() {  # ADDRESS…
  jq -nc '{json: {state: "READY", health: "HEALTHY", acceleratorType: "v3-8", networkEndpoints: [$ARGS.positional[] | {ipAddress: ., port: 8470}]}}' --args "$@"
}

@test "tpu --watch: a line for each other answer, a warning while there is none, the end with its reader" {
  google "$(metadata_token)" "$(route GET $node "$(reply 10.0.0.1)" "$(reply 10.0.0.1)" '{"json": {"state": "CREATING"}}' "$(reply 10.0.0.2)")"
  mkfifo lines
  timeout 30 tfd-resolve tpu my-tpu --zone z --project p --watch --interval 100ms --get cluster.worker >lines 2>talk 9>&- 3>&- &
  local pid=$!
  exec 5<lines
  read -rt 10 line <&5
  [ "$line" = '["10.0.0.1:8470"]' ]
  read -rt 10 line <&5
  [ "$line" = '["10.0.0.2:8470"]' ]
  [ "$(grep -c CREATING.*"keeping the last answer" talk)" = 1 ]
  exec 5<&-
  wait $pid
}

@test "auto --watch asks a TPU again too" {
  google "$(metadata project/project-id p)" "$(metadata instance/zone projects/1/zones/z)" "$(metadata_token)" \
    "$(route GET $node "$(reply 10.0.0.1)" "$(reply 10.0.0.2)")"
  TPU_NAME=my-tpu run -0 --separate-stderr timeout 30 bash -c 'tfd-resolve auto --watch --interval 100ms --get master 9>&- | head -n 2'
  [ "$output" = $'grpc://10.0.0.1:8470\ngrpc://10.0.0.2:8470' ]
}
