#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-exec: arguments become shell commands on the workers, whatever they hold; what these print comes back whole.

load serve.bash

setup() {
  serve_setup
  cd "$T" || return 1
}
teardown() { serve_teardown; }

# A cluster for this test, whose spec is spec.json.
cluster() { serve --allow-native --jobs "worker=${1:-2}"; }
tfd_exec() { timeout 60 tfd-exec --cluster spec.json "$@"; }

@test "in a pipeline: a spec on stdin, arguments behind :::" {
  run --separate-stderr bash -c 'tfd-resolve local --jobs worker=2 | tfd-serve --allow-native | timeout 30 tfd-exec echo got ::: a b c'
  [ "$status" = 0 ]
  [ "$output" = $'got a\ngot b\ngot c' ]
}

@test "around a command: the spec and the key come from the environment" {
  run --separate-stderr timeout 30 tfd-serve --allow-native --jobs worker=1 -- sh -c 'printf "1\n2\n" | tfd-exec echo'
  [ "$status" = 0 ]
  [ "$output" = $'1\n2' ]
}

@test "replacement strings, of one source and of several" {
  run tfd-exec --dry-run 'x {} {.} {/} {//} {/.} {#} {other}' ::: dir/a.b.png .hidden /root
  [ "${lines[0]}" = 'x dir/a.b.png dir/a.b a.b.png dir a.b 1 {other}' ]
  [ "${lines[1]}" = 'x .hidden .hidden .hidden . .hidden 2 {other}' ]
  [ "${lines[2]}" = 'x /root /root root / root 3 {other}' ]
  run tfd-exec --dry-run 'x {//}' ::: a a/ a/b/ a//b / // /a
  [ "$output" = $'x .\nx .\nx a\nx a\nx /\nx /\nx /' ]
  run tfd-exec --dry-run 'x {-1} {-2/} {-x} {-}' ::: a/1 ::: b
  [ "$output" = 'x b 1 {-x} {-}' ]
  run -64 tfd-exec --dry-run 'x {-3}' ::: a ::: b
  run tfd-exec --dry-run 'cp {2} {1.}' ::: a.x b.y ::: 1 2
  [ "$output" = $'cp 1 a\ncp 2 a\ncp 1 b\ncp 2 b' ]
  run tfd-exec --dry-run echo ::: 'a b' ''
  [ "$output" = $'echo \'a b\'\necho \'\'' ]
  run tfd-exec --dry-run ::: 'echo a | tr a b' 'true'
  [ "$output" = $'echo a | tr a b\ntrue' ]
  run tfd-exec --dry-run 'echo {3}' ::: a ::: b
  [ "$status" = 64 ]
  [ "$output" = "tfd-exec: {3}: there are only 2 sources of arguments
see tfd-exec --help" ] || [[ ${lines[0]} == "tfd-exec: {3}: there are only 2 sources of arguments"* ]]
}

@test "nasty arguments reach the command as they are" {
  cluster 1
  nasty=($'a\nb' "it's" '$(touch pwned)' '`touch pwned`' '-n' '--help' ' two  spaces ' '*' '~' '\' '"' 'a;touch pwned' '#no comment' '|' '&' '' $'tab\there' $'\x80\xff' '{}')
  printf '%s\0' "${nasty[@]}" >arguments
  tfd_exec -0 'printf "%s\\0" {}' <arguments >answers
  cmp arguments answers
  [ ! -e pwned ]
}

@test "a command line with quotes, pipes and variables is the shell's" {
  cluster 1
  run --separate-stderr tfd_exec 'for i in 1 2; do echo "$i"{}; done | tac; echo $TFD_TASK' ::: x
  [ "$output" = $'2x\n1x\nworker:0' ]
}

@test "stdin of commands is empty, and they get no descriptors" {
  cluster 1
  run --separate-stderr tfd_exec 'cat; readlink /proc/self/fd/0; ls /proc/self/fd | wc -l; echo {}' ::: end
  [ "$output" = $'/dev/null\n4\nend' ]
}

@test "output comes in the order of the arguments, or as commands end" {
  cluster 1
  # The first waits until the second is reaped.
  slow_first='if [ {} = 1 ]; then until [ -s go ] && ! kill -0 $(cat go) 2>/dev/null; do sleep 0.01; done; else echo $$ >go; fi; echo {}'
  run --separate-stderr tfd_exec -j 2 "$slow_first" ::: 1 2
  [ "$output" = $'1\n2' ]
  # The first waits until what the second said has been read.
  slow_first='if [ {} = 1 ]; then until grep -q 2 seen 2>/dev/null; do sleep 0.01; done; fi; echo {}'
  tfd_exec -j 2 --no-keep-order "$slow_first" ::: 1 2 | while read -r line; do echo "$line" >>seen; done
  [ "$(cat seen)" = $'2\n1' ]
}

@test "what one command prints stays together, with its tag before each line" {
  cluster
  tfd_exec -j 4 --tag --no-keep-order 'for i in 1 2 3; do echo line $i; done; echo oops >&2 # {}' ::: $(seq 40) >out 2>talk
  [ "$(wc -l <out)" = 120 ]
  awk -F'\t' 'NR % 3 == 1 { tag = $1 } $1 != tag || $2 != "line " (NR - 1) % 3 + 1 { exit 1 }' out
  [ "$(grep -c $'^[0-9]*\toops$' talk)" = 40 ]
}

@test "large output comes back whole" {
  cluster
  run --separate-stderr bash -c 'timeout 60 tfd-exec --cluster spec.json "head -c 20000000 /dev/zero | tr \"\\0\" {}" ::: a b | sha256sum'
  [ "$output" = "$({ head -c 20000000 /dev/zero | tr '\0' a; head -c 20000000 /dev/zero | tr '\0' b; } | sha256sum)" ]
}

@test "some failed: exit 123, with each exit code in the joblog" {
  cluster
  run --separate-stderr tfd_exec --joblog log 'exit {}' ::: 0 3 255
  [ "$status" = 123 ]
  [[ $stderr == *"2 of 3 commands failed; the first exited with "* ]]
  [ "$(head -n 1 log)" = $'Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand' ]
  [ "$(sort -n log | awk -F'\t' 'NR > 1 { print $1, $7, $8, $9 }')" = $'1 0 0 exit 0\n2 3 0 exit 3\n3 255 0 exit 255' ]
  grep -qP '^1\tworker:[01]\t\d+\.\d{3}\t +?0\.\d{3}\t|^1\tworker:[01]\t\d+\.\d{3}\t\d+\.\d{3}\t' log
  run --separate-stderr tfd_exec --joblog log2 'kill -9 $$ # {}' ::: x
  [ "$status" = 123 ]
  [ "$(awk -F'\t' 'NR > 1 { print $7, $8 }' log2)" = "0 9" ]
}

@test "--resume skips what the joblog has, --resume-failed runs again what failed" {
  cluster
  run --separate-stderr tfd_exec --joblog log 'echo {}; [ {} != 2 ]' ::: 1 2
  [ "$status" = 123 ]
  run --separate-stderr tfd_exec --joblog log --resume 'echo {}; [ {} != 2 ]' ::: 1 2 3
  [ "$status" = 0 ]
  [ "$output" = 3 ]
  printf '4\tworker:0\t17' >>log # cut off while it was written
  run --separate-stderr tfd_exec --joblog log --resume-failed 'echo {}; [ {} != 2 ]' ::: 1 2 3 4
  [ "$status" = 123 ]
  [ "$output" = $'2\n4' ]
  run --separate-stderr tfd_exec --joblog log --resume 'echo other {}' ::: 1 2 3 4
  [ "$status" = 65 ]
  [[ $stderr == *"command 1 is 'echo other 1', but in the joblog it is 'echo 1; [ 1 != 2 ]'"* ]]
}

@test "--retries runs a failing command again" {
  cluster
  run --separate-stderr tfd_exec --retries 3 --joblog log 'echo x >>tries{}; [ $(wc -l <tries{}) = 3 ] && echo ok' ::: a b
  [ "$status" = 0 ]
  [ "$output" = $'ok\nok' ]
  [ "$(wc -l <triesa)" = 3 ]
  run --separate-stderr tfd_exec --retries 2 'echo x >>more{}; false' ::: a
  [ "$status" = 123 ]
  [ "$(wc -l <morea)" = 2 ]
}

@test "--halt now kills what runs, --halt soon lets it end; neither starts more" {
  cluster 1
  run --separate-stderr tfd_exec -j 2 --halt now,fail=1 'if [ {} = 2 ]; then until [ -e up ]; do sleep 0.01; done; exit 1; fi; echo $$ >up.part; mv up.part up; exec sleep 1000 # {}' ::: 1 2 3 4
  [ "$status" = 123 ]
  [[ $stderr == *"halted by --halt now,fail=1: 1 command finished, "* ]]
  LIMIT=10 ends "$(cat up)"
  rm up
  run --separate-stderr tfd_exec -j 2 --halt soon,fail=1 'if [ {} = 2 ]; then until [ -e up ]; do sleep 0.01; done; exit 1; fi; touch up; sleep 0.3; echo {}' ::: 1 2 3 4 5 6 7 8 9
  [ "$status" = 123 ]
  [ "${lines[0]}" = 1 ]
  run -123 --separate-stderr tfd_exec -j 1 --halt soon,fail=1 'echo {}; false' ::: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
  [ "$output" = 1 ]
  [[ $stderr == *"halted by --halt soon,fail=1: 1 command finished, 0 killed or not started"* ]]
  run tfd-exec --halt later,fail=1 true ::: 1
  [ "$status" = 64 ]
  [[ $output == *"--halt: 'later,fail=1' is not valid: expected never, or WHEN,WHAT=N"* ]]
}

@test "--timeout ends a command and what it has started" {
  cluster 1
  run --separate-stderr tfd_exec --timeout 300ms --joblog log 'sleep 1000 & echo $! >pid; wait; echo {}' ::: x
  [ "$status" = 123 ]
  [[ $stderr == *"the first took longer than --timeout"* ]]
  [ "$(awk -F'\t' 'NR > 1 { print $7, $8 }' log)" = "-1 15" ]
  LIMIT=10 ends "$(cat pid)"
}

@test "a killed worker's commands run again elsewhere, and the joblog says so" {
  cluster
  # The first of each worker waits; which one is killed is decided by where command 1 runs.
  tfd_exec -j 1 --joblog log 'echo $TFD_TASK >>ran{}; until [ -e go ]; do sleep 0.02; done; sleep 1000 & echo $! >>children; [ {} != 1 ] || [ $(wc -l <ran1) = 2 ] || wait; echo {}' ::: $(seq 6) >out 2>talk &
  pid=$!
  until_true test -s ran1
  victim=$(cat ran1)
  touch go
  until_true test -s children
  kill -KILL "$(task_pid "$victim")"
  wait $pid
  [ "$(cat out)" = "$(seq 6)" ]
  [ "$(wc -l <ran1)" = 2 ]
  awk -F'\t' -v v="$victim" '$1 == 1 && $2 == v && $7 == -1 && $8 == 0 { lost = 1 } $1 == 1 && $7 == 0 { done = 1 } END { exit !(lost && done) }' log
  LIMIT=10 ends $(cat children) # none is left over, of the killed worker's neither
}

@test "Ctrl-C and SIGTERM kill the remote commands" {
  cluster
  for signal in INT TERM; do
    rm -f pids
    env --default-signal=INT tfd-exec --cluster spec.json 'echo $$ >>pids; sleep 1000 & echo $! >>pids; wait # {}' ::: 1 2 2>talk &
    pid=$!
    until_true has_lines pids 4
    [ "$(wc -l <pids)" = 4 ]
    kill -$signal $pid
    code=0
    wait $pid || code=$?
    [ $code = $((128 + $(kill -l $signal))) ]
    grep -q "interrupted: 0 commands finished, 2 killed or not started" talk
    LIMIT=10 ends $(cat pids)
  done
}

@test "interrupted with a joblog it is resumable: exit 75" {
  cluster
  env --default-signal=TERM tfd-exec --cluster spec.json --joblog log -j 1 '[ {} = 1 ] || { touch up; sleep 1000; }' ::: 1 2 2>talk &
  pid=$!
  until_true test -e up
  until_true has_lines log 2
  kill $pid
  code=0
  wait $pid || code=$?
  [ $code = 75 ]
  run --separate-stderr tfd_exec --joblog log --resume '[ {} = 1 ] || { touch up; sleep 1000; }' ::: 1
  [ "$status" = 0 ]
}

@test "a reader that goes ends it quietly, and the commands" {
  cluster
  seq 100000 | timeout 30 tfd-exec --cluster spec.json echo | head -n 3 >out
  codes=("${PIPESTATUS[@]}")
  [ "$(cat out)" = $'1\n2\n3' ]
  [ "${codes[1]}" = 141 ]
}

@test "no PJRT plug-in is ever loaded for it, and servers stay small" {
  cluster
  [ "$(seq 200 | tfd_exec echo | wc -l)" = 200 ]
  for task in worker:0 worker:1; do
    pid=$(task_pid $task)
    run ! grep -i pjrt "/proc/$pid/maps"
    [ "$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")" -lt 40000 ] || [ -n "${TFD_SANITIZED:-}" ]
  done
}

@test "without --allow-native, and without the key, nothing runs" {
  serve --jobs worker=1
  run --separate-stderr tfd_exec --connect-timeout 5s true ::: 1
  [ "$status" = 77 ]
  [[ $stderr == *"worker:0 does not run commands: its server was started without --allow-native"* ]]
  kill "$SERVE"
  serve_ends 0
  cluster 1
  key=$(jq -r .key_file spec.json)
  [ "$(stat -c %a "$key")" = 600 ]
  jq 'del(.key_file)' spec.json >nokey.json
  run --separate-stderr timeout 20 tfd-exec --cluster nokey.json touch ::: pwned
  [ "$status" = 77 ]
  [ "$stderr" = "tfd-exec: worker:0 requires the cluster's key, and none was found here; pass it with --key-file" ]
  tfd-serve -q --generate-key --key-file other
  run --separate-stderr timeout 20 tfd-exec --cluster nokey.json --key-file other touch ::: pwned
  [ "$status" = 77 ]
  [ "$stderr" = "tfd-exec: worker:0 uses a different key; pass the cluster's key with --key-file" ]
  chmod 644 other
  run --separate-stderr timeout 20 tfd-exec --cluster nokey.json --key-file other touch ::: pwned
  [ "$status" = 77 ]
  [[ $stderr == *"mode 0644: others can read it"* ]]
  [ ! -e pwned ]
  TFD_KEY_FILE=$key run --separate-stderr timeout 20 tfd-exec --cluster nokey.json echo ::: ok
  [ "$output" = ok ]
  kill "$SERVE"
  serve_ends 0
  [ ! -e "$key" ]
}

@test "--allow-native off loopback needs a key, --insecure or not" {
  echo '{"cluster": {"worker": ["0.0.0.0:0"]}}' >all.json
  for insecure in "" --insecure; do
    run --separate-stderr timeout 20 tfd-serve --cluster all.json --allow-native $insecure
    [ "$status" = 77 ]
    [ "$stderr" = "tfd-serve: worker:0 would listen on 0.0.0.0:0, where other hosts can connect: --allow-native requires a key
hint: make one with tfd-serve --generate-key" ]
  done
}

@test "mistakes are said at once" {
  run tfd-exec --resume true ::: 1
  [ "$status" = 64 ]
  [[ $output == *"--resume needs --joblog"* ]]
  run bash -c 'seq 3 | tfd-exec echo'
  [ "$status" = 64 ]
  [[ $output == *"stdin holds the arguments, so give --cluster FILE"* ]]
  run tfd-exec --cluster - echo
  [ "$status" = 64 ]
  [[ $output == *"stdin can't hold both"* ]]
  cluster 1
  run --separate-stderr tfd_exec --workdir /no/such/directory true ::: 1
  [ "$status" = 78 ]
  [[ $stderr == *"worker:0 has no directory /no/such/directory: --workdir says where commands run"* ]]
  run --separate-stderr tfd_exec no-such-command-of-tfd ::: 1
  [ "$status" = 123 ]
  [[ $stderr == *"exited with 127"* ]]
  printf 'no joblog\n' >log
  run --separate-stderr tfd_exec --joblog log --resume true ::: 1
  [ "$status" = 65 ]
  [[ $stderr == *"log: line 1 is not a line of a joblog: 1 columns, not 9"* ]]
}

@test "arguments from a file, and none at all" {
  cluster 1
  printf 'a\nb' >list
  run --separate-stderr tfd_exec -a list echo
  [ "$output" = $'a\nb' ]
  run --separate-stderr tfd_exec echo </dev/null
  [ "$status" = 0 ]
  [ -z "$output" ]
}

@test "parameter servers and a program of somebody else are left alone" {
  serve --allow-native --jobs worker=1,ps=1
  printf '{"op": "read", "variable": "n"}\n' >read
  echo '{"v": 1, "variables": {"n": {"shape": [], "dtype": "s32", "init": {"constant": {"value": 5}}}}}' >program.json
  mkfifo lines
  tfd-coordinate program.json --cluster spec.json --keep-servers --closures lines >answers 2>/dev/null &
  pid=$!
  exec 9>lines
  cat read >&9
  until_true test -s answers
  [ "$(tfd_exec echo ::: beside)" = beside ]
  cat read >&9
  exec 9>&-
  wait $pid
  [ "$(jq -s -c 'map(.value)' answers)" = "[5,5]" ]
}

@test "what waits at a worker behind a long command goes to one that has nothing to do" {
  cluster 2
  mkdir ran
  cat >one.sh <<'SH'
[ "$1" = 1 ] || exec touch "ran/$1"
for try in $(seq 400); do [ "$(ls ran | wc -l)" -lt 8 ] || exit 0; sleep 0.05; done
exit 9
SH
  run -0 timeout 60 tfd-exec --cluster spec.json -j1 'sh one.sh {}' ::: 1 2 3 4 5 6 7 8 9
}
