#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# --http: the page of tfd-serve, tfd-coordinate and tfd-run, while they work.

load http
setup() {
  RUNS=()
  coordinate_setup
}
teardown() { run_teardown; }

# tfd-run ARGS… in the background: RUN is its process, PAGE its page; events go to run.events, its talk to run.talk.
run_with_page() {
  env --default-signal=INT tfd-run "$@" --http "${HTTP:-0}" <&0 >run.events 2>run.talk 5>&- 6>&- 7>&- 8>&- &
  RUN=$!
  RUNS+=("$RUN")
  page_in run.talk
}

LONG='{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 100000}}'

@test "http: tfd-run shows its training, is ready once it has begun, and its page ends with it" {
  counting_program "$LONG"
  run_with_page program.json
  [[ $PAGE =~ ^http://127\.0\.0\.1:[0-9]+/$ ]]
  until_status /readyz 200
  [ "$(get /livez)" = "$(printf '200\nok')" ]
  until_shown '.training | .step > 0 and .steps == 100000000 and .checkpoint_step > 0 and .steps_per_second > 0 and .seconds_left > 0
    and (.curves.train.loss | length > 2) and .metrics.loss > 0'
  body /status.json | jq -e '.tool == "tfd-run" and .tasks == [] and .waits_for == ""'
  kill -TERM "$RUN"
  run_ends "$RUN" 75
  run ! get /livez
}

@test "http: Prometheus reads the metrics of a training" {
  counting_program "$LONG"
  run_with_page program.json
  until_shown '.training.checkpoint_step > 0 and .training.steps_per_second > 0'
  get --headers /metrics | grep -qxi 'content-type: text/plain; version=0.0.4; charset=utf-8'
  parsed_metrics >parsed
  for line in 'tfd_ready 1.0' 'gauge tfd_step' 'tfd_steps_planned 100000000.0' 'counter tfd_checkpoints' 'gauge tfd_remaining_seconds' \
    'counter tfd_process_cpu_seconds' 'gauge tfd_process_resident_memory_bytes' 'gauge tfd_checkpoint_step' 'tfd_workers_lost_total 0.0' 'tfd_servers_lost_total 0.0'; do
    grep -qxF "$line" parsed || { echo "no $line"; cat parsed; false; }
  done
  grep -Eqx 'tfd_train_metric metric=loss [0-9.e+]+' parsed
}

@test "http: the pages of tfd-serve and tfd-coordinate show the same tasks" {
  counting_program "$LONG"
  launch --jobs worker=2,ps=2 --http 0 --output spec.json
  said 'tfd-serve: the page is at (http://127.0.0.1:[0-9]+/)'
  PAGE=${BASH_REMATCH[1]}
  until_status /readyz 200
  [ "$(jq -c '[.tasks[].task]' <<<"$(body /status.json)")" = '["worker:0","worker:1","ps:0","ps:1"]' ] || until_shown '.tasks | length == 4'
  until_shown '.tasks | all(.state == "up")'
  served=$PAGE
  coordinate program.json --cluster spec.json --http '[::1]:0' --keep-servers
  page_in talk
  [[ $PAGE =~ ^http://\[::1\]:[0-9]+/$ ]]
  until_status /readyz 200
  until_shown '.training.step > 0 and (.tasks | length == 4) and ([.tasks[] | select(.role == "worker") | .closures_done] | min > 0)'
  parsed_metrics >parsed
  for task in worker:0 worker:1 ps:0 ps:1; do
    grep -qxF "tfd_task_up task=$task 1.0" parsed
    grep -qxF "tfd_task_state state=up task=$task 1.0" parsed
    grep -qE "^tfd_task_resident_memory_bytes task=$task [0-9.e+]+$" parsed
  done
  grep -Eqx 'tfd_task_closures_total task=worker:0 [1-9][0-9.e+]*' parsed
  coordinator=$PAGE PAGE=$served
  until_shown '.training.step > 0 and .training.steps == 100000000'  # as its tasks tell it
  # A task that is gone is named, and its supervisor isn't ready until it is back.
  kill -STOP "$(task_pid worker:1)"
  until_status /readyz 503
  [[ "$(body /readyz)" == "waits for worker:1 ("* ]]
  kill -KILL "$(task_pid worker:1)"
  until_status /readyz 200
  until_shown '[.said[].text] | any(contains("worker:1 died of signal 9"))'
  PAGE=$coordinator
  until_shown '[.said[].text] | any(contains("worker:1 lost"))'
  grep -qxF 'tfd_workers_lost_total 1.0' <(parsed_metrics)
  # A training that has died has an age in place of a rate.
  PAGE=$served
  until_shown '.training | .steps_per_second > 0 and .seconds_silent == null'
  kill -KILL "$COORDINATOR"
  coordinator_ends 137
  until_shown '.training | .step > 0 and .seconds_silent > 5 and .steps_per_second == null and .seconds_left == null'
  run ! grep -Eq '^tfd_(steps_per_second|remaining_seconds) ' <(parsed_metrics)
}

@test "http: not ready before the spec, the tasks and their servers are there, and it says so" {
  counting_program '{"function": "count", "steps": 10}'
  mkfifo spec
  exec 9<>spec
  env --default-signal=INT tfd-coordinate program.json --http 0 <spec >"$T/events" 2>"$T/talk" 5>&- 6>&- 7>&- 8>&- 9>&- &
  COORDINATOR=$!
  page_in talk
  [ "$(get /readyz)" = "$(printf "503\nwaits for the cluster's spec")" ]
  [ "$(get /livez)" = "$(printf '200\nok')" ]
  read -r w0 p0 <<<"$(ports 2)"
  echo "{\"cluster\": {\"worker\": [\"127.0.0.1:$w0\"], \"ps\": [\"127.0.0.1:$p0\", \"127.0.0.1:$p0\"]}}" | sed "s/, \"127.0.0.1:$p0\"//" >&9
  until_shown '.waits_for | contains("worker:0 (") and contains("ps:0 (")'
  [[ "$(body /readyz)" == "waits for the tasks: worker:0 ("* ]]
  parsed_metrics | grep -qxF 'tfd_ready 0.0'
  kill -KILL "$COORDINATOR"
  ends "$COORDINATOR"
  COORDINATOR=
  # tfd-serve, whose task takes its time.
  mkfifo go
  exec 5<>go
  fake_task 'read -r line <go; ready; read -r line <go'
  launch --task-program "$T/fake-task" --jobs worker=1 --http 0 --output spec.json
  said 'the page is at (http:.*)'
  PAGE=${BASH_REMATCH[1]}
  [ "$(status_of /readyz)" = 503 ]
  [[ "$(body /readyz)" == "waits for the tasks"* ]]
  echo go >&5
  until [ -e spec.json ]; do :; done
  kill -TERM "$SERVE"
  serve_ends 0
}

@test "http: other paths, methods and hosts are refused, and every answer says what a browser may do" {
  counting_program "$LONG"
  run_with_page program.json
  for path in /favicon.ico /etc/passwd /../../etc/passwd /livez/ /status.json/x '/%2e%2e/'; do [ "$(status_of "$path")" = 404 ]; done
  [ "$(status_of '/livez?verbose')" = 200 ]
  for method in POST PUT DELETE PATCH OPTIONS TRACE; do [ "$(status_of / "$method")" = 405 ]; done
  [ "$(get / HEAD)" = 200 ]
  for host in evil.example evil.example:80 127.0.0.1.evil.example 'localhost.evil.example'; do [ "$(status_of /status.json GET "$host")" = 403 ]; done
  for host in localhost localhost:1234 '[::1]' 127.0.0.1; do [ "$(status_of /status.json GET "$host")" = 200 ]; done
  get --headers / | tr A-Z a-z >headers
  for line in 'x-content-type-options: nosniff' 'cache-control: no-store' 'content-type: text/html; charset=utf-8'; do grep -qxF "$line" headers; done
  grep -q "^content-security-policy: default-src 'none'; script-src 'sha256-" headers
  run ! grep -Eq '(src|href)="?(https?:)?//' <(body /)
}

@test "http: a port that is taken is 71 with its owner, and what is no address 64" {
  counting_program '{"function": "count", "steps": 1000000000}'
  run_with_page program.json
  port=${PAGE%/} port=${port##*:}
  run -71 --separate-stderr timeout 60 tfd-run -q program.json --http "$port"
  [ "$stderr" = "tfd-run: --http: cannot bind 127.0.0.1:$port: address already in use (tfd-run, process $RUN)" ]
  run -71 --separate-stderr timeout 60 tfd-serve -q --jobs worker=1 --http "localhost:$port"
  [[ $stderr == "tfd-serve: --http: cannot bind 127.0.0.1:$port: address already in use (tfd-run, process $RUN)" ]]
  run -64 --separate-stderr timeout 60 tfd-run program.json --http 70000
  [[ $stderr == "tfd-run: --http: port 70000 out of range"* ]]
  run -64 --separate-stderr timeout 60 tfd-run program.json --http nonsense
  run -64 --separate-stderr timeout 60 tfd-run program.json --http 192.0.2.1:0
  [[ $stderr == *"'192.0.2.1' is not an address of this host"* ]]
  # A name of loopback's doesn't open it to other hosts.
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/linear/program.json" --set train.steps=1 --http 127.1:0 </dev/null
  [[ $stderr == *"the page is at http://127.0.0.1:"* ]]
}

@test "http: clients that flood, stall and send a megabyte of headers neither hold up the training nor change its bits" {
  local digits=("$EXAMPLES/digits/program.json" --set 'datasets.train[1].shuffle.seed=7' --set train.steps=30000 --set train.log_every=10)
  run -0 --separate-stderr timeout 120 tfd-run -q "${digits[@]}" --set train.checkpoint.dir="$T/quiet"
  run_with_page "${digits[@]}" --set train.checkpoint.dir="$T/loud"
  python3 - "$PAGE" <<'PY'
import resource, socket, sys, time, urllib.parse, urllib.request
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
place = urllib.parse.urlsplit(sys.argv[1])
def connect():
    return socket.create_connection((place.hostname, place.port), timeout=30)
def ask(path):
    return urllib.request.urlopen(sys.argv[1] + path, timeout=30).status
idle = [connect() for _ in range(1000)]
for i, one in enumerate(idle):
    try:
        one.send(b"GET /status.json HTTP/1.1\r\nHost: localh" if i % 2 else b"\x16\x03\x01 nonsense")
    except OSError:
        pass  # dropped for a newer one
assert ask("livez") == 200
large = connect()
try:
    large.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * (1 << 20) + b"\r\n\r\n")
    assert b" 200 " not in large.recv(100)
except OSError:
    pass
slow = connect()
slow.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")  # never read
for _ in range(50):
    assert ask("metrics") == 200 and ask("status.json") == 200
PY
  run_ends "$RUN" 0
  jq -se 'map(select(.event == "step")) | length == 3000' run.events
  # But for the header, which has the run's name.
  python3 -c '
import struct, sys
quiet, loud = (open(f"{folder}/step-00030000.safetensors", "rb").read() for folder in ("quiet", "loud"))
tensors = lambda data: data[8 + struct.unpack("<Q", data[:8])[0]:]
assert len(tensors(quiet)) > 50_000 and tensors(quiet) == tensors(loud)'
}

@test "http: pages have neither the key nor the environment, and children don't have its socket" {
  counting_program "$LONG"
  tfd-serve -q --generate-key --key-file key
  export SECRET_OF_MINE=leaked-by-a-page TFD_KEY_FILE=$T/key
  launch --jobs worker=1,ps=2 --http 0 --output spec.json -v
  said 'the page is at (http:.*)'
  PAGE=${BASH_REMATCH[1]}
  until_shown '.tasks | length == 3 and all(.state == "up")'  # asked under the key
  port=$(printf '%04X' "$(sed 's,.*:\([0-9]*\)/,\1,' <<<"$PAGE")")
  inode=$(awk -v at=":$port" '$2 ~ at && $4 == "0A" { print $10 }' /proc/net/tcp)
  [ "$(find /proc/[0-9]*/fd -lname "socket:\[$inode\]" 2>/dev/null | grep -c .)" = 1 ]
  served=$PAGE
  coordinate program.json --cluster spec.json --http 0 -v
  page_in talk
  until_shown '.training.step > 0 and (.tasks | length == 3)'
  for PAGE in "$PAGE" "$served"; do
    for path in / /metrics /status.json /readyz /livez; do get --headers "$path"; done
  done >pages
  [ "$(grep -c tfd-serve pages)" -gt 0 ]
  for secret in leaked-by-a-page $(grep -v '^#' key | tr -d '",' | tr ' =:' '\n\n\n' | grep -E '.{20}'); do run ! grep -qF "$secret" pages; done
  kill -TERM "$COORDINATOR"
  coordinator_ends 75
}

@test "http: what programs name is text for browsers and Prometheus" {
  counting_program "$LONG"
  jq '.functions.count.outputs[0].metric = "<img src=x onerror=alert(1)>\"\\ \u00fc"' program.json >hostile.json
  run_with_page hostile.json
  until_shown '.training.curves.train | length > 0'
  body /status.json | jq -e '.training.metrics | keys == ["<img src=x onerror=alert(1)>\"\\ \u00fc"]'
  grep -qF 'tfd_train_metric metric=<img src=x onerror=alert(1)>"\ ü ' <(parsed_metrics)
  command -v chromium >/dev/null || skip "there is no chromium"
  timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$T/chromium" --virtual-time-budget=3000 --dump-dom "$PAGE" >dom 2>/dev/null ||
    skip "chromium doesn't run here"
  grep -qF '<dt>&lt;img src=x onerror=alert(1)&gt;' dom
  run ! grep -q '<img' dom
}

@test "http: numbers on the page have four digits, and those of 1000 and more separators" {
  command -v node >/dev/null || skip "there is no node"
  run -0 node -e "$(sed -n '/^const number = /,/;$/p' "$TFD_SOURCE/tools/http/page.html")
    console.log([20731, 20731.3, 312660.03, 1234567.8, 0.25, 3.14159, 0, -0.00001, null].map(number).join(' '))"
  [ "$output" = "20,731 20,730 312,700 1.23e+6 0.25 3.142 0 -1.00e-5 not a number" ]
}

@test "http: each worker of a group has a page of its own; the chief's shows all" {
  counting_program "$LONG"
  SPEC="{\"cluster\": {\"worker\": [$(ports 2 | sed -E 's/([0-9]+)/"127.0.0.1:\1"/g; s/ /, /g')]}}"
  printf '%s\n' "$SPEC" >cluster.json
  worker worker:1 program.json --strategy multi-worker-mirrored --http 0
  page_in worker:1.talk
  other=$PAGE
  [[ "$(body /readyz)" == "waits for the tasks"* ]]
  worker worker:0 program.json --strategy multi-worker-mirrored --http 0
  page_in worker:0.talk
  until_shown '.training.step > 0 and (.tasks | map(.task) == ["worker:0", "worker:1"] and all(.group.step > 0))'
  grep -Eqx 'tfd_task_generation task=worker:1 [0-9.]+' <(parsed_metrics)
  PAGE=$other
  until_shown '.training.step > 0 and (.tasks | map(.task) == ["worker:1"])'
  until_status /readyz 200
  kill -TERM "${RUNS[@]}"
  ends "${RUNS[@]}"
}

@test "http: a task that becomes tfd-serve hands it --http; two processes of tfd-launch have ports of their own by 0" {
  counting_program '{"function": "count", "steps": 20}'
  read -r w0 p0 <<<"$(ports 2)"
  TF_CONFIG="{\"cluster\": {\"chief\": [\"127.0.0.1:1\"], \"worker\": [\"127.0.0.1:$w0\"], \"ps\": [\"127.0.0.1:$p0\"]}, \"task\": {\"type\": \"ps\", \"index\": 0}}" \
    tfd-coordinate program.json --by-role --http 0 >served 2>talk 5>&- 6>&- 7>&- 8>&- &
  RUNS+=($!)
  page_in talk
  grep -q '^tfd-serve: the page is at' talk
  until_shown '.tool == "tfd-serve" and (.tasks | map([.task, .state]) == [["ps:0", "up"]])'
  kill -TERM "${RUNS[0]}"
  run -0 timeout 120 tfd-launch -n 2 -- tfd-run program.json --strategy multi-worker-mirrored --http 0
  [ "$(grep -c 'tfd-run: the page is at http://127' <<<"$output")" = 2 ]
}

@test "http: closures, functions and an evaluation have a page, too" {
  counting_program '{"function": "count", "steps": 10}'
  serve --jobs worker=1,ps=2
  mkfifo closures
  exec 9<>closures
  env --default-signal=INT tfd-coordinate program.json --cluster spec.json --closures - --http 0 <closures >out 2>talk 5>&- 6>&- 7>&- 8>&- 9>&- &
  COORDINATOR=$!
  page_in talk
  until_status /readyz 200
  until_shown '.training == null and (.tasks | length == 3)'
  kill -KILL "$COORDINATOR"
  ends "$COORDINATOR"
  COORDINATOR=
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" --set train.steps=20 --set train.checkpoint.dir="$T/ck" --http 0
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" --set train.checkpoint.dir="$T/ck" --evaluate --http 0
  [[ $stderr == "tfd-run: the page is at http://127.0.0.1:"* ]]
}

@test "http: without it no server is loaded" {
  for tool in run serve coordinate; do run ! grep -q microhttpd <(ldd "$(command -v "tfd-$tool")"); done
}
