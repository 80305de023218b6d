# SPDX-License-Identifier: Apache-2.0
# A real etcd and a real kube-apiserver on 127.0.0.1, all in a folder of their own. There is no kubelet and no controller:
# pods are made by hand and their status is set by hand. Needs root or not, etcd, openssl, curl, jq, and Go for the first
# build of kube-apiserver (apiserver/build.sh). Sourced by kubernetes.bats.
#
#   APISERVER               what apiserver/build.sh built
#   kubernetes_up DIR       starts both, $KUBECONFIG is the administrator's
#   api METHOD PATH [BODY]  asks as administrator
#   put_pod NAME LABELS [OWNER-KIND OWNER-NAME], run_pod NAME IP, end_pod NAME PHASE
#   apiserver_stop DIR, apiserver_start DIR, kubernetes_down DIR

kubernetes_missing() {  # prints missing parts, nothing if all are present
  local here=$1 program binary
  for program in etcd etcdctl openssl curl jq python3; do
    command -v "$program" >/dev/null || { echo "no $program (apt-get install etcd-server etcd-client openssl curl jq)"; return; }
  done
  binary=$("$here/apiserver/build.sh" --path)
  [ -x "$binary" ] && return
  # The build takes many minutes: not what CI should do.
  [ -z "${CI:-}" ] || { echo "no kube-apiserver in the cache, and CI doesn't build it"; return; }
  [ "$(id -u)" = 0 ] || { echo "no kube-apiserver in the cache, and not root"; return; }
  command -v go >/dev/null || [ -x /usr/local/go/bin/go ] || echo "no kube-apiserver in the cache, and no Go to build it"
}

kubernetes_wait() {  # SECONDS COMMAND…: until the command succeeds
  local deadline=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || { echo "timeout: $*" >&2; return 1; }
    read -rt 0.2 <> <(:) || :
  done
}

kubernetes_ports() {  # COUNT: ports that nobody listens on now
  python3 -c '
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in held])' "$1"
}

kubernetes_up() {
  local dir=$1 peer
  read -r ETCD_PORT peer API_PORT <<<"$(kubernetes_ports 3)"
  export ETCD_PORT API_PORT
  echo "$ETCD_PORT $API_PORT" >"$dir/ports"
  etcd --data-dir "$dir/etcd" --listen-client-urls "http://127.0.0.1:$ETCD_PORT" \
    --advertise-client-urls "http://127.0.0.1:$ETCD_PORT" --listen-peer-urls "http://127.0.0.1:$peer" \
    --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "default=http://127.0.0.1:$peer" \
    --unsafe-no-fsync >"$dir/etcd.log" 2>&1 </dev/null 3>&- &
  echo $! >"$dir/etcd.pid"
  kubernetes_wait 30 curl -sf "http://127.0.0.1:$ETCD_PORT/health"

  openssl genrsa -out "$dir/sa.key" 2048 2>/dev/null
  printf '%s\n' 'admin-token,admin,1,system:masters' 'nobody-token,nobody,2,' 'lister-token,lister,3,' \
    >"$dir/tokens.csv"
  mkdir -p "$dir/certs"
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=clients -keyout "$dir/clients.key" -out "$dir/clients.crt" 2>/dev/null
  apiserver_start "$dir"
  write_kubeconfig "$dir/admin.conf" admin-token "$dir/certs/apiserver.crt"
  export KUBECONFIG=$dir/admin.conf
  kubernetes_wait 60 api POST /api/v1/namespaces '{"metadata": {"name": "train"}}'
}

