#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-resolve kubernetes against an HTTP server that stands in for the API: what the documentation of
# KubernetesClusterResolver promises ("page: …", one test a promise), requests, waits, watches, errors.
# tests/cluster/kubernetes.bats asks a real kube-apiserver.

bats_require_minimum_version 1.5.0
load until.bash

setup() {
  unset TF_CONFIG KUBECONFIG POD_NAME POD_NAMESPACE JOB_COMPLETION_INDEX TFD_LOG "${!KUBERNETES_@}" "${!SLURM_@}"
  export HOME=$BATS_TEST_TMPDIR
  export no_proxy=127.0.0.1
  cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
  exec 9>&- || :
  [ -z "${WATCHER:-}" ] || kill "$WATCHER" 2>/dev/null || :
}

pod() {  # NAME SELECTOR-LABEL=VALUE [PHASE] [IP] [MORE-METADATA]: one pod as JSON
  jq -nc --arg name "$1" --arg key "${2%%=*}" --arg value "${2#*=}" --arg phase "${3:-Running}" --arg ip "${4-10.0.0.1}" \
    --argjson more "${5:-{\}}" '{metadata: ({name: $name, namespace: "mine", uid: ("uid-" + $name),
      creationTimestamp: "2026-01-01T00:00:00Z", labels: {($key): $value}} * $more), spec: {nodeName: "n"},
      status: ({phase: $phase, hostIP: "192.168.0.1"} + (if $ip == "" then {} else {podIP: $ip} end))}'
}

pods() {  # POD…: a PodList
  jq -nc '{kind: "PodList", metadata: {resourceVersion: "100"}, items: $ARGS.positional}' --jsonargs "$@"
}

route() {  # SELECTOR LIST: what a list by this selector gets
  jq -nc --arg selector "$1" --argjson list "$2" \
    '{path: "*/pods", query: {labelSelector: $selector, watch: null}, replies: [{json: $list}]}'
}

api() {  # ROUTE…: the API, its URL in $url, its requests in requests.jsonl; KUBECONFIG names it
  jq -nc '{routes: $ARGS.positional}' --jsonargs "$@" >script.json
  mkfifo commands
  "$TFD_BUILD/tests/kit/tfd-http-stand-in" script.json requests.jsonl <commands >url 3>&- &
  exec 9>commands
  until_true test -s url
  url=$(<url)
  write_config "$url"
}

watches() { [ "$(grep -c watch=true requests.jsonl)" -ge "$1" ]; }  # COUNT: this many were asked for

write_config() {  # URL [USER-MEMBERS]
  export KUBECONFIG=$BATS_TEST_TMPDIR/config
  cat >"$KUBECONFIG" <<YAML
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: c, user: u, namespace: mine}}]
clusters: [{name: c, cluster: {server: $1}}]
users: [{name: u, user: {${2:-token: hunter2}}}]
YAML
}

asked() { jq -r '.method + " " + .target' requests.jsonl; }

@test "page: a job may have several selectors, and several jobs are one cluster" {
  api "$(route 'job-name in (ps-1,worker-cluster-a,worker-cluster-b)' "$(pods \
    "$(pod a-1 job-name=worker-cluster-a Running 10.0.0.1)" "$(pod a-2 job-name=worker-cluster-a Running 10.0.0.2)" \
    "$(pod b-1 job-name=worker-cluster-b Running 10.0.1.1)" "$(pod p-1 job-name=ps-1 Running 10.0.2.1)")")" \
    "$(route 'name in (ps-2),x!=y' "$(pods "$(pod p-2 name=ps-2 Running 10.0.2.2)")")"
  run -0 --separate-stderr tfd-resolve kubernetes --selector worker=job-name=worker-cluster-a \
    --selector worker=job-name=worker-cluster-b --selector ps=job-name=ps-1 --selector 'ps=name in (ps-2),x!=y' --get cluster
  [ "$output" = '{"worker": ["10.0.0.1:8470", "10.0.0.2:8470", "10.0.1.1:8470"], "ps": ["10.0.2.1:8470", "10.0.2.2:8470"]}' ]
}

@test "page: tf_server_port is the port of every address" {
  api "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)")")"
  run -0 tfd-resolve kubernetes --port 2222 --get cluster.worker
  [ "$output" = '["10.0.0.1:2222"]' ]
}

@test "page: rpc_layer is grpc unless given" {
  api "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)")")"
  run -0 tfd-resolve kubernetes --task worker:0 --get master
  [ "$output" = grpc://10.0.0.1:8470 ]
  run -0 tfd-resolve kubernetes --task worker:0 --rpc-layer http --get master
  [ "$output" = http://10.0.0.1:8470 ]
}

@test "page: who names the client's configuration answers for its credentials" {
  api "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)")")"
  mv config other
  unset KUBECONFIG
  run -78 tfd-resolve kubernetes
  [[ $output == *"no Kubernetes configuration: looked at KUBECONFIG (not set), a pod's own configuration"* ]]
  run -0 tfd-resolve kubernetes --kubeconfig other --get cluster.worker
  [ "$(jq -r .headers.authorization requests.jsonl)" = "Bearer hunter2" ]
}

