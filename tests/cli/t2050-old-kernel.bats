#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tools on Linux 4.18, as RHEL 8 has it, and below filters of system calls that know no newer ones: there are no pidfds. And
# with a libcurl of that age.

load serve
setup() {
  serve_setup
  OLD=$TFD_BUILD/tests/kit/old-kernel
  "$OLD" true || skip "no filters of system calls here"
}
teardown() { serve_teardown; }

@test "old kernel: processes are started, watched and ended, whether system calls aren't there or aren't allowed" {
  for how in ENOSYS EPERM; do
    export OLD_KERNEL=$how
    run -3 timeout 60 "$OLD" tfd-serve --jobs worker=1,ps=1 -- sh -c 'tfd-status >/dev/null && exit 3'
    # A thread that watches a child keeps a descriptor for an instant after that has ended: it isn't counted here.
    run -0 timeout 60 "$OLD" "$TFD_BUILD/tests/unit/process/test-process" -tce='*a hundred starts*'
  done
}

@test "old kernel: tfd-launch starts a task again that was killed, and tells how the last one ended" {
  run -0 --separate-stderr timeout 60 "$OLD" tfd-launch -n 2 --workers 1:2 --max-failures 1 -- \
    sh -c '[ -e "$0.$TFD_TASK" ] || { : >"$0.$TFD_TASK"; [ "$TFD_TASK" != worker:1 ] || kill -9 $$; }' "$T/seen"
  [[ $stderr == *'worker:1 was killed by SIGKILL'* ]]
  run -7 timeout 60 "$OLD" tfd-launch -n 2 -- sh -c '[ "$TFD_TASK" = worker:0 ] || exit 7; sleep 60'
}

@test "old libcurl: requests are made, certificates and keys come from memory, without the options that came later" {
  local real
  [ -e "$TFD_BUILD/tests/kit/old-curl.so" ] || skip "its stand-in is for x86-64"
  for real in /usr/lib/x86_64-linux-gnu/libcurl.so.4 /usr/lib64/libcurl.so.4; do [ ! -e "$real" ] || break; done
  [ -e "$real" ] || skip "no libcurl.so.4"
  mkdir "$T/old"
  ln -s "$TFD_BUILD/tests/kit/old-curl.so" "$T/old/libcurl.so.4"
  TFD_TEST_CURL=$real LD_LIBRARY_PATH=$T/old run -0 timeout 100 "$TFD_BUILD/tests/unit/resolve/test-resolve-http"
}
