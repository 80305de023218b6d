#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tokens, passwords and private keys reach the servers that they are for, and neither stdout, stderr with -vv, error
# messages, command lines, the environment of children, other servers, nor a core dump.

bats_require_minimum_version 1.5.0
load until.bash

TOKEN=t0ken-$RANDOM$RANDOM-hunter2
PASSWORD=pa55-$RANDOM$RANDOM-hunter2

setup() {
  unset KUBECONFIG GOOGLE_APPLICATION_CREDENTIALS TPU_API_DISCOVERY_URL TFD_LOG http_proxy https_proxy all_proxy \
    HTTPS_PROXY ALL_PROXY no_proxy NO_PROXY
  export HOME=$BATS_TEST_TMPDIR
  cd "$BATS_TEST_TMPDIR" || return 1
  stand_ins=()
}

teardown() {
  local pid
  for pid in "${stand_ins[@]}"; do kill "$pid" && wait "$pid"; done
}

stand_in() {  # NAME, its script on stdin: sets url, logs to NAME.log
  cat >"$1.json"
  mkfifo "$1.commands"
  : >"$1.url" && : >"$1.log"
  # Open at both ends by itself: it ends by SIGTERM.
  "$TFD_BUILD/tests/kit/tfd-http-stand-in" "$1.json" "$1.log" <>"$1.commands" >"$1.url" 3>&- &
  stand_ins+=($!)
  until_true test -s "$1.url"
  url=$(<"$1.url")
}

kubeconfig() {  # USER, as JSON
  jq -n --arg url "$url" --argjson user "$1" '{apiVersion: "v1", kind: "Config", "current-context": "c",
    clusters: [{name: "k", cluster: {server: $url}}], users: [{name: "u", user: $user}],
    contexts: [{name: "c", context: {cluster: "k", user: "u"}}]}' >config
}

no_secret_in() {  # FILE…
  if grep -rlF -e "$TOKEN" -e "$PASSWORD" -e "$(printf %s "u:$PASSWORD" | base64 -w0)" "$@"; then return 1; fi
}

quiet_about_it() {  # CODE ARGUMENTS…: tfd-resolve -vv says nothing of it
  run --separate-stderr -"$1" tfd-resolve "${@:2}" -vv
  printf '%s\n' "$output" "$stderr" >said
  no_secret_in said || { cat said; return 1; }
}

account() {  # a service account whose tokens and API are $url's; sets discovery
  openssl genrsa 2048 >key.pem 2>/dev/null
  jq -n --rawfile key key.pem --arg uri "$url/token" '{type: "service_account", client_email: "a@b.example",
    private_key: $key, private_key_id: "1", token_uri: $uri}' >account.json
  stand_in discovery <<<"{\"routes\": [{\"replies\": [{\"json\": {\"rootUrl\": \"$url/\", \"servicePath\": \"\"}}]}]}"
  discovery=$url
}

aborted() {  # PID FOLDER: ends it as a crash would, and no file is left
  kill -ABRT "$1"
  local code=0
  wait "$1" || code=$?
  [ $code = 134 ] || return 1
  [ -z "$(find "$2" -type f)" ]
}

pods='{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [{"metadata":
  {"name": "a-0", "namespace": "default", "uid": "1"}, "status": {"phase": "Running", "podIP": "10.0.0.1"}}]}'

@test "a token and a password arrive, and nobody else sees them" {
  stand_in api <<<"{\"routes\": [{\"path\": \"/api/v1/*pods\", \"replies\": [{\"json\": $pods}]}]}"
  kubeconfig "{\"token\": \"$TOKEN\"}"
  quiet_about_it 0 kubernetes --kubeconfig config
  grep -q 10.0.0.1 said
  [ "$(jq -r .headers.authorization api.log | sort -u)" = "Bearer $TOKEN" ]
  : >api.log
  kubeconfig "{\"username\": \"u\", \"password\": \"$PASSWORD\"}"
  quiet_about_it 0 kubernetes --kubeconfig config
  [ "$(jq -r .headers.authorization api.log | sort -u)" = "Basic $(printf %s "u:$PASSWORD" | base64 -w0)" ]
}

@test "refusals that quote the credentials are shown without them" {
  stand_in api <<JSON
{"routes": [{"headers": {"Authorization": "Bearer $TOKEN"}, "replies": [
  {"status": 401, "json": {"kind": "Status", "message": "bad token $TOKEN"}}, {"status": 403, "body": "$TOKEN"}]},
 {"replies": [{"status": 403, "json": {"kind": "Status", "message": "bad password $PASSWORD"}}]}]}
JSON
  kubeconfig "{\"token\": \"$TOKEN\"}"
  quiet_about_it 77 kubernetes --kubeconfig config
  quiet_about_it 77 kubernetes --kubeconfig config
  kubeconfig "{\"username\": \"u\", \"password\": \"$PASSWORD\"}"
  quiet_about_it 77 kubernetes --kubeconfig config
  grep -q 'bad password \*\*\*' said
}

