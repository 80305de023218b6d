#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ./dev, in a source tree of its own, with a ninja that only says what it was asked for.

bats_require_minimum_version 1.5.0
load common

setup() {
  unset TFD_SANITIZED TFD_TEST_COMMAND
  SOURCE=$BATS_TEST_TMPDIR/source BUILT=$BATS_TEST_TMPDIR/built
  export TFD_BUILD=$SOURCE/build BUILT
  mkdir -p "$SOURCE"/{scripts,build} "$BATS_TEST_TMPDIR/bin"
  cp "$TFD_SOURCE/dev" "$SOURCE"
  printf '#!/bin/sh\nprintf "%%s\\n" "$*" >"$BUILT"\n' >"$BATS_TEST_TMPDIR/bin/ninja"
  printf '#!/bin/sh\nshift; printf "<%%s>" "$@"\n' >"$SOURCE/scripts/test-run.sh"
  chmod +x "$BATS_TEST_TMPDIR/bin/ninja" "$SOURCE/scripts/test-run.sh"
  PATH=$BATS_TEST_TMPDIR/bin:$PATH
  printf 'build tests/unit/%s: link\n' data/test-data data/test-data-files program/test-program program/program.p/test-data.cpp.o \
    >"$SOURCE/build/build.ninja"
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
