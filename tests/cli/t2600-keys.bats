#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The key of a cluster: made once, found by servers and clients, and nobody without it gets anything.

load serve.bash

setup() {
  serve_setup
  cd "$T" || return 1
  export HOME=$T/home TMPDIR=$T
  unset XDG_CONFIG_HOME XDG_RUNTIME_DIR
  mkdir home
}
teardown() { serve_teardown; }

# The address of this host where others reach it.
own_address() {
  local address
  for address in $(hostname -I); do
    case $address in 127.* | *:*) ;; *) echo "$address"; return 0 ;; esac
  done
  skip "no address but loopback's"
}

# The halves of a key, for grep.
halves() { sed -n 's/^\(public\|secret\) //p' "$1"; }

@test "keys: --generate-key makes one where it is looked for, private, and never overwrites it" {
  run -0 --separate-stderr tfd-serve --generate-key
  [ "$output" = "" ]
  [ "$stderr" = "tfd-serve: wrote the key file $HOME/.config/tfd/key" ]
  [ "$(stat -c %a home/.config/tfd/key home/.config/tfd home/.config)" = $'600\n700\n700' ]
  cp home/.config/tfd/key before
  run -65 --separate-stderr tfd-serve --generate-key
  [ "$stderr" = "tfd-serve: $HOME/.config/tfd/key already exists; not overwriting it (the cluster that uses it would be locked out)" ]
  cmp before home/.config/tfd/key
  XDG_CONFIG_HOME=$T/xdg run -0 tfd-serve -q --generate-key
  [ -f xdg/tfd/key ]
  TFD_KEY_FILE=$T/by-variable run -0 tfd-serve -q --generate-key
  [ "$(stat -c %a by-variable)" = 600 ]
  run -0 tfd-serve -q --generate-key --key-file by-option
  [ "$output" = "" ]
  [ -f by-option ]
  run -1 cmp -s by-option by-variable
  run -78 env -u HOME tfd-serve --generate-key
  run -65 --separate-stderr tfd-serve --generate-key --key-file no/such/key
  [[ $stderr == "tfd-serve: cannot create the key file no/such/key: no such file or directory" ]]
  run -64 tfd-serve --generate-key -- true
}

@test "keys: --generate-key prints one for whoever keeps it elsewhere, as in a Secret" {
  tfd-serve --generate-key --key-file - >printed
  [ "$(head -1 printed)" = tfd-key-2 ]
  chmod 600 printed
  serve --jobs worker=1 --key-file printed
  run -0 tfd-status --cluster spec.json
  [ ! -e home/.config ]
}

