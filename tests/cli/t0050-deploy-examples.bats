#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The commands of examples/kubernetes, ci and systemd run, here by themselves: pods are processes of this host. The real API server
# reads the manifests in cluster/kubernetes, and the real Slurm runs the scripts of examples/slurm in cluster/slurm-examples.

load run
setup() { coordinate_setup; }
teardown() {
  local pid
  for pid in "${PODS[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  run_teardown
}

# The documents of a YAML file as JSON, one a line.
yaml() { # FILE
  local python
  for python in python3 /usr/bin/python3; do
    ! "$python" -c 'import yaml' 2>/dev/null || break
    python=
  done
  [ -n "$python" ] || skip "no python3-yaml here"
  "$python" -c 'import json, sys, yaml
for document in yaml.load_all(open(sys.argv[1]), yaml.BaseLoader): print(json.dumps(document))' "$1"
}

# The container of a workload, as one of its pods has it: names are addresses of this host, directories this test's, and
# $(NAME) is replaced by what comes after.
container() { # FILE KIND [NAME=VALUE…]
  local kind=$2 file=$1 pair text
  text=$(yaml "$EXAMPLES/kubernetes/$file" | jq -c --arg kind "$kind" 'select(.kind == $kind).spec.template.spec.containers[0]')
  shift 2
  for pair in "$@"; do text=${text//"\$(${pair%%=*})"/"${pair#*=}"}; done
  sed -E "s|(train-0\.train):29400|127.0.0.1:$PORT|; s|ps-0\.ps:8470|127.0.0.1:$PORT|; s|0\.0\.0\.0:8080|127.0.0.1:$HTTP|; s|/key/key|$T/key|; s|/train/|$T/|g" <<<"$text"
}

# Turns its command into the shell's words, WORDS; exports its environment.
become() { # CONTAINER
  mapfile -t WORDS < <(jq -r '.command[], .args[]?' <<<"$1")
  while IFS= read -r pair; do export "${pair?}"; done < <(jq -r '.env[] | select(.value) | "\(.name)=\(.value)"' <<<"$1")
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

@test "examples/kubernetes: what manifests refer to is there, in one of them" {
  local file
  for file in "$EXAMPLES"/kubernetes/*.yaml; do yaml "$file"; done >all
  jq -es '
    def workloads: .[] | select(.spec.template) | .spec.template.spec;
    (map("\(.kind) \(.metadata.name)") + ["Secret tfd-key"]) as $there
    | [workloads | (.volumes[] | (.secret | select(.) | "Secret \(.secretName)"), (.persistentVolumeClaim | select(.) | "PersistentVolumeClaim \(.claimName)")),
        (.subdomain | select(.) | "Service \(.)"), (.serviceAccountName | select(.) | "ServiceAccount \(.)"),
        (. as $pod | .containers[].volumeMounts[].name | select(. as $name | $pod.volumes | all(.name != $name)) | "volume \(.)")]
      + [.[] | select(.kind == "StatefulSet") | "Service \(.spec.serviceName)"] - $there
    | if . == [] then true else (., halt_error) end' all
}

@test "examples/kubernetes: the pods of the Indexed Job train together" {
  PORT=$(free_port) PODS=()
  tfd-serve -q --generate-key --key-file key
  ln -s "$EXAMPLES/digits" digits
  become "$(container workers.yaml Job)"
  local i pid code
  for i in 0 1 2 3; do
    "${WORDS[@]}" --set train.steps=100 --set "train.checkpoint.dir=$T/ck" >"$i.out" 2>"$i.err" 3>&- &
    PODS+=($!)
  done
  for pid in "${PODS[@]}"; do
    code=0
    wait "$pid" || code=$?
    [ "$code" = 0 ] || { cat ./*.err; return 1; }
  done
  cat ./*.out | sed 's/^worker:[0-9]*: //' | jq -es 'any(.[]; .event == "start" and .workers == 4) and any(.[]; .event == "end" and .step == 100)'
}

@test "examples/kubernetes: a parameter server serves, and its probes say when" {
  PORT=$(free_port) HTTP=$(free_port) PODS=()
  tfd-serve -q --generate-key --key-file key
  local text probe i
  text=$(container parameter-servers.yaml StatefulSet INDEX=0)
  become "$text"
  export INDEX=0
  TF_CONFIG=$(jq -c '.cluster.ps[1] = "127.0.0.1:1"' <<<"$TF_CONFIG")  # the other pod
  run ! probe_of startupProbe
  "${WORDS[@]}" >served 2>talk 3>&- &
  PODS+=($!)
  until_true probe_of startupProbe
  probe_of readinessProbe
  probe_of livenessProbe
  kill -TERM "${PODS[0]}"
  wait "${PODS[0]}"
  run ! probe_of readinessProbe
}

# As kubelet does: GET, at the port of this name.
probe_of() { # KIND
  curl -sf "http://127.0.0.1:$HTTP$(jq -r --arg kind "$1" '. as $all | .[$kind].httpGet | .port as $port
    | select($all.ports | any(.name == $port)).path' <<<"$text")" >/dev/null
}

@test "examples/ci: each line of the workflow runs, but for what it downloads" {
  command -v pytest >/dev/null || { mkdir bin && stand_in >bin/pytest && chmod +x bin/pytest && PATH=$PWD/bin:$PATH; }
  yaml "$EXAMPLES/ci/train.yml" | jq -r '.jobs[].steps[].run | select(. and (startswith("pip install") | not)) | @base64' >steps
  [ "$(wc -l <steps)" = 3 ]
  cp "$EXAMPLES/ci/test_training.py" .
  local step
  while read -r step; do
    timeout 120 bash -eo pipefail -c "$(base64 -d <<<"$step")" >log 2>&1 </dev/null || { base64 -d <<<"$step"; cat log; return 1; }
  done <steps
}

# Does of pytest what these tests need.
stand_in() {
  echo "#!$(command -v python3)"
  cat <<'PYTHON'
import inspect, os, pathlib, sys, tempfile
sys.path.insert(0, os.getcwd())
import test_training
for name, test in list(vars(test_training).items()):
    if name.startswith("test_"):
        with tempfile.TemporaryDirectory() as directory:
            test(*[pathlib.Path(directory)] * len(inspect.signature(test).parameters))
PYTHON
}

@test "examples/systemd: the unit is one, and its line serves the task" {
  local unit=$EXAMPLES/systemd/tfd-serve@.service line
  if command -v systemd-analyze >/dev/null; then
    sed "s|/usr/bin/|$TFD_BUILD/tools/|" "$unit" >tfd-serve@.service
    run systemd-analyze --man=no verify "$PWD/tfd-serve@.service"
    [ "$status$output" = 0 ]
  fi
  tfd-serve -q --generate-key --key-file key
  # Names of hosts are this one, and the port is any.
  jq -c '.cluster = {ps: ["127.0.0.1:0"], worker: ["127.0.0.1:1"]}' "$EXAMPLES/systemd/cluster.json" >cluster.json
  line=$(sed -n 's|^ExecStart=/usr/bin/||p' "$unit" | sed "s|/etc/tfd|$T|g; s|%i|ps:0|")
  read -ra WORDS <<<"$line"
  [ "${WORDS[0]}" = tfd-serve ]
  serve "${WORDS[@]:1}"
  run -0 tfd-status --cluster spec.json --key-file key --task ps:0 --timeout 10s
  [[ $output == *ps:0* ]]
}
