#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every tool's treatment of its streams and signals, shown with tfd: closed descriptors, closed pipes, full disks, color.

bats_require_minimum_version 1.5.0

setup() {
  unset TFD_LOG NO_COLOR
}

@test "a reader that goes away ends a filter by SIGPIPE, without a word" {
  # The reader is gone before anything is written.
  run -141 bash -c 'exec 3> >(exec true); wait $!; exec tfd --help >&3'
  [ -z "$output" ]
}

@test "SIGPIPE that was ignored by the caller is at its default again" {
  run -141 bash -c 'trap "" PIPE; exec 3> >(exec true); wait $!; exec tfd --help >&3'
  [ -z "$output" ]
}

@test "a full disk is 71 and says so" {
  [ -e /dev/full ] || skip "no /dev/full"
  run -71 bash -c 'tfd --help >/dev/full'
  [[ $output == "tfd: cannot write to stdout: "*"o space left on device" ]]
}

@test "closed standard descriptors do no harm" {
  run -0 bash -c 'tfd --version <&-'
  [[ $output == tfd\ * ]]
  run -64 bash -c 'tfd --bogus 2>&-'
  [ -z "$output" ]
  run -64 bash -c 'tfd --bogus <&- >&- 2>&-'
  run -0 bash -c 'tfd help <&- 2>&-'
  [[ $output == tfd:* ]]
}

@test "what is printed to a closed stdout is lost, and that is 71" {
  run -71 bash -c 'tfd --version >&-'
  [[ $output == "tfd: cannot write to stdout: "* ]]
  run -71 bash -c 'tfd-resolve local --jobs worker=1 >&-'
  run -71 bash -c 'echo "[{\"range\": 3}]" | tfd-data - >&-'
  run -71 bash -c "tfd-run -q \"$TFD_SOURCE/examples/linear/program.json\" --set train.steps=3 >&-"
  run -71 bash -c 'tfd-serve -q --jobs worker=1 >&-'
  run -0 bash -c 'tfd-serve -q --jobs worker=1 -- true >&-'  # which prints nothing
}

@test "what is to be read from a closed stdin isn't there, and that is 71" {
  cp -r "$TFD_SOURCE/examples/digits" "$BATS_TEST_TMPDIR"
  cd "$BATS_TEST_TMPDIR/digits"
  for asked in --evaluate=eval_step "--predict predict"; do
    run -71 bash -c "tfd-run -q program.json --untrained $asked --dataset - <&-"
    [ "$output" = "tfd-run: --dataset -: cannot read stdin: bad file descriptor" ]
  done
  run -71 bash -c 'tfd-status --cluster - <&-'
  run -71 bash -c 'tfd-plot - <&-'
  run -71 bash -c 'tfd-data - <&-'
  [ "$output" = "tfd-data: stdin: cannot read the input: bad file descriptor" ]
  run -0 bash -c "tfd-run -q program.json --set train.steps=2 --set train.checkpoint.dir=ck <&-"  # which reads nothing
}

@test "errors are on stderr only, data on stdout only" {
  [ -z "$(tfd --bogus 2>/dev/null || true)" ]
  [ -z "$(tfd --version 2>&1 >/dev/null)" ]
}

@test "control characters of the command line don't reach the terminal" {
  run -64 tfd $'--\x1b[31mred'
  [[ $output != *$'\x1b'* ]]
  run -64 tfd $'\x1b]0;title\a'
  [[ $output != *$'\x1b'* && $output != *$'\a'* ]]
  [ "${#lines[@]}" = 1 ]
}

@test "a write that blocks on a non-blocking pipe is waited for" {
  # Both ends of the pipe are made non-blocking before the reader reads; all of the text arrives.
  run -0 python3 - <<'PY'
import fcntl, os, subprocess
reading, writing = os.pipe()
fcntl.fcntl(writing, 1031, 4096)  # F_SETPIPE_SZ: one page, less than is written
os.set_blocking(writing, False)
tool = subprocess.Popen(["tfd", "--dump-cli"], stdout=writing)
os.close(writing)
text = b""
while piece := os.read(reading, 100):
    text += piece
assert tool.wait() == 0 and text.endswith(b"}\n"), text[-100:]
PY
}
