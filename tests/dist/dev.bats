#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ./dev, in a source tree of its own, with a ninja that only says what it was asked for.

bats_require_minimum_version 1.5.0
load common
load ../cli/until

setup() {
  unset TFD_SANITIZED TFD_TEST_COMMAND
  SOURCE=$BATS_TEST_TMPDIR/source BUILT=$BATS_TEST_TMPDIR/built
  export TFD_BUILD=$SOURCE/build BUILT
  mkdir -p "$SOURCE"/{scripts,build} "$BATS_TEST_TMPDIR/bin"
  cp "$TFD_SOURCE/dev" "$SOURCE"
  stand_in ninja 'printf "%s\n" "$*" >"$BUILT"'
  stand_in dpkg-query 'shift 3; printf "%s install ok installed\n" "$@"' # all packages are installed
  printf '#!/bin/sh\nshift; printf "<%%s>" "$@"\n' >"$SOURCE/scripts/test-run.sh"
  chmod +x "$SOURCE/scripts/test-run.sh"
  PATH=$BATS_TEST_TMPDIR/bin:$PATH
  printf 'build tests/unit/%s: link\n' data/test-data data/test-data-files program/test-program program/program.p/test-data.cpp.o \
    >"$SOURCE/build/build.ninja"
}
stand_in() { # NAME LINE-OF-SHELL
  printf '#!/bin/sh\n%s\n' "$2" >"$BATS_TEST_TMPDIR/bin/$1"
  chmod +x "$BATS_TEST_TMPDIR/bin/$1"
}
dev() { run --separate-stderr timeout 60 "$SOURCE/dev" "$@"; }

@test "dev test SUITE CASE: builds what the suite runs, and no more, and passes the case on" {
  dev test unit/data 'shard: *'
  [ "$status" = 0 ]
  [ "$output" = "<--case><shard: *><unit/data>" ]
  [ "$(cat "$BUILT")" = "-C $SOURCE/build --quiet tests/unit/data/test-data tests/unit/data/test-data-files" ]
  dev test unit/data-files 'it reads'
  [ "$(cat "$BUILT")" = "-C $SOURCE/build --quiet tests/unit/data/test-data-files" ]
  dev test cli/t30 'it reads'
  [ "$output" = "<--case><it reads><cli/t30>" ]
  [ "$(cat "$BUILT")" = "-C $SOURCE/build --quiet shell-tests" ]
}

@test "dev test: a name of several words without quotes is said to need them" {
  dev test unit/data shard: "the rows"
  [ "$status" = 1 ]
  [ "$stderr" = "./dev: test SUITE CASE: a name with spaces needs quotes" ]
}

@test "dev tidy: looks at the sources that differ from main, or at those named, and fails by what is found" {
  export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org TFD_SETUP_CACHE=$BATS_TEST_TMPDIR/cache
  stand_in clang-tidy-14 'for last; do :; done; echo "looked at $last"; echo "27185 warnings generated." >&2; ! grep -q wrong "$last"'
  mkdir -p "$SOURCE"/{subprojects/pjrt,build-tidy} && touch "$SOURCE"/{subprojects/pjrt/unpack.py,build-tidy/build.ninja}
  cd "$SOURCE" || return 1
  git init -q -b main . && touch a.cpp b.cpp c.hpp && git add . && git commit -qm one
  git checkout -qb mine && echo 1 >a.cpp && echo 1 >c.hpp && git commit -qam two
  dev tidy
  [ "$status" = 0 ]
  [ "$output" = "looked at a.cpp" ]
  echo wrong >b.cpp
  dev tidy
  [ "$status" != 0 ]
  [ "$(sort <<<"$output")" = $'looked at a.cpp\nlooked at b.cpp' ]
  dev tidy a.cpp
  [ "$status" = 0 ]
  [ "$output" = "looked at a.cpp" ]
  git checkout -q . && git checkout -q main
  git commit -q --allow-empty -m three
  dev tidy
  [ "$status" = 0 ]
  [[ $stderr == "no C++ source differs from "*" (one)" ]]
}

@test "dev watch: runs a room's unit tests, and again when a source has changed" {
  export TFD_SETUP_CACHE=$BATS_TEST_TMPDIR/cache
  stand_in ninja 'echo "$*" >>"$BUILT"'
  mkdir -p "$SOURCE"/{subprojects/pjrt,build-watch,lib,tests/unit,tests/kit}
  touch "$SOURCE"/{subprojects/pjrt/unpack.py,lib/a.cpp}
  cp "$SOURCE/build/build.ninja" "$SOURCE/build-watch"
  cd "$SOURCE" || return 1
  git init -q -b main .
  timeout 60 ./dev watch program 'it is *' >out 2>err 3>&- &
  local watching=$! wanted="-C $SOURCE/build-watch --quiet tests/unit/program/test-program"
  until_true has_lines "$BUILT" 1
  [ "$(cat "$BUILT")" = "$wanted" ]
  echo 1 >lib/a.cpp
  until_true has_lines "$BUILT" 2
  kill "$watching"
  wait "$watching" || true
  [ "$(cat "$BUILT")" = "$wanted"$'\n'"$wanted" ]
  [[ $(cat out) == "<--case><it is *><unit/program>"* ]]
}

@test "dev fmt --check: says what isn't formatted, and changes nothing" {
  command -v clang-format >/dev/null || skip "no clang-format"
  cp "$TFD_SOURCE/.clang-format" "$SOURCE"
  printf 'int main( ) { return 0;}\n' >"$SOURCE/a.cpp"
  cp "$SOURCE/a.cpp" "$SOURCE/b.cpp"
  dev fmt --check a.cpp
  [ "$status" != 0 ]
  [[ $stderr == *a.cpp:1* ]]
  cmp "$SOURCE/a.cpp" "$SOURCE/b.cpp"
  dev fmt a.cpp
  [ "$(cat "$SOURCE/a.cpp")" = "int main() { return 0; }" ]
  cmp "$SOURCE/b.cpp" <(printf 'int main( ) { return 0;}\n')
  dev fmt --check a.cpp
  [ "$status" = 0 ]
}

@test "commit-subject.sh: the room first, no full stop, not too long" {
  subject() {
    printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/message"
    run "$TFD_SOURCE/scripts/commit-subject.sh" "$BATS_TEST_TMPDIR/message"
  }
  for right in "resolve: read it" "transport, exec: count bytes" "doc: a page" "Merge branch 'x'"; do
    subject "$right"
    [ "$status" = 0 ] || fault "$right: $output"
  done
  for wrong in "read it" "nowhere: read it" "resolve, nowhere: read it" "resolve: read it." "$(printf 'resolve: %0100d' 1)" ""; do
    subject "$wrong"
    [ "$status" = 65 ] && [ "$(wc -l <<<"$output")" = 1 ] || fault "$wrong: $status $output"
  done
  no_faults
}

@test "dev: help names each of its commands" {
  local command
  for command in $(sed -n '/^case \$command in/,$ s/^  \([a-z]*\)) *.*/\1/p' "$TFD_SOURCE/dev"); do
    "$TFD_SOURCE/dev" help | grep -qE "^  ([a-z]+, )*$command\b" || { echo "$command isn't there"; return 1; }
  done
}
