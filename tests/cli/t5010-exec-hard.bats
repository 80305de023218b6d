#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-exec: what users of GNU parallel do to it, and what files, disks and commands do to it.

load serve.bash

setup() {
  serve_setup
  cd "$T" || return 1
}
teardown() {
  [ -z "${FROZEN:-}" ] || kill -CONT "$FROZEN" 2>/dev/null || true
  serve_teardown
}

cluster() { serve --allow-native --jobs "worker=${1:-1}"; }
tfd_exec() { timeout 60 tfd-exec --cluster spec.json "$@"; }

@test "a tag stays on one line, whatever the argument holds" {
  cluster
  run --separate-stderr tfd_exec -0 --tag 'printf "1\n2"' < <(printf 'a\nb\tc d\0')
  [ "$output" = $'a\\nb\\tc d\t1\na\\nb\\tc d\t2' ]
}

@test "empty lines, CRLF and a last line without its end are arguments as they are" {
  cluster
  printf 'a\n\nb\r\nc' >list
  tfd_exec 'printf "<%s>"' <list >out
  [ "$(od -An -c out | tr -d ' \n')" = '<a><><b\r><c>' ]
}

@test "output is byte for byte: NULs, bytes that aren't UTF-8, no newline at its end" {
  cluster
  tfd_exec 'printf "\\0\\377{}"' ::: 1 2 >out
  [ "$(od -An -tx1 out | tr -d ' \n')" = 00ff3100ff32 ]
}

@test "a command that is too long is named shortly, and others go on" {
  cluster
  { head -c 200000 /dev/zero | tr '\0' a; printf '\nok\n'; } >list
  run -123 --separate-stderr tfd_exec echo <list
  [ "$output" = ok ]
  [[ $stderr == *"the command is 200005 bytes long, and Linux accepts fewer than 131072"*"the first exited with 126: echo aaa"*"..." ]]
  [ "${#stderr}" -lt 400 ]
  head -c 1100000 /dev/zero | tr '\0' a >list
  run -65 --separate-stderr tfd_exec echo <list
  [ "$stderr" = "tfd-exec: stdin: an argument is longer than 1048576 bytes" ]
}

@test "a command that leaves a daemon behind with its stdout ends when it ends, and so does the daemon in its group" {
  cluster
  # The second one has its session before the command ends.
  daemons='sleep 1000 & echo $! >pid; setsid sh -c "echo \$\$ >>pid; exec sleep 1000" & until [ $(wc -l <pid) = 2 ]; do sleep 0.01; done; echo done {}'
  run -0 --separate-stderr timeout 30 tfd-exec --cluster spec.json "$daemons" ::: x
  [ "$output" = "done x" ]
  LIMIT=10 ends "$(head -n 1 pid)"
  kill "$(tail -n 1 pid)" # a session of its own is not ours to kill
}

@test "a full disk under stdout, and under the joblog, ends it and says so" {
  cluster
  run -71 --separate-stderr bash -c 'timeout 30 tfd-exec --cluster spec.json echo ::: 1 2 >/dev/full'
  [[ $stderr == "tfd-exec: "*"stdout: no space left on device" ]]
  run -71 --separate-stderr tfd_exec --joblog /dev/full echo ::: 1 2
  [ "$stderr" = "tfd-exec: cannot write /dev/full: no space left on device" ]
  run -65 --separate-stderr tfd_exec --joblog "$T/none/log" echo ::: 1 2
  [ "$stderr" = "tfd-exec: cannot open $T/none/log: no such file or directory" ]
}

@test "--halt in percent is of all commands, however many those are" {
  cluster
  run -123 --separate-stderr tfd_exec -j 1 --halt soon,fail=30% '[ $(({} % 2)) = 0 ]' < <(seq 10)
  [[ $stderr == *"halted by --halt soon,fail=30%: 5 commands finished, 0 killed or not started"* ]]
  run -0 --separate-stderr tfd_exec -j 1 --halt soon,success=50% 'echo {}' ::: 1 2 3 4
  [ "$output" = $'1\n2' ]
  run -0 --separate-stderr tfd_exec -j 1 --halt soon,done=1% 'echo {}' ::: a b ::: 1 2
  [ "$output" = "a 1" ]
  for wrong in now,fail=0% now,fail=101% now,fail=% soon,fail 2; do
    run -64 --separate-stderr tfd-exec --halt "$wrong" true ::: 1
    [[ $stderr == "tfd-exec: --halt: '$wrong' is not valid: expected never, or WHEN,WHAT=N"* ]]
  done
}

@test "what GNU parallel has and this hasn't is refused, not run" {
  run -64 --separate-stderr tfd-exec echo :::: file
  [ "$stderr" = "tfd-exec: :::: is not supported; arguments come after :::, from --arg-file or from stdin (see tfd-exec --help)" ]
  run -64 --separate-stderr tfd-exec echo ::: a :::+ b
  [[ $stderr == "tfd-exec: :::+ is not supported"* ]]
  run -64 --separate-stderr tfd-exec -j 0 echo ::: a
  [[ $stderr == *"-j"*"0"*"1 to 4096"* ]]
}