apiserver_start() {  # DIR: until it says that it is ready
  local dir=$1
  "$APISERVER" --etcd-servers="http://127.0.0.1:$ETCD_PORT" --secure-port="$API_PORT" --bind-address=127.0.0.1 \
    --cert-dir="$dir/certs" --service-account-key-file="$dir/sa.key" --service-account-signing-key-file="$dir/sa.key" \
    --service-account-issuer=https://kubernetes.default.svc --token-auth-file="$dir/tokens.csv" --client-ca-file="$dir/clients.crt" \
    --authorization-mode=RBAC --disable-admission-plugins=ServiceAccount --service-cluster-ip-range=10.96.0.0/16 \
    >>"$dir/apiserver.log" 2>&1 </dev/null 3>&- &
  echo $! >"$dir/apiserver.pid"
  disown  # nobody wants to be told how it ended
  kubernetes_wait 120 curl -sf --cacert "$dir/certs/apiserver.crt" -H 'Authorization: Bearer admin-token' \
    "https://127.0.0.1:$API_PORT/readyz"
}

apiserver_stop() {  # DIR
  local pid
  pid=$(cat "$1/apiserver.pid")
  kill -9 "$pid" 2>/dev/null || :  # as a crash: connections are cut
  kubernetes_wait 10 kubernetes_gone "$pid"
}

kubernetes_gone() { ! kill -0 "$1" 2>/dev/null; }

kubernetes_down() {
  local file pid
  for file in "$1/apiserver.pid" "$1/etcd.pid"; do
    [ -s "$file" ] || continue
    pid=$(cat "$file")
    kill "$pid" 2>/dev/null || continue
    kubernetes_wait 10 kubernetes_gone "$pid" || kill -9 "$pid" 2>/dev/null || :
  done
}

write_kubeconfig() {  # FILE TOKEN CA-FILE
  cat >"$1" <<YAML
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: c, user: u, namespace: train}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:$API_PORT", certificate-authority: "$3"}}]
users: [{name: u, user: {token: $2}}]
YAML
}

client_certificate() {  # DIR NAME USER: NAME.key and NAME.crt in the current folder, signed by the server's authority
  openssl req -newkey rsa:2048 -nodes -subj "/CN=$3" -keyout "$2.key" -out "$2.csr" 2>/dev/null
  openssl x509 -req -in "$2.csr" -CA "$1/clients.crt" -CAkey "$1/clients.key" -CAcreateserial -days 1 -out "$2.crt" 2>/dev/null
}

api() {  # METHOD PATH [BODY]: the answer; fails on 4xx and 5xx
  local type=application/json
  [ "$1" != PATCH ] || type=application/merge-patch+json
  curl -sS --fail-with-body --max-time 30 --cacert "$BED/certs/apiserver.crt" -H 'Authorization: Bearer admin-token' \
    -H "Content-Type: $type" -X "$1" ${3:+--data-binary "$3"} "https://127.0.0.1:$API_PORT$2"
}

pod_object() {  # NAME LABELS-JSON [OWNER-KIND OWNER-NAME OWNER-UID [HOSTNAME]]
  jq -nc --arg name "$1" --argjson labels "$2" --arg kind "${3:-}" --arg owner "${4:-}" --arg uid "${5:-}" --arg host "${6:-}" '{
    metadata: ({name: $name, labels: $labels} + (if $kind == "" then {} else {ownerReferences: [
      {apiVersion: "batch/v1", kind: $kind, name: $owner, uid: $uid, controller: true}]} end)),
    spec: ({nodeName: "n1", containers: [{name: "c", image: "i"}]} + (if $host == "" then {} else {hostname: $host} end))}'
}

put_pod() {  # NAME LABELS-JSON […]: pending, for nobody starts it
  api POST /api/v1/namespaces/train/pods "$(pod_object "$@")" >/dev/null
}

run_pod() {  # NAME IP
  api PATCH "/api/v1/namespaces/train/pods/$1/status" "$(jq -nc --arg ip "$2" \
    '{status: {phase: "Running", podIP: $ip, podIPs: [{ip: $ip}], hostIP: "192.168.0.1", hostIPs: [{ip: "192.168.0.1"}]}}')" >/dev/null
}

end_pod() {  # NAME PHASE
  api PATCH "/api/v1/namespaces/train/pods/$1/status" "{\"status\": {\"phase\": \"$2\"}}" >/dev/null
}

delete_pod() { api DELETE "/api/v1/namespaces/train/pods/$1?gracePeriodSeconds=0" >/dev/null; }
