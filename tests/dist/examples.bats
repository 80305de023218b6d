#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every example in man pages, README.md and docs/ runs as it is written; see run-examples.sh.

load common

@test "every example of the man pages, of README.md and of docs/ runs" {
  "$TFD_SOURCE/tests/dist/run-examples.sh"
}

# A source tree of one page, to test the runner itself.
page() {
  mkdir -p "$BATS_TEST_TMPDIR/source/man" "$BATS_TEST_TMPDIR/source/examples"
  (echo 'x(1)' && echo && cat) >"$BATS_TEST_TMPDIR/source/man/x.1.scd"
  : >"$BATS_TEST_TMPDIR/source/README.md"
}
run_page() { TFD_SOURCE=$BATS_TEST_TMPDIR/source run "$TFD_SOURCE/tests/dist/run-examples.sh" "$@"; }

@test "run-examples.sh: runs blocks of EXAMPLES only, each in a directory of its own" {
  printf '# SYNOPSIS\n\n```\nfalse\n```\n\n# EXAMPLES\n\n```\ntouch here\nls examples\n```\ntext\n\n```\n[ ! -e here ]\n```\n\n# NOTES\n\n```\nfalse\n```\n' | page
  run_page
  [ "$status" = 0 ]
  [ "${lines[0]}" = "ok man/x.1.scd:11" ]
  [ "${lines[1]}" = "ok man/x.1.scd:17" ]
  [ "${lines[2]}" = "2 examples, 0 failed" ]
}

@test "run-examples.sh: what a training left in examples/ isn't there" {
  printf '# EXAMPLES\n\n```\n[ -e examples/small/program.json ]\n[ ! -e examples/small/small-checkpoints ]\n```\n' | page
  mkdir -p "$BATS_TEST_TMPDIR/source/examples/small/small-checkpoints"
  touch "$BATS_TEST_TMPDIR"/source/examples/small/{program.json,small-checkpoints/latest}
  run_page
  [ "$status" = 0 ] || { echo "$output"; false; }
}

@test "run-examples.sh: what the rendered page shows is run, where backslashes are written twice" {
  printf '# EXAMPLES\n```\n# exits: 3\nlines=$(printf "%%s\\\\n" a b |\n\n  wc -l)\n[ "$lines" = 2 ] && exit 3\n```\n\ntext\n\n```\n[ "$(echo a \\\\\n  b)" = "a b" ]\n```\n' | page
  run_page
  [ "$status" = 0 ] || { echo "$output"; false; }
  [ "${lines[0]}" = "ok man/x.1.scd:4" ]
  [ "${lines[1]}" = "ok man/x.1.scd:14" ]
}

@test "run-examples.sh: a page that can't be rendered fails, and the next ones run" {
  printf '# EXAMPLES\n\n```\ntrue\n```\n\n-no list\n' | page
  (echo 'y(1)' && printf '\n# EXAMPLES\n\n```\ntrue\n```\n') >"$BATS_TEST_TMPDIR/source/man/y.1.scd"
  run_page
  [ "$status" = 1 ]
  [[ $output == *"not ok man/x.1.scd:1: exit code 99"*"ok man/y.1.scd:5"*"2 examples, 1 failed" ]]
}

@test "run-examples.sh: a wrong exit code, a failing pipe and an unset variable fail" {
  printf '# EXAMPLES\n```\n# exits: 3\nexit 3\n```\n```\n# exits: 3\ntrue\n```\n```\nfalse | cat\n```\n```\necho $nothing\n```\n' | page
  run_page
  [ "$status" = 1 ]
  [ "${lines[0]}" = "ok man/x.1.scd:4" ]
  [[ $output == *"not ok man/x.1.scd:8: exit code 0"* ]]
  [[ $output == *"not ok man/x.1.scd:12: exit code 1"* ]]
  [[ $output == *"not ok man/x.1.scd:15: exit code 1"* ]]
  [[ $output == *"4 examples, 3 failed" ]]
}

@test "run-examples.sh: what an example needs is skipped unless it is there" {
  printf '# EXAMPLES\n```\n# needs: slurm cloud-tpu\n# exits: 2\nexit 2\n```\n' | page
  TFD_HAVE_SLURM=1 run_page
  [ "${lines[0]}" = "skip man/x.1.scd:4 (cloud-tpu)" ]
  TFD_HAVE_SLURM=1 TFD_HAVE_CLOUD_TPU=1 run_page
  [ "${lines[0]}" = "ok man/x.1.scd:4" ]
}

@test "run-examples.sh: pages in docs/, whose comments state what a block needs and how it ends" {
  printf '# NAME\n\nx - y\n' | page
  mkdir -p "$BATS_TEST_TMPDIR/source/docs/a"
  printf '<!-- exits: 3 -->\n```sh\nexit 3\n```\n<!-- needs: slurm -->\n```sh\nfalse\n```\n```bash\nfalse\n```\n```sh\ntrue\n```\n' >"$BATS_TEST_TMPDIR/source/docs/a/one.md"
  printf '```sh\nfalse\n```\n\n<!-- one folder -->\n' >"$BATS_TEST_TMPDIR/source/docs/a/two.md"
  run_page
  [ "$status" = 0 ] || { echo "$output"; false; }
  [ "${lines[0]}" = "ok docs/a/one.md:2" ]
  [ "${lines[1]}" = "skip docs/a/one.md:6 (slurm)" ]
  [ "${lines[2]}" = "ok docs/a/one.md:12" ]
  [ "${lines[3]}" = "3 examples, 0 failed" ]
}

@test "run-examples.sh: what an example leaves running is killed, and one that hangs fails" {
  printf '# EXAMPLES\n```\nsleep 600 & echo $! > "$PIDS"\n```\n```\nsleep 601\n```\n' | page
  export PIDS=$BATS_TEST_TMPDIR/pids TFD_EXAMPLE_LIMIT=3
  run_page
  [ "$status" = 1 ]
  [ "${lines[0]}" = "ok man/x.1.scd:4" ]
  [ "${lines[1]}" = "not ok man/x.1.scd:7: still running after 3 s" ]
  # Gone, or not yet waited for by its new parent.
  [[ "$(cut -d' ' -f3 "/proc/$(cat "$PIDS")/stat" 2>/dev/null)" =~ ^Z?$ ]]
}

@test "run-examples.sh: no example at all is a failure" {
  printf '# NAME\n\nx - y\n' | page
  run_page
  [ "$status" = 1 ]
}
