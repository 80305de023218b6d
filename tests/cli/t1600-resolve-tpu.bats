#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-resolve tpu against an HTTP server that stands in for the metadata server, OAuth and the Cloud TPU API.
# The promises of TPUClusterResolver's documentation are in tests/unit/resolve/test_tpu_documented.cpp, a test a promise.

bats_require_minimum_version 1.5.0
load google.bash

setup() { google_setup; }
teardown() { google_teardown; }

readonly node=/v2/projects/p/locations/us-central1-b/nodes/my-tpu
readonly ready='{"json": {"state": "READY", "health": "HEALTHY", "acceleratorType": "v3-16", "networkEndpoints": [
  {"ipAddress": "10.240.1.2", "port": 8470}, {"ipAddress": "10.240.1.3", "port": 8470}]}}'

tpu() {
  timeout 30 tfd-resolve tpu "$@"
}

@test "a name: project and token of the VM, the first worker's address as master" {
  google "$(metadata project/project-id p)" "$(metadata_token)" "$(route GET $node "$ready")"
  run -0 tpu my-tpu --zone us-central1-b --get master
  [ "$output" = grpc://10.240.1.2:8470 ]
  [ "$(asked)" = "GET /computeMetadata/v1/project/project-id
GET /computeMetadata/v1/instance/service-accounts/default/token
GET $node" ]
}

@test "the whole spec: workers, cores per host, no task" {
  google "$(metadata_token)" "$(route GET $node "$ready")"
  run -0 tpu my-tpu --zone us-central1-b --project p --coordinator-name coordinator --coordinator-address 10.0.0.1:99
  [ "$output" = '{"cluster": {"worker": ["10.240.1.2:8470", "10.240.1.3:8470"], "coordinator": ["10.0.0.1:99"]}, "rpc_layer": "grpc", "environment": "", "master": "grpc://10.240.1.2:8470", "num_accelerators": {"TPU": 8}, "resolver": "tpu", "tpu": {"accelerator_type": "v3-16"}}' ]
}

@test "compat tensorflow: API v1, the state alone, worker 0" {
  google "$(metadata_token)" "$(route GET "${node/v2/v1}" "${ready/HEALTHY/TIMEOUT}")"
  run -0 tpu my-tpu --zone us-central1-b --project p --compat tensorflow
  [ "$(jq -c .task <<<"$output")" = '{"type":"worker","index":0}' ]
}

@test "a coordinator without an address gets this machine's and a free port" {
  google "$(metadata_token)" "$(route GET $node "$ready")" "$(metadata instance/network-interfaces/0/ip 127.0.0.1)"
  run -0 tpu my-tpu --zone us-central1-b --project p --coordinator-name chief
  address=$(jq -r '.cluster.chief[0]' <<<"$output")
  [[ $address =~ ^127\.0\.0\.1:[1-9][0-9]*$ ]]
}

@test "a discovery document says where the API is" {
  google "$(metadata_token)" "$(route GET "/below$node" "$ready")" \
    '{"path": "/discovery/tpu/v2", "headers": {"Authorization": null}, "replies": [{"body_file": "document.json"}]}'
  echo "{\"rootUrl\": \"$url/\", \"servicePath\": \"below/\"}" >document.json
  TPU_API_DISCOVERY_URL=$url/discovery/{api}/{apiVersion} run -0 tpu my-tpu --zone us-central1-b --project p --get master
  [ "$output" = grpc://10.240.1.2:8470 ]
}

@test "what the API refuses: one line, and a code that says what to do" {
  while read -r status code says; do
    google "$(metadata_token)" "$(route GET $node "{\"status\": $status, \"json\": {\"error\": {\"message\": \"because\"}}}")"
    run --separate-stderr "-$code" tpu my-tpu --zone us-central1-b --project p
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" = 1 ]
    [[ $stderr == "tfd-resolve: TPU 'my-tpu' (projects/p/locations/us-central1-b/nodes/my-tpu): "*"$says"* ]]
    [[ $stderr != *hunter2* ]]
    google_teardown
    rm -f commands url requests.jsonl
  done <<'END'
401 77 because
403 77 is not permitted: because
404 65 not found: because
400 65 because
END
}

@test "too many requests and faults are tried again, as late as the API says" {
  google "$(metadata_token)" "$(route GET $node '{"status": 429, "headers": {"Retry-After": "1"}}' '{"status": 500}' \
    '{"hang_up": true}' "$ready")"
  run -0 tpu my-tpu --zone us-central1-b --project p --get master
  [ "$output" = grpc://10.240.1.2:8470 ]
  [ "$(asked | grep -c nodes)" = 4 ]
}

@test "an API that never answers: exit 75 when the time is up" {
  google "$(metadata_token)" "$(route GET $node '{"silent": true}')"
  run --separate-stderr -75 tpu my-tpu --zone us-central1-b --project p --timeout 300ms
  [ "${#stderr_lines[@]}" = 1 ]
}

@test "not ready, not healthy: exit 78, says which" {
  google "$(metadata_token)" "$(route GET $node '{"json": {"state": "CREATING"}}' \
    '{"json": {"state": "READY", "health": "UNHEALTHY_MAINTENANCE"}}')"
  run --separate-stderr -78 tpu my-tpu --zone us-central1-b --project p
  [ "$stderr" = "tfd-resolve: TPU 'my-tpu' is not ready: its state is CREATING" ]
  run --separate-stderr -78 tpu my-tpu --zone us-central1-b --project p
  [ "$stderr" = "tfd-resolve: TPU 'my-tpu' is not healthy: its health is UNHEALTHY_MAINTENANCE" ]
}

@test "--wait-healthy asks until it is, or exits 75" {
  google "$(metadata_token)" "$(route GET $node '{"json": {"state": "READY", "health": "TIMEOUT"}}' "$ready")"
  run -0 tpu my-tpu --zone us-central1-b --project p --wait-healthy 10s --interval 100ms --get master
  [ "$output" = grpc://10.240.1.2:8470 ]
  google_teardown
  rm -f commands url
  google "$(metadata_token)" "$(route GET $node '{"json": {"state": "READY", "health": "TIMEOUT"}}')"
  run --separate-stderr -75 tpu my-tpu --zone us-central1-b --project p --wait-healthy 150ms --interval 100ms
  [[ $stderr == *"its health TIMEOUT" ]]
}

@test "--recoverable is the answer of a script's if" {
  now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  google "$(metadata_token)" "$(route GET $node '{"json": {"state": "READY"}}' '{"json": {"state": "PREEMPTED"}}' \
    "{\"json\": {\"state\": \"READY\", \"symptoms\": [{\"symptomType\": \"OUT_OF_MEMORY\", \"createTime\": \"$now\"}]}}")"
  run -0 tpu my-tpu --zone us-central1-b --project p --recoverable
  [ -z "$output" ]
  run -1 tpu my-tpu --zone us-central1-b --project p --recoverable
  run -1 tpu my-tpu --zone us-central1-b --project p --recoverable
}

@test "--system-metadata and num_accelerators, by the accelerator type" {
  google "$(metadata_token)" "$(route GET $node "$ready")"
  run -0 tpu my-tpu --zone us-central1-b --project p --system-metadata --get system_metadata.num_cores
  [ "$output" = 16 ]
  run -0 tpu my-tpu --zone us-central1-b --project p --get num_accelerators.TPU
  [ "$output" = 8 ]
}

@test "a service account's key signs, and stays secret" {
  google '{"method": "POST", "path": "/token", "body": "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=*",
           "replies": [{"json": {"access_token": "hunter2", "expires_in": 3600}}]}' "$(route GET $node "$ready")"
  openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem 2>/dev/null
  openssl pkey -in key.pem -pubout -out public.pem
  jq -n --arg url "$url/token" --rawfile key key.pem \
    '{type: "service_account", client_email: "me@p", private_key: $key, token_uri: $url}' >key.json
  run --separate-stderr -0 tpu my-tpu --zone us-central1-b --project p --credentials key.json -vv
  [[ $output$stderr != *hunter2* && $output$stderr != *PRIVATE* ]]
  # The assertion is signed with the key.
  assertion=$(jq -r 'select(.path == "/token").body' requests.jsonl)
  assertion=${assertion##*assertion=}
  signature=${assertion##*.}
  printf %s "${assertion%.*}" >signed
  while [ $((${#signature} % 4)) != 0 ]; do signature+='='; done
  basenc -d --base64url <<<"$signature" >signature
  openssl dgst -sha256 -verify public.pem -signature signature signed
}

@test "credentials of GOOGLE_APPLICATION_CREDENTIALS; a refused one is an error of its own" {
  google '{"path": "/token", "replies": [{"status": 400, "json": {"error": "invalid_grant", "error_description": "expired"}}]}'
  echo "{\"type\": \"authorized_user\", \"client_id\": \"i\", \"client_secret\": \"sekret\", \"refresh_token\": \"r\", \"token_uri\": \"$url/token\"}" >user.json
  GOOGLE_APPLICATION_CREDENTIALS=user.json run --separate-stderr -77 tpu my-tpu --zone us-central1-b --project p -vv
  [[ $stderr == *"invalid_grant: expired"* && $stderr != *sekret* ]]
}

@test "a worker of a TPU VM: metadata attributes" {
  google "$(metadata instance/attributes/worker-network-endpoints unknown:unknown:10.0.0.1,unknown:unknown:10.0.0.2)" \
    "$(metadata instance/attributes/agent-worker-number 1)" \
    "$(metadata instance/attributes/tpu-env "ACCELERATOR_TYPE: 'v5litepod-8'
TOPOLOGY: '2x4'")"
  run -0 tpu
  [ "$output" = '{"cluster": {"worker": ["10.0.0.1:8470", "10.0.0.2:8470"]}, "task": {"type": "worker", "index": 1}, "rpc_layer": "grpc", "environment": "", "master": "grpc://10.0.0.1:8470", "num_accelerators": {"TPU": 4}, "resolver": "tpu", "tpu": {"accelerator_type": "v5litepod-8", "topology": "2x4"}}' ]
}

@test "a worker in GKE: variables, and its TF_CONFIG for a command" {
  export TPU_WORKER_HOSTNAMES=t-0,t-1 TPU_WORKER_ID=1
  # shellcheck disable=SC2016
  run -0 tpu -- sh -c 'printf %s "$TF_CONFIG"'
  [ "$(jq -c .task <<<"$output")" = '{"type":"worker","index":1}' ]
}

@test "nothing anywhere: said at once, exit 65" {
  export GCE_METADATA_HOST=127.0.0.1:1
  run --separate-stderr -65 tpu
  [ "${#stderr_lines[@]}" = 1 ]
  [[ $stderr == *"no TPU: none is given"*"no metadata server here: 127.0.0.1:1"* ]]
}

@test "HOST:PORT without grpc:// gets a hint" {
  run --separate-stderr -65 tpu 10.0.0.1:8470
  [[ $stderr == *"grpc://10.0.0.1:8470" ]]
}

@test "local: the devices by PJRT; --connect is not found without one" {
  TFD_TPU_TOPOLOGY=2x2 run -0 tpu local --get num_accelerators.TPU
  [ "$output" = 4 ]
  TFD_TPU_TOPOLOGY=2x2 run -0 tpu local --connect --system-metadata --get system_metadata.num_hosts
  [ "$output" = 1 ]
  TFD_TPU_TOPOLOGY=2x2 run -0 tpu local --get metadata
  [ "$(jq -c '[.num_cores, .num_hosts, .topology.mesh_shape]' <<<"$output")" = '[4,1,[2,2,1,1]]' ]
  [ "$(jq -c '.topology.device_coordinates[0][3]' <<<"$output")" = '[1,1,0,0]' ]
  [ "$(jq -r '.devices[3].name' <<<"$output")" = /job:localhost/replica:0/task:0/device:TPU:3 ]
  TFD_TPU_TOPOLOGY=2x2 run -0 tpu local --get metadata.topology.mesh_shape
  [ "$output" = '[2, 2, 1, 1]' ]
  run --separate-stderr -64 tpu a-name --zone z --project p --get metadata.num_cores
  [[ $stderr == *"initializes the TPU of this machine"* ]]
  TPU_LIBRARY_PATH=/nonexistent run --separate-stderr -65 tpu local --connect
  [[ $stderr == *"no TPU device"* ]]
}