@test "page: a task that isn't one is refused" {  # "RuntimeError if autoresolve_task is not a boolean nor a callable"
  run -64 tfd-resolve kubernetes --task nonsense
  [[ $output == *"--task"* ]]
}

@test "page: environment is empty outside of Google" {
  api "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)")")"
  run -0 --separate-stderr tfd-resolve kubernetes
  [ "$(jq -c .environment <<<"$output")" = '""' ]
}

@test "page: task_type and task_id are those that one sets" {
  api "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)" "$(pod b job-name=tensorflow Running 10.0.0.2)")")"
  run -0 --separate-stderr tfd-resolve kubernetes --task worker:1
  [ "$(jq -c '[.task, .master]' <<<"$output")" = '[{"type":"worker","index":1},"grpc://10.0.0.2:8470"]' ]
}

@test "page: task_type and task_id can't be retrieved, and what needs them says so" {
  api "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)")")"
  run -0 --separate-stderr tfd-resolve kubernetes
  [ "$(jq 'has("task") or has("master")' <<<"$output")" = false ]
  run -65 tfd-resolve kubernetes --format pytorch
  [[ $output == *"--task"* ]]
}

@test "page: the pod IPs of all running pods that match, of the namespace that is given" {
  api "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)" "$(pod b job-name=tensorflow Running fd00::2)" \
    "$(pod ended job-name=tensorflow Succeeded 10.0.0.3)")")"
  run -0 tfd-resolve kubernetes --namespace mine --get cluster.worker
  [ "$output" = '["10.0.0.1:8470", "[fd00::2]:8470"]' ]
  [ "$(asked)" = "GET /api/v1/namespaces/mine/pods?labelSelector=job-name%3Dtensorflow&limit=500" ]
}

@test "page: the example: workers 0 and 1 agree on one cluster" {
  api "$(route 'job-name in (worker-cluster-a,worker-cluster-b)' \
    "$(pods "$(pod a job-name=worker-cluster-a)" "$(pod b job-name=worker-cluster-b Running 10.0.0.2)")")"
  for task in 0 1; do
    run -0 --separate-stderr tfd-resolve kubernetes --selector worker=job-name=worker-cluster-a \
      --selector worker=job-name=worker-cluster-b --task "worker:$task" --format tf-config
    [ "$(jq -c .task.index <<<"$output")" = "$task" ]
    jq -c .cluster <<<"$output" >"cluster$task"
  done
  cmp cluster0 cluster1
  [ "$(<cluster0)" = '{"worker":["10.0.0.1:8470","10.0.0.2:8470"]}' ]
}

@test "page: without the client's library the error says what to install" {  # ImportError
  write_config http://127.0.0.1:1
  if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then skip "hiding libcurl needs root and unshare"; fi
  mkdir empty
  hide=()
  for dir in /lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu /lib/aarch64-linux-gnu /usr/lib64; do
    for file in "$dir"/libcurl*.so*; do [ -f "$file" ] && hide+=("$(readlink -f "$file")"); done
  done
  [ ${#hide[@]} -gt 0 ]
  # shellcheck disable=SC2016  # expanded by the inner shell
  run unshare -m bash -c 'for file in "${@}"; do mount --bind /dev/null "$file"; done; exec tfd-resolve kubernetes' hide "${hide[@]}"
  [ "$status" -ne 0 ]
  [[ $output == *libcurl* ]]
  [[ $output == *install* ]]
}

@test "the default selector, the token and nothing else go to the API" {
  api "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)")")"
  run -0 --separate-stderr tfd-resolve kubernetes -vv
  [ "$(asked)" = "GET /api/v1/pods?labelSelector=job-name%3Dtensorflow&limit=500" ]
  [ "$(jq -r '.headers | .accept + " " + .authorization' requests.jsonl)" = "application/json Bearer hunter2" ]
  # shellcheck disable=SC2154  # run --separate-stderr sets it
  [[ $output$stderr != *hunter2* ]]
}

@test "compat tensorflow: host IPs, one list of all, and any phase but Running is an error" {
  api "$(route job-name=tensorflow "$(pods "$(pod b job-name=tensorflow)" "$(pod a job-name=tensorflow)")")" \
    "$(route job-name=done "$(pods "$(pod ended job-name=done Succeeded)")")"
  run -0 tfd-resolve kubernetes --compat tensorflow --get cluster.worker
  [ "$output" = '["192.168.0.1:8470", "192.168.0.1:8470"]' ]
  [ "$(asked)" = "GET /api/v1/pods?labelSelector=job-name%3Dtensorflow" ]
  run -78 tfd-resolve kubernetes --compat tensorflow --selector worker=job-name=done
  [[ $output == *"pod ended is Succeeded"* ]]
}

@test "a pending pod is an error that names it and its phase" {
  api "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow Pending '')")")"
  run -78 tfd-resolve kubernetes
  [ "${lines[0]}" = "tfd-resolve: kubernetes: worker: pod a is Pending" ]
  [ "${lines[1]}" = "hint: --wait DURATION waits for pods that don't exist yet" ]
}