@test "a worker that is stopped loses its commands to others, and gets new ones when it goes on" {
  cluster 2
  first='echo $TFD_TASK >>ran{}; [ {} != 1 ] || [ $(wc -l <ran1) = 2 ] || sleep 1000; echo {}'
  tfd_exec -j 1 --joblog log "$first" ::: 1 2 3 >out 2>talk &
  pid=$!
  until_true test -s ran1
  FROZEN=$(task_pid "$(cat ran1)")
  kill -STOP "$FROZEN"
  wait $pid
  [ "$(cat out)" = $'1\n2\n3' ]
  awk -F'\t' '$1 == 1 && $7 == -1 && $8 == 0 { lost = 1 } $1 == 1 && $7 == 0 { done = 1 } END { exit !(lost && done) }' log
  kill -CONT "$FROZEN"
  FROZEN=
  run -0 timeout 30 tfd-status --cluster spec.json --wait
  # Each waits until the other has begun.
  both='echo $TFD_TASK; touch began{}; until [ -e began1 ] && [ -e began2 ]; do sleep 0.02; done'
  [ "$(tfd_exec -j 1 --no-keep-order "$both" ::: 1 2 | sort)" = $'worker:0\nworker:1' ]
}

@test "tfd-status shows commands that run, and what a lost worker had is counted in commands" {
  cluster 2
  tfd_exec -j 1 'echo $$ >>pids{}; echo $TFD_TASK >>ran{}; [ {} != 1 ] || [ $(wc -l <ran1) = 2 ] || exec sleep 1000' ::: 1 2 >out 2>talk &
  pid=$!
  until_true test -s ran1
  victim=$(cat ran1)
  run -0 --separate-stderr timeout 30 tfd-status --cluster spec.json --json
  [ "$(jq -c --arg task "$victim" '.tasks[] | select(.task == $task) | [.closures_waiting > 0, .waits_for]' <<<"$output")" = '[true,"commands"]' ]
  kill -KILL "$(task_pid "$victim")"
  wait $pid
  [[ $(cat talk) =~ "lost $victim ("[^$'\n']*"); "(1 command goes|[2-9] commands go)" to other workers" ]]
}

@test "no worker in time: said once, without times of nothing" {
  echo '{"cluster": {"worker": ["127.0.0.1:1"]}}' >dead.json
  run -75 --separate-stderr timeout 20 tfd-exec --cluster dead.json --key-file none --connect-timeout 300ms echo ::: 1
  [ "$stderr" = "tfd-exec: no worker within 300ms: waiting for worker:0 (connection refused)" ]
}

@test "a reader that stops reading holds up no signal" {
  cluster
  mkfifo pager
  exec 4<>pager
  env --default-signal=INT tfd-exec --cluster spec.json 'echo {} >>ended; head -c 1000000 /dev/zero' ::: 1 2 >pager 2>talk 4>&- &
  pid=$!
  until_true has_lines ended 2
  head -c 1000 <&4 >first # it has begun to print, and a pipe doesn't hold it all
  [ "$(wc -c <first)" = 1000 ]
  kill -INT $pid
  LIMIT=10 ends $pid
  code=0
  wait $pid || code=$?
  [ $code = 130 ]
  exec 4>&-
}

@test "a reader that goes and a joblog: what it names has ended, the rest runs with --resume" {
  cluster
  seq 2000 | timeout 60 tfd-exec --cluster spec.json --joblog log echo | head -n 1 >out
  [ "$(cat out)" = 1 ]
  seq 2000 | timeout 60 tfd-exec --cluster spec.json --joblog log --resume echo >rest
  [ "$(awk -F'\t' 'NR > 1 { print $1 }' log | sort -n | uniq | wc -l)" = 2000 ]
  [ "$(awk -F'\t' 'NR > 1 { print $1 }' log | wc -l)" = 2000 ]
}

@test "--max-losses: a command that kills its worker each time fails, and others go on" {
  cluster 2
  deadly='[ {} != 2 ] || kill -KILL $PPID; echo {}'
  run -123 --separate-stderr tfd_exec -j 1 --joblog log --max-losses 2 "$deadly" ::: 1 2 3 4
  [ "$output" = $'1\n3\n4' ]
  [ "$(awk -F'\t' '$1 == 2 { print $7, $8 }' log | paste -sd,)" = '-1 0,-1 9' ]
  awk -F'\t' '$1 == 2 && $2 !~ /^worker:[01]$/ { exit 1 }' log
  [[ $stderr == *"tfd-exec: command 2 ('[ 2 != 2 ] || kill -KILL \$PPID; echo 2') was running on a worker that died, 2 times ("*"): not retrying it"* ]]
  [[ $stderr == *"1 of 4 commands failed; the first lost its workers: [ 2 != 2 ]"* ]]
  run -0 --separate-stderr tfd_exec -j 1 --joblog log --max-losses 2 --resume "$deadly" ::: 1 2 3 4
  [ -z "$output" ]
}

@test "--retries doesn't try again what is given up" {
  cluster 2
  run -123 --separate-stderr tfd_exec -j 1 --retries 3 --max-losses 1 'echo >>tried; kill -KILL $PPID; wait' ::: 1
  [ "$(wc -l <tried)" = 1 ]
}
