#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# scripts/test-run.sh, on a source tree and a build of its own: what runs when, what is counted, what is said.

bats_require_minimum_version 1.5.0
load common
load ../cli/until

setup() {
  unset TFD_SANITIZED TFD_TEST_JOBS TFD_TEST_COMMAND TFD_TEST_LIMIT
  SOURCE=$BATS_TEST_TMPDIR/source
  BUILD=$SOURCE/build ORDER=$SOURCE/order
  mkdir -p "$SOURCE"/{scripts,tests/cli,tests/fault,tests/cluster} "$BUILD"/tests/unit/{one,two}
  cp "$TFD_SOURCE/scripts/test-run.sh" "$SOURCE/scripts"
  export ORDER
  cd "$SOURCE" || return 1
}

unit() { # ROOM/PROGRAM PASSED FAILED [LINE OF SHELL]
  cat >"$BUILD/tests/unit/$1" <<SH
#!/bin/sh
echo "unit/${1##*/test-} begins" >>"\$ORDER"
${4:-}
echo "[doctest] test cases: $(($2 + $3)) | $2 passed | $3 failed | 4 skipped"
echo "unit/${1##*/test-} ends" >>"\$ORDER"
[ $3 = 0 ]
SH
  chmod +x "$BUILD/tests/unit/$1"
}
file() { # SUITE/NAME [LINES OF BATS…]: a file of one test
  printf '%s\n' "${@:2}" "@test \"it says its name\" { echo '$1' >>\"\$ORDER\"; }" >"$SOURCE/tests/$1.bats"
}
tests() { run --separate-stderr timeout 60 "$SOURCE/scripts/test-run.sh" "$BUILD" "$@"; }

@test "test-run.sh: all that was asked for is run and counted, and its times are written" {
  unit one/test-one 3 0
  unit one/test-one-more 2 0
  unit two/test-two 5 0
  file cli/t1-a
  file cli/t2-b '@test "not here" { skip "no reason"; }'
  file fault/dies
  tests unit cli
  [ "$status" = 0 ]
  [ "$output" = "12 passed, 0 failed" ]
  [ "$(sort <<<"$stderr")" = "$(sort <<'TEXT'
unit/one: 3 passed, 0 failed
unit/one-more: 2 passed, 0 failed
unit/two: 5 passed, 0 failed
cli/t1-a: 1 passed, 0 failed
cli/t2-b: 1 passed, 0 failed, 1 skipped
TEXT
  )" ]
  [ "$(cut -f1,4- "$BUILD/test-logs/times.tsv" | sort)" = "$(printf '%s\t%s\t%s\t%s\n' cli/t1-a 1 0 0 cli/t2-b 1 0 1 job passed failed skipped \
    unit/one 3 0 0 unit/one-more 2 0 0 unit/two 5 0 0)" ]
  # A room, a program, the beginning of a file's name.
  tests unit/one cli/t2
  [ "$output" = "6 passed, 0 failed" ]
  tests unit/one-more fault/dies
  [ "$output" = "3 passed, 0 failed" ]
  [ "$(wc -l <"$BUILD/test-logs/times.tsv")" = 7 ] # those of before are kept
}

@test "test-run.sh: what fails is shown, counted and named with how to run it again" {
  unit one/test-one 3 1 'echo "it is wrong here"'
  unit two/test-two 5 0 'echo "it dies here"; exit 139'
  file cli/t1-a '@test "is wrong" { echo "two and two is five"; false; }'
  file cli/t2-b '@test "never closed {'
  TFD_TEST_COMMAND='./dev asan' tests unit cli
  [ "$status" = 1 ]
  [ "$output" = "4 passed, 4 failed" ]
  for line in "unit/one: 3 passed, 1 failed" "it is wrong here" "it dies here" "unit/two: 0 passed, 1 failed" "cli/t1-a: 1 passed, 1 failed" \
    "# two and two is five" "failed: unit/one (again: ./dev asan unit/one; log: build/test-logs/unit-one.log)"; do
    grep -qxF -- "$line" <<<"$stderr" || fault "not said: $line"
  done
  no_faults
  grep -q "^failed: cli/t2-b (again: ./dev asan cli/t2-b; " <<<"$stderr"
}

@test "test-run.sh: several at a time, the longest of the last run first, then alone what measures" {
  mkfifo gate
  unit one/test-one 1 0 "read -r _ <'$SOURCE/gate'" # until the other one runs
  unit two/test-two 1 0 "echo go >'$SOURCE/gate'"
  file cli/t1-a
  file cli/t2-alone '# bats file_tags=alone'
  file cluster/slurm
  file cluster/export '# bats file_tags=long,shared'
  mkdir "$BUILD/test-logs"
  printf 'job\tseconds\nunit/two\t1.0\ncli/t1-a\t0.5\nunit/one\t20.5\ncluster/export\t0.7\n' >"$BUILD/test-logs/times.tsv"
  TFD_TEST_JOBS=2 tests unit cli cluster
  [ "$status" = 0 ]
  cat order
  [ "$(head -n 2 order | sort)" = $'unit/one begins\nunit/two begins' ]
  [ "$(tail -n 2 order)" = $'cli/t2-alone\ncluster/slurm' ]
  [ "$(tail -n 4 order | head -n 2 | sort)" = $'cli/t1-a\ncluster/export' ]
}

@test "test-run.sh: what doesn't end is ended, and has failed" {
  unit one/test-one 1 0 'sleep 600 & wait'
  TFD_TEST_LIMIT=1 tests unit
  [ "$status" = 1 ]
  [[ $stderr == *"unit/one: 0 passed, 1 failed, stopped after 1 s"* ]]
  [ "$output" = "0 passed, 1 failed" ]
}

@test "test-run.sh: Ctrl-C reaches what runs, and ends it" {
  unit one/test-one 1 0 "trap 'echo caught >>\"\$ORDER\"; exit 130' INT; sleep 600 & wait"
  env --default-signal=INT "$SOURCE/scripts/test-run.sh" "$BUILD" unit >out 2>&1 3>&- &
  local runner=$! code=0
  until_true has_lines order 1
  kill -INT "$runner"
  wait "$runner" || code=$?
  [ "$code" = 130 ]
  [ "$(tail -n 1 order)" = caught ]
}

@test "test-run.sh: a name that no test has is 64, and nothing is run" {
  unit one/test-one 1 0
  tests unit/two
  [ "$status" = 64 ]
  [ "$stderr" = "test-run.sh: no test is called 'unit/two'" ]
  tests unit nonsense
  [ "$status" = 64 ]
  [ "$stderr" = "test-run.sh: no suite 'nonsense' (unit, vectors, cli, fault, dist, cluster, device, fuzz)" ]
  [ ! -e order ]
}