@test "--wait: a pending pod is waited for, by a watch from the list's version on" {
  api '{"path": "*/pods", "query": {"watch": "true"}, "replies": [{"stream": "w"}]}' \
    "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)" "$(pod b job-name=tensorflow Pending '')")")"
  tfd-resolve kubernetes --wait 30s --get cluster.worker >out 2>err 9>&- 3>&- &
  WATCHER=$!
  until_true grep -q watch=true requests.jsonl
  [ "$(jq -r 'select(.query.watch) | .query.resourceVersion + " " + .query.allowWatchBookmarks' requests.jsonl)" = "100 true" ]
  jq -nc --argjson pod "$(pod b job-name=tensorflow Running 10.0.0.2)" \
    '{stream: "w", push: ({type: "MODIFIED", object: $pod} | tojson + "\n")}' >&9
  wait $WATCHER
  [ "$(<out)" = '["10.0.0.1:8470", "10.0.0.2:8470"]' ]
}

@test "--wait: who isn't there in time is named, exit 75" {
  api '{"path": "*/pods", "query": {"watch": "true"}, "replies": [{"chunks": [], "then": "stay"}]}' \
    "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)" "$(pod b job-name=tensorflow Pending '')")")"
  run -75 tfd-resolve kubernetes --wait 300ms
  [[ $output == *"after 300ms: worker: pod b is Pending"* ]]
}

@test "--watch: a line for every change of the answer, through a cut connection" {
  api '{"path": "*/pods", "query": {"watch": "true"}, "replies": [{"stream": "w"}]}' \
    "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)")")"
  tfd-resolve kubernetes --watch --get cluster.worker >out 2>err 9>&- 3>&- &
  WATCHER=$!
  until_true grep -q watch=true requests.jsonl
  push() {
    jq -nc --argjson object "$2" --arg type "$1" '{stream: "w", push: ({type: $type, object: $object} | tojson + "\n")}' >&9
  }
  push ADDED "$(pod b job-name=tensorflow Running 10.0.0.2 '{"resourceVersion": "101"}')"
  until_true grep -q 10.0.0.2 out
  until_true grep -q resourceVersion=101 requests.jsonl
  echo '{"stream": "w", "then": "cut"}' >&9
  until_true watches 2
  push DELETED "$(pod a job-name=tensorflow Running 10.0.0.1 '{"resourceVersion": "102"}')"
  until_true has_lines out 3
  [ "$(<out)" = '["10.0.0.1:8470"]
["10.0.0.1:8470", "10.0.0.2:8470"]
["10.0.0.2:8470"]' ]
}

@test "an expired token: 401 says whose it was, not what it was" {
  api '{"path": "*/pods", "replies": [{"status": 401, "json": {"kind": "Status", "message": "Unauthorized", "code": 401}}]}'
  run -77 tfd-resolve kubernetes
  [[ $output == *"401, its token is refused: its token of context 'here' of $KUBECONFIG may have expired"* ]]
  [[ $output != *hunter2* ]]
}

@test "a credential plug-in is asked again after a 401" {
  api '{"path": "*/pods", "headers": {"Authorization": "Bearer t1"}, "replies": [{"status": 401, "body": "{}"}]}' \
    "$(route job-name=tensorflow "$(pods "$(pod a job-name=tensorflow)")")"
  cat >plugin <<'SH'
#!/bin/sh
echo run >>"${0%/*}/runs"
echo "{\"kind\": \"ExecCredential\", \"apiVersion\": \"client.authentication.k8s.io/v1\", \"status\": {\"token\": \"t$(wc -l <"${0%/*}/runs")\"}}"
SH
  chmod +x plugin
  write_config "$url" 'exec: {command: ./plugin, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}'
  run -0 tfd-resolve kubernetes --get cluster.worker
  [ "$(jq -r .headers.authorization requests.jsonl | paste -sd ' ')" = "Bearer t1 Bearer t2" ]
}

@test "a server that isn't there: refused, exit 69" {
  write_config http://127.0.0.1:1
  run -69 tfd-resolve kubernetes --timeout 1s
  [[ $output == *"127.0.0.1:1"* ]]
}

@test "a server that has too much to do is asked again" {
  api "{\"path\": \"*/pods\", \"replies\": [{\"status\": 429, \"headers\": {\"Retry-After\": \"0\"}}, {\"status\": 503}, {\"json\": $(pods "$(pod a job-name=tensorflow)")}]}"
  run -0 tfd-resolve kubernetes --get cluster.worker
  [ "$(asked | wc -l)" = 3 ]
}

@test "a redirect to another host isn't followed: it would carry the token there" {
  api '{"path": "*/pods", "replies": [{"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}]}'
  run ! tfd-resolve kubernetes
  [[ $output == *302* ]]
  [ "$(asked | wc -l)" = 1 ]
}

@test "credentials don't go over plain http to another machine" {
  write_config http://api.example
  run -78 tfd-resolve kubernetes
  [[ $output == *"does not use TLS"* ]]
  [[ $output != *hunter2* ]]
}
