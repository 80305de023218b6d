#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-resolve kubernetes against a real kube-apiserver with etcd: selectors, pages, RBAC, TLS, tokens, Indexed Jobs, pods
# that start one after the other, watches through a restart and a compaction. Needs etcd, and a kube-apiserver that
# apiserver/build.sh builds once into the cache with Go; skipped otherwise.

bats_require_minimum_version 1.5.0

setup_file() {
  source "$BATS_TEST_DIRNAME/kubernetes-bed.bash"
  MISSING=$(kubernetes_missing "$BATS_TEST_DIRNAME")
  export MISSING
  [ -z "$MISSING" ] || return 0
  unset KUBECONFIG POD_NAME POD_NAMESPACE JOB_COMPLETION_INDEX TF_CONFIG TFD_LOG "${!KUBERNETES_@}" "${!SLURM_@}"
  export no_proxy=127.0.0.1
  APISERVER=$("$BATS_TEST_DIRNAME/apiserver/build.sh" 2>&3)
  export APISERVER
  BED=$(mktemp -d /tmp/tfd-kubernetes-XXXXXX)
  export BED HOME=$BED
  if ! kubernetes_up "$BED" >"$BED/up.out" 2>&1; then
    tail -n 30 "$BED"/up.out "$BED"/*.log >&3
    return 1
  fi
}

teardown_file() {
  [ -n "${BED:-}" ] || return 0
  source "$BATS_TEST_DIRNAME/kubernetes-bed.bash"
  kubernetes_down "$BED"
  rm -rf "$BED"
}

setup() {
  [ -z "$MISSING" ] || skip "no Kubernetes here: $MISSING"
  source "$BATS_TEST_DIRNAME/kubernetes-bed.bash"
  cd "$BATS_TEST_TMPDIR" || return
  PIDS=()
}

teardown() {
  [ -z "$MISSING" ] || return 0
  local pid
  for pid in "${PIDS[@]}"; do kill "$pid" 2>/dev/null || :; done
  api DELETE "/api/v1/namespaces/train/pods?gracePeriodSeconds=0" >/dev/null
  api DELETE "/apis/batch/v1/namespaces/train/jobs?propagationPolicy=Background" >/dev/null
}

labels() { jq -nc '[$ARGS.positional[] | split("=") | {(.[0]): .[1]}] | add' --args "$@"; }

run_worker() {  # NAME IP: a running pod of job-name=a
  put_pod "$1" "$(labels job-name=a)"
  run_pod "$1" "$2"
}

put_job() {  # NAME SIZE: an Indexed Job; prints its uid
  api POST /apis/batch/v1/namespaces/train/jobs "$(jq -nc --arg name "$1" --argjson size "$2" '{metadata: {name: $name},
    spec: {completions: $size, parallelism: $size, completionMode: "Indexed", suspend: false,
      template: {spec: {restartPolicy: "Never", containers: [{name: "c", image: "i"}]}}}}')" | jq -r .metadata.uid
}

put_indexed() {  # JOB UID INDEX: as the Job's controller makes it
  put_pod "$1-$3-x" "$(labels batch.kubernetes.io/job-name="$1" batch.kubernetes.io/job-completion-index="$3")" \
    Job "$1" "$2" "$1-$3"
}

resolve() { timeout 60 tfd-resolve kubernetes --selector worker=job-name=a "$@"; }

as_lister() {  # the configuration of a user without rights, until a Role gives him some
  write_kubeconfig "$BATS_TEST_TMPDIR/lister.conf" lister-token "$BED/certs/apiserver.crt"
  export KUBECONFIG=$BATS_TEST_TMPDIR/lister.conf
}

allow_lister() {  # VERBS-JSON: on pods in namespace train
  api DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/train/rolebindings/lister >/dev/null 2>&1 || :
  api DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/train/roles/lister >/dev/null 2>&1 || :
  api POST /apis/rbac.authorization.k8s.io/v1/namespaces/train/roles "{\"metadata\": {\"name\": \"lister\"},
    \"rules\": [{\"apiGroups\": [\"\"], \"resources\": [\"pods\"], \"verbs\": $1}]}" >/dev/null
  api POST /apis/rbac.authorization.k8s.io/v1/namespaces/train/rolebindings '{"metadata": {"name": "lister"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lister"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "lister"}]}' >/dev/null
}

@test "running pods of a selector are the cluster, ended and foreign ones aren't" {
  run_worker b 10.0.0.2
  run_worker a 10.0.0.1
  run_worker ended 10.0.0.3
  end_pod ended Succeeded
  put_pod other "$(labels job-name=other)"
  run_pod other 10.0.0.9
  run -0 resolve --get cluster
  [ "$output" = '{"worker": ["10.0.0.1:8470", "10.0.0.2:8470"]}' ]
  run -0 timeout 60 tfd-resolve kubernetes --selector 'worker=job-name in (a,other),job-name!=a' --namespace train --get cluster.worker
  [ "$output" = '["10.0.0.9:8470"]' ]
  run -0 timeout 60 tfd-resolve kubernetes --selector worker=job-name=other --address host-ip --port 1 --get cluster.worker
  [ "$output" = '["192.168.0.1:1"]' ]
  run -65 timeout 60 tfd-resolve kubernetes --selector 'worker=a in (' --namespace train
  [[ $output == *"unable to parse requirement"* ]]
}

@test "a pending pod is named with its phase" {
  run_worker a-0 10.0.0.1
  put_pod a-1 "$(labels job-name=a)"
  run -78 resolve
  [[ $output == *"worker: pod a-1 is Pending"* ]]
}

@test "no right to list pods: the server's words, and the right that is needed" {
  as_lister
  run -77 resolve
  [[ $output == *'User "lister" cannot list resource "pods"'* ]]
  [[ $output == *"hint: a Role or ClusterRole must let"*"get, list and watch pods"*"--namespace train"* ]]
  [[ $output != *lister-token* ]]
}

@test "a right in one namespace suffices for that one" {
  run_worker a 10.0.0.1
  allow_lister '["list", "watch"]'
  as_lister
  kubernetes_wait 20 resolve --namespace train
  run -0 resolve --namespace train --get cluster.worker
  [ "$output" = '["10.0.0.1:8470"]' ]
  run -77 resolve --namespace default
}

@test "no right to watch: pods are listed again and again" {
  allow_lister '["list"]'
  put_pod a "$(labels job-name=a)"
  as_lister
  kubernetes_wait 20 timeout 60 tfd-resolve kubernetes --namespace train --compat tensorflow --selector worker=job-name=none
  timeout 100 tfd-resolve kubernetes --selector worker=job-name=a --namespace train --wait 50s --get cluster.worker >out 2>err &
  PIDS+=($!)
  kubernetes_wait 20 grep -q "listing them every" err
  run_pod a 10.0.0.1
  wait "${PIDS[0]}"
  [ "$(<out)" = '["10.0.0.1:8470"]' ]
}

@test "a certificate of another authority is refused, and --insecure-skip-tls-verify is obeyed" {
  run_worker a 10.0.0.1
  openssl req -x509 -newkey rsa:2048 -nodes -keyout wrong.key -out wrong.crt -days 1 -subj /CN=wrong 2>/dev/null
  write_kubeconfig wrong.conf admin-token "$PWD/wrong.crt"
  run -77 resolve --kubeconfig wrong.conf
  [[ $output == *"$API_PORT"* ]]
  [[ $output == *"hint: context 'test' of wrong.conf is to be verified by $PWD/wrong.crt"* ]]
  [[ $output != *admin-token* ]]
  run -0 --separate-stderr resolve --kubeconfig wrong.conf --insecure-skip-tls-verify --get cluster.worker
  [ "$output" = '["10.0.0.1:8470"]' ]
  # shellcheck disable=SC2154  # run --separate-stderr sets it
  [[ $stderr == *"is not verified"* ]]
}

@test "a server of another name is refused" {
  run_worker a 10.0.0.1
  sed "s/{server:/{tls-server-name: elsewhere.example, server:/" "$KUBECONFIG" >name.conf
  run -77 resolve --kubeconfig name.conf
  [[ $output == *"tls-server-name elsewhere.example"* ]]
  sed "s/{server:/{tls-server-name: kubernetes.default.svc, server:/" "$KUBECONFIG" >name.conf
  run -0 resolve --kubeconfig name.conf
}

@test "a token that is unknown, and a service account's that has expired" {
  write_kubeconfig unknown.conf no-such-token "$BED/certs/apiserver.crt"
  run -77 resolve --kubeconfig unknown.conf
  [[ $output == *"401, its token is refused"* ]]
  [[ $output != *no-such-token* ]]
  # Signed by the server's own key, but it expired in 2001.
  base64url() { openssl base64 -A | tr '+/' '-_' | tr -d =; }
  head=$(printf '{"alg":"RS256"}' | base64url)
  body=$(printf '{"iss":"https://kubernetes.default.svc","aud":["https://kubernetes.default.svc"],"exp":1000000000,"iat":999990000,"nbf":999990000,"sub":"system:serviceaccount:train:default","kubernetes.io":{"namespace":"train","serviceaccount":{"name":"default","uid":"x"}}}' | base64url)
  signature=$(printf '%s.%s' "$head" "$body" | openssl dgst -sha256 -sign "$BED/sa.key" -binary | base64url)
  write_kubeconfig expired.conf "$head.$body.$signature" "$BED/certs/apiserver.crt"
  run -77 resolve --kubeconfig expired.conf
  [[ $output == *"may have expired"* ]]
}

with_user() {  # USER-YAML: KUBECONFIG of that user
  export KUBECONFIG=$BATS_TEST_TMPDIR/user.conf
  write_kubeconfig "$KUBECONFIG" '""' "$BED/certs/apiserver.crt"
  sed -i "s|^users: .*|users: [{name: u, user: $1}]|" "$KUBECONFIG"
}

@test "a client's certificate, from files and as data, says who asks" {
  run_worker a-0 10.0.0.1
  allow_lister '["list"]'
  client_certificate "$BED" lister lister
  client_certificate "$BED" stranger stranger
  with_user '{client-certificate: lister.crt, client-key: lister.key}'
  run -0 resolve --namespace train --get cluster.worker
  [ "$output" = '["10.0.0.1:8470"]' ]
  with_user "{client-certificate-data: $(base64 -w0 lister.crt), client-key-data: $(base64 -w0 lister.key)}"
  run -0 resolve --namespace train --get cluster.worker
  [ "$output" = '["10.0.0.1:8470"]' ]
  with_user '{client-certificate: stranger.crt, client-key: stranger.key}'
  run -77 resolve --namespace train
  [[ $output == *'User "stranger" cannot list resource "pods"'* ]]
  with_user '{client-certificate: lister.crt, client-key: stranger.key}'
  run -65 resolve --namespace train
  [[ $output == *"the client's certificate or its key isn't PEM, or they don't belong together"* ]]
}

@test "an exec plug-in's token and its certificate are taken by the server" {
  run_worker a-0 10.0.0.1
  allow_lister '["list"]'
  client_certificate "$BED" lister lister
  jq -n '{apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: {token: "lister-token"}}' >token.json
  jq -n --rawfile crt lister.crt --rawfile key lister.key '{apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential", status: {clientCertificateData: $crt, clientKeyData: $key}}' >certificate.json
  local kind
  for kind in token certificate; do
    with_user "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: cat, args: [$PWD/$kind.json]}}"
    run -0 resolve --namespace train --get cluster.worker
    [ "$output" = '["10.0.0.1:8470"]' ]
  done
}

@test "1000 pods come in pages, each once" {
  seq 1000 | awk '{printf "p%04d\n", $1}' >names
  pod_object NAME "$(labels job-name=a)" >template
  # As many requests as one curl can make: POST each, then PATCH each status.
  while read -r name; do
    sed "s/NAME/$name/" template >"$name.json"
    printf 'next\nurl = "https://127.0.0.1:%s/api/v1/namespaces/train/pods"\ndata-binary = "@%s.json"\noutput = /dev/null\n' "$API_PORT" "$name"
    printf 'header = "Authorization: Bearer admin-token"\nheader = "Content-Type: application/json"\ncacert = "%s"\n' "$BED/certs/apiserver.crt"
  done <names | sed 1d >post.conf
  curl -sS -Z --parallel-max 8 --fail -K post.conf
  n=0
  while read -r name; do
    n=$((n + 1))
    printf '{"status": {"phase": "Running", "podIP": "10.1.%s.%s", "hostIP": "10.0.0.1"}}' $((n / 250)) $((n % 250)) >"$name.json"
    printf 'next\nurl = "https://127.0.0.1:%s/api/v1/namespaces/train/pods/%s/status"\ndata-binary = "@%s.json"\noutput = /dev/null\nrequest = PATCH\n' "$API_PORT" "$name" "$name"
    printf 'header = "Authorization: Bearer admin-token"\nheader = "Content-Type: application/merge-patch+json"\ncacert = "%s"\n' "$BED/certs/apiserver.crt"
  done <names | sed 1d >patch.conf
  curl -sS -Z --parallel-max 8 --fail -K patch.conf
  run -0 --separate-stderr resolve --jobs worker=1000
  [ "$(jq '.cluster.worker | length' <<<"$output")" = 1000 ]
  [ "$(jq -r '.cluster.worker[0,999]' <<<"$output")" = $'10.1.0.1:8470\n10.1.4.0:8470' ]
  [ "$(jq '.cluster.worker | unique | length' <<<"$output")" = 1000 ]
}

@test "an Indexed Job's pods know their task, in numeric order" {
  uid=$(put_job a 12)
  for index in 11 10 9 8 7 6 5 4 3 2 1 0; do
    put_indexed a "$uid" "$index"
    run_pod "a-$index-x" "10.0.0.$index"
  done
  for index in 0 2 11; do
    HOSTNAME=a-$index JOB_COMPLETION_INDEX=$index KUBERNETES_SERVICE_HOST=10.96.0.1 POD_NAMESPACE=train \
      run -0 --separate-stderr timeout 60 tfd-resolve kubernetes --selector worker=batch.kubernetes.io/job-name=a
    [ "$(jq -c '[.task.index, .master, .cluster.worker[10]]' <<<"$output")" = "[$index,\"grpc://10.0.0.$index:8470\",\"10.0.0.10:8470\"]" ]
  done
  delete_pod a-4-x
  run -78 timeout 60 tfd-resolve kubernetes --selector worker=batch.kubernetes.io/job-name=a
  [[ $output == *"11 of 12 pods of Job a exist, missing index 4"* ]]
}

@test "pods that start one after the other agree on one cluster" {
  uid=$(put_job a 4)
  for index in 0 1 2 3; do
    HOSTNAME=a-$index JOB_COMPLETION_INDEX=$index KUBERNETES_SERVICE_HOST=10.96.0.1 POD_NAMESPACE=train timeout 100 tfd-resolve \
      kubernetes --selector worker=batch.kubernetes.io/job-name=a --jobs worker=4 --wait 5m -- printenv TF_CONFIG \
      >"out$index" 2>"err$index" 3>&- &
    PIDS+=($!)
    put_indexed a "$uid" "$index"
    run_pod "a-$index-x" "10.0.0.$index"
    [ "$index" = 3 ] || [ ! -s "out$index" ]
  done
  for index in 0 1 2 3; do
    wait "${PIDS[$index]}"
    [ "$(jq -c .cluster "out$index")" = '{"worker":["10.0.0.0:8470","10.0.0.1:8470","10.0.0.2:8470","10.0.0.3:8470"]}' ]
    [ "$(jq -c .task.index "out$index")" = "$index" ]
  done
}

@test "--watch survives a server that is killed and started again" {
  run_worker a 10.0.0.1
  timeout 300 tfd-resolve kubernetes --selector worker=job-name=a --watch --get cluster.worker >out 2>err 3>&- &
  PIDS+=($!)
  kubernetes_wait 20 grep -q 10.0.0.1 out
  run_worker b 10.0.0.2
  kubernetes_wait 20 grep -q 10.0.0.2 out
  apiserver_stop "$BED"
  kubernetes_wait 30 grep -q "watching again" err
  apiserver_start "$BED"
  kubernetes_wait 60 run_worker c 10.0.0.3
  kubernetes_wait 60 grep -q 10.0.0.3 out
  delete_pod a
  kubernetes_wait 30 grep -qx '\["10.0.0.2:8470", "10.0.0.3:8470"\]' out
  [ "$(head -n 2 out)" = '["10.0.0.1:8470"]
["10.0.0.1:8470", "10.0.0.2:8470"]' ]
  kill -0 "${PIDS[0]}"
}

@test "--watch survives a resource version that is too old" {
  run_worker a 10.0.0.1
  timeout 300 tfd-resolve kubernetes --selector worker=job-name=a --watch -v --get cluster.worker >out 2>err 3>&- &
  PIDS+=($!)
  kubernetes_wait 20 grep -q 10.0.0.1 out
  # While the server is away, a pod appears in etcd's history and the history is compacted: what it forgot can't be
  # watched from. The pod is copied within etcd, for nobody else can write.
  apiserver_stop "$BED"
  export ETCDCTL_API=3
  etcd_ctl() { etcdctl --endpoints "http://127.0.0.1:$ETCD_PORT" "$@"; }
  etcd_ctl del /registry/pods/train/a >/dev/null
  revision=$(etcd_ctl get / --prefix --keys-only --limit 1 -w json | jq .header.revision)
  etcd_ctl compact "$revision" >/dev/null
  apiserver_start "$BED"
  kubernetes_wait 60 run_worker b 10.0.0.2
  kubernetes_wait 60 grep -qx '\["10.0.0.2:8470"\]' out
  grep -q "too old" err
}

@test "the manifests of examples/kubernetes are accepted, each field of them" {
  local file document kind
  for file in "$TFD_SOURCE"/examples/kubernetes/*.yaml; do
    awk -v name="${file##*/}" '/^---$/ { n++; next } { print >(name "." n + 0) }' "$file"
  done
  for document in *.yaml.*; do
    kind=$(sed -n 's/^kind: //p' "$document")
    case $kind in
      Job) set -- apis/batch/v1 ;;
      StatefulSet) set -- apis/apps/v1 ;;
      Role*) set -- apis/rbac.authorization.k8s.io/v1 ;;
      *) set -- api/v1 ;;
    esac
    curl -sS --fail-with-body --max-time 30 --cacert "$BED/certs/apiserver.crt" -H 'Authorization: Bearer admin-token' \
      -H 'Content-Type: application/yaml' --data-binary "@$document" \
      "https://127.0.0.1:$API_PORT/$1/namespaces/train/${kind,,}s?dryRun=All&fieldValidation=Strict" >answer || { echo "$document"; cat answer; return 1; }
  done
}

@test "the examples of the man page run" {
  uid=$(put_job train 4)
  for index in 0 1 2 3; do
    put_indexed train "$uid" "$index"
    run_pod "train-$index-x" "10.0.0.$index"
  done
  for role in worker ps; do
    pod_object "$role-0" "$(labels app=$role)" | jq --arg role "$role" '.spec += {hostname: .metadata.name, subdomain: $role}' >pod.json
    api POST /api/v1/namespaces/train/pods @pod.json >/dev/null
    run_pod "$role-0" "10.0.1.${#role}"
  done
  local words
  mapfile -t words < <(awk '/^```$/ { line = NR } $0 == "# needs: kubernetes" && NR == line + 1 { print "tfd-resolve-kubernetes.1.scd:" line }' \
    "$TFD_SOURCE/man/tfd-resolve-kubernetes.1.scd")
  [ ${#words[@]} -ge 4 ]
  TFD_HAVE_KUBERNETES=1 run "$TFD_SOURCE/tests/dist/run-examples.sh" "${words[@]}"
  echo "$output"
  [ "$status" = 0 ]
  [ "$(grep -c '^ok' <<<"$output")" = ${#words[@]} ]
}