@test "errors on the way: cut off, garbled, no answer, nobody there" {
  stand_in api <<'JSON'
{"routes": [{"path": "/cut/*", "replies": [{"body": "{\"items\": [", "cut_after": 5}]},
            {"path": "/raw/*", "replies": [{"raw": "SSH-2.0-OpenSSH\r\n"}]},
            {"path": "/json/*", "replies": [{"body": "{"}]},
            {"path": "/silent/*", "replies": [{"silent": true}]}]}
JSON
  local base=$url case code
  for case in cut:69 raw:69 json:any silent:75; do
    url=$base/${case%:*} code=${case#*:}
    kubeconfig "{\"token\": \"$TOKEN\"}"
    run --separate-stderr tfd-resolve kubernetes --kubeconfig config --timeout 1s -vv
    printf '%s\n' "$output" "$stderr" >said
    no_secret_in said
    [ "$status" != 0 ]
    [ "$code" = any ] || [ "$status" = "$code" ] || [ "$status" = 75 ] || { echo "$case: $status"; cat said; return 1; }
  done
  url=http://u:$PASSWORD@127.0.0.1:1
  kubeconfig '{}'
  quiet_about_it 69 kubernetes --kubeconfig config --timeout 5s
}

@test "a redirect to another server carries nothing" {
  stand_in other <<<"{\"routes\": [{\"replies\": [{\"json\": $pods}]}]}"
  stand_in api <<<"{\"routes\": [{\"replies\": [{\"status\": 302, \"headers\": {\"Location\": \"$url/x\"}}]}]}"
  kubeconfig "{\"token\": \"$TOKEN\"}"
  run --separate-stderr tfd-resolve kubernetes --kubeconfig config -vv
  printf '%s\n' "$output" "$stderr" >said
  no_secret_in said other.log
  grep -qF "$TOKEN" api.log
}

@test "a proxy's password arrives there, and is in no message" {
  stand_in proxy <<<'{"routes": [{"method": "CONNECT", "replies": [{"status": 407, "body": "no"}]}]}'
  local port=${url##*:}
  url=https://api.example
  kubeconfig "{\"token\": \"$TOKEN\"}"
  https_proxy=http://u:$PASSWORD@127.0.0.1:$port quiet_about_it 69 kubernetes --kubeconfig config --timeout 2s
  [ "$(jq -rs '.[0].headers["proxy-authorization"]' proxy.log)" = "Basic $(printf %s "u:$PASSWORD" | base64 -w0)" ]
  [ "$(jq -rs '.[0].headers.authorization' proxy.log)" = null ]
}

@test "children get no credentials, neither as arguments nor in the environment" {
  stand_in api <<<"{\"routes\": [{\"path\": \"/api/v1/*pods\", \"replies\": [{\"json\": $pods}]}]}"
  cat >plugin <<SH
#!/bin/sh
tr '\\0' '\\n' </proc/\$\$/cmdline >plugin.seen
env >>plugin.seen
tr '\\0' '\\n' </proc/\$PPID/cmdline >>plugin.seen
jq -n --arg token "\$(base64 -d token)" '{apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: {token: \$token}}'
SH
  chmod +x plugin
  printf %s "$TOKEN" | base64 >token
  kubeconfig '{"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin", "interactiveMode": "Never"}}'
  run --separate-stderr -0 tfd-resolve kubernetes --kubeconfig config -vv -- \
    sh -c 'env; tr "\0" "\n" </proc/$$/cmdline; ulimit -c'
  printf '%s\n' "$output" "$stderr" >said
  no_secret_in said plugin.seen
  grep -q TF_CONFIG= said
  [ "$(jq -r .headers.authorization api.log | sort -u)" = "Bearer $TOKEN" ]
}

@test "a service account's private key signs, and is seen nowhere" {
  stand_in google <<JSON
{"routes": [{"method": "POST", "path": "/token", "replies": [{"json": {"access_token": "$TOKEN", "expires_in": 3599}}]},
  {"headers": {"Authorization": "Bearer $TOKEN"}, "replies": [{"status": 403, "json": {"error": {"message": "not $TOKEN"}}}]}]}
JSON
  account
  quiet_about_it 77 tpu node --zone z --project p --credentials account.json --discovery-url "$discovery" --timeout 5s
  grep -q assertion= google.log
  grep -qF "$TOKEN" google.log
  local line
  while read -r line; do
    if grep -qF -e "$line" said google.log; then echo "a line of the key was seen"; return 1; fi
  done <key.pem
  # The signed assertion is as good as a token for an hour.
  run ! grep -qF "$(jq -r 'select(.path == "/token") | .body' google.log | sed 's/.*assertion=//' | cut -c 1-60)" said
}

@test "no core dump holds them" {
  case $(</proc/sys/kernel/core_pattern) in [\|/]* | '') skip "core dumps of this machine don't go to the folder" ;; esac
  ulimit -c unlimited || skip "no core dumps allowed"
  mkdir plain secret google
  # That one without secrets is written shows that the others were forbidden.
  mkfifo nothing
  (cd plain && exec tfd-resolve union - <>../nothing 3>&- >/dev/null 2>&1) &
  local pid=$!
  until_true grep -q tfd-resolve "/proc/$pid/comm"
  until_true grep -q '^State:.*S' "/proc/$pid/status"
  aborted "$pid" nowhere 2>/dev/null || true
  [ -n "$(find plain -name 'core*')" ] || skip "this machine writes no core dumps"

  stand_in api <<<'{"routes": [{"replies": [{"silent": true}]}]}'
  kubeconfig "{\"token\": \"$TOKEN\"}"
  (cd secret && exec tfd-resolve kubernetes --kubeconfig ../config --timeout 60s 3>&- >/dev/null 2>&1) &
  pid=$!
  until_true grep -qF "$TOKEN" api.log
  [ -z "$(cat "/proc/$pid/task/$pid/children")" ]
  tr '\0' '\n' <"/proc/$pid/cmdline" >seen && no_secret_in seen
  aborted "$pid" secret

  account
  (cd google && exec tfd-resolve tpu n --zone z --project p --credentials ../account.json --discovery-url "$discovery" \
    --timeout 60s 3>&- >/dev/null 2>&1) &
  pid=$!
  until_true grep -q assertion= api.log
  aborted "$pid" google
}