@test "keys: off loopback with one; other hosts need it, and hear why" {
  address=$(own_address)
  echo "{\"cluster\": {\"worker\": [\"$address:0\"], \"ps\": [\"$address:0\"]}}" >spec.in
  run -77 --separate-stderr timeout 20 tfd-serve --cluster spec.in
  [ "$stderr" = "tfd-serve: ps:0 would listen on $address:0, where other hosts can connect
hint: use --insecure if you trust all of them; otherwise make a key with tfd-serve --generate-key" ] ||
    [[ $stderr == "tfd-serve: worker:0 would listen on $address:0, where other hosts can connect"* ]]
  tfd-serve -q --generate-key
  serve --cluster spec.in
  [ "$(jq .key_file spec.json)" = null ]  # the default path is everybody's own
  run -0 --separate-stderr tfd-status --cluster spec.json
  [ "$(grep -c ' up ' <<<"$output")" = 2 ]
  # Without it, with another one, and with one that is no key: one line, at once.
  export HOME=$T/elsewhere
  run -1 --separate-stderr timeout 20 tfd-status --cluster spec.json --json
  [ "$(jq -r '.tasks[].reason' <<<"$output" | sort -u)" = "requires the cluster's key, and none was found here; pass it with --key-file" ]
  tfd-serve -q --generate-key
  run -1 --separate-stderr timeout 20 tfd-status --cluster spec.json --json
  [ "$(jq -r '.tasks[].reason' <<<"$output" | sort -u)" = "uses a different key; pass the cluster's key with --key-file" ]
  printf '{"v": 1, "variables": {"w": {"shape": [], "dtype": "f32", "init": {"zeros": {}}}}}' >program.json
  for other in none elsewhere/.config/tfd/key; do
    run -77 --separate-stderr timeout 20 tfd-coordinate program.json --closures /dev/null --cluster spec.json --key-file $other
    [ "${#stderr_lines[@]}" = 1 ]
    [[ $stderr == "tfd-coordinate: ps:0 "*key* ]]
  done
  run -0 timeout 20 tfd-coordinate program.json --closures /dev/null --cluster spec.json --key-file home/.config/tfd/key
}

@test "keys: a client with a key, and a server without one" {
  serve --jobs worker=1,ps=1
  [ "$(jq .key_file spec.json)" = null ]
  tfd-serve -q --generate-key
  run -1 --separate-stderr timeout 20 tfd-status --cluster spec.json --json
  [ "$(jq -r '.tasks[].reason' <<<"$output" | sort -u)" = "serves without a key, and one was found here; connect without it with --key-file none" ]
  run -0 tfd-status --cluster spec.json --key-file none
  TFD_KEY_FILE=none run -0 tfd-status --cluster spec.json
}

@test "keys: --key-file none is for the whole pipeline" {
  tfd-serve -q --generate-key
  run -0 --separate-stderr bash -c 'tfd-serve --jobs worker=1 --key-file none | timeout 20 tfd-status'
  [ "$(grep -c ' up ' <<<"$output")" = 1 ]
  run -0 --separate-stderr timeout 20 tfd-serve --jobs worker=1 --key-file none -- sh -c 'tfd-status && echo $TFD_KEY_FILE'
  [ "${lines[-1]}" = none ]
}

@test "keys: tfd-exec off loopback, with the cluster's key and --allow-native" {
  address=$(own_address)
  echo "{\"cluster\": {\"worker\": [\"$address:0\", \"$address:0\"]}}" >spec.in
  run -77 --separate-stderr timeout 20 tfd-serve --cluster spec.in --allow-native --insecure
  [[ $stderr == *"--allow-native requires a key"* ]]
  tfd-serve -q --generate-key --key-file key
  serve --cluster spec.in --allow-native --key-file key
  [ "$(jq -r .key_file spec.json)" = "$T/key" ]
  run -0 --separate-stderr timeout 30 tfd-exec --cluster spec.json echo ::: a b c
  [ "$output" = $'a\nb\nc' ]
  jq 'del(.key_file)' spec.json >nokey.json
  run -77 --separate-stderr timeout 20 tfd-exec --cluster nokey.json touch ::: pwned
  [ "${#stderr_lines[@]}" = 1 ]
  [[ $stderr == "tfd-exec: worker:"[01]" requires the cluster's key"* ]]
  [ ! -e pwned ]
}

@test "keys: another host that has the file is served, one that hasn't isn't" {
  [ "$(id -u)" = 0 ] && command -v ip >/dev/null || skip "needs root and iproute2"
  unshare -n true 2>/dev/null || skip "needs network namespaces"
  # Two hosts on one, with a link between them: neither is this one, so that nobody else sees their addresses.
  unshare -n sleep 60 &
  here=$!
  unshare -n sleep 60 &
  other=$!
  for host in $here $other; do
    until [ "$(readlink /proc/$host/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do kill -0 $host; done
  done
  here() { nsenter -n -t "$here" "$@"; }
  there() { nsenter -n -t "$other" "$@"; }
  if ! here ip link add eth0 type veth peer name eth0 netns "$other"; then
    kill $here $other
    skip "no virtual links here"
  fi
  for host in here there; do
    $host ip address add "198.51.100.$([ $host = here ] && echo 1 || echo 2)/30" dev eth0
    $host ip link set eth0 up
    $host ip link set lo up
  done
  mkdir bin
  printf '#!/bin/sh\nexec nsenter -n -t %s %s "$@"\n' "$here" "$(command -v tfd-serve)" >bin/tfd-serve
  chmod +x bin/tfd-serve
  echo '{"cluster": {"worker": ["198.51.100.1:0"]}}' >spec.in
  tfd-serve -q --generate-key
  PATH=$T/bin:$PATH serve --cluster spec.in --allow-native
  run -0 --separate-stderr there timeout 20 tfd-exec --cluster spec.json echo ::: from afar
  [ "$output" = $'from\nafar' ]
  HOME=$T/elsewhere run -77 --separate-stderr there timeout 20 tfd-exec --cluster spec.json touch ::: pwned
  [ ! -e pwned ]
  kill "$SERVE"
  serve_ends 0
  kill $here $other
  wait $here $other || true
}

@test "keys: one that others can read is refused by servers and clients" {
  tfd-serve -q --generate-key
  serve --jobs worker=1
  chmod 644 home/.config/tfd/key
  run -77 --separate-stderr timeout 20 tfd-status --cluster spec.json
  [ "$stderr" = "tfd-status: key file $HOME/.config/tfd/key: mode 0644: others can read it: chmod 600 $HOME/.config/tfd/key" ]
  run -77 --separate-stderr timeout 20 tfd-serve --jobs worker=1
  [[ $stderr == "tfd-serve: key file $HOME/.config/tfd/key: mode 0644: others can read it"* ]]
  run -77 --separate-stderr timeout 20 tfd-exec --cluster spec.json true ::: 1
  chmod 640 home/.config/tfd/key
  run -77 --separate-stderr timeout 20 tfd-status --cluster spec.json
  [[ $stderr == *"mode 0640: its group can read it"* ]]
  chmod 600 home/.config/tfd/key
  printf 'tfd-key-2\npublic ' >home/.config/tfd/key
  run -65 --separate-stderr timeout 20 tfd-status --cluster spec.json
  [[ $stderr == *"the key is incomplete" ]]
}

@test "keys: a restarted task is under the same key, and workers reach their parameter servers with it" {
  tfd-serve -q --generate-key
  serve --jobs worker=1,ps=1
  kill -KILL "$(task_pid worker:0)"
  said 'worker:0 died of signal 9'
  run -0 --separate-stderr timeout 20 tfd-status --cluster spec.json --wait
  cat >add.mlir <<'MLIR'
module @add { func.func public @main(%w: tensor<f32>) -> tensor<f32> { %r = stablehlo.add %w, %w : tensor<f32> return %r : tensor<f32> } }
MLIR
  cat >program.json <<'JSON'
{"v": 1, "variables": {"w": {"shape": [], "dtype": "f32", "init": {"constant": {"value": 1.5}}}},
 "functions": {"twice": {"module": "add.mlir", "inputs": [{"variable": "w"}], "outputs": [{"assign": "w"}]}}}
JSON
  printf '%s\n' '{"op": "schedule", "function": "twice"}' '{"op": "join"}' '{"op": "read", "variable": "w"}' >lines
  run -0 --separate-stderr timeout 60 tfd-coordinate program.json --closures lines --cluster spec.json --ordered
  [ "$(jq -c .value <<<"${lines[-1]}")" = 3 ] || { echo "$output$stderr"; false; }
  kill "$SERVE"
  serve_ends 0
}

@test "keys: the key itself is in no argument, environment, output or log" {
  tfd-serve -q --generate-key --key-file key
  launch -vv --jobs worker=2 --allow-native --key-file key --output spec.json --ready-fd 9
  IFS= read -r -t 30 -u 8 SPEC
  timeout 30 tfd-exec -vv --cluster spec.json 'env; : {}' ::: a b >out 2>"$T/talk"
  halves key >secrets
  [ "$(wc -l <secrets)" = 2 ]
  for process in "$SERVE" $(pgrep -P "$SERVE"); do
    run -1 grep -qaFf secrets "/proc/$process/cmdline" "/proc/$process/environ"
  done
  kill "$SERVE"
  serve_ends 0
  while IFS= read -r -t 1 -u 7 LINE; do echo "$LINE"; done >log  # all is said: whoever said it has ended
  [ -s talk ]
  run -1 grep -aFf secrets log out talk spec.json
}
