#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ./dev bundle: what a machine with a GPU is given runs from another folder, without this one.

@test "bundle: a copied one runs the tests of devices, here on CPUs" {
  [ -z "${TFD_TEST_TOOLS:-}" ] || skip "a bundle has the build's own tools"
  "$TFD_SOURCE/tests/device/bundle.sh" "$TFD_BUILD" "$BATS_TEST_TMPDIR/made" 2>made.log || { cat made.log; false; }
  mv "$BATS_TEST_TMPDIR/made" "$BATS_TEST_TMPDIR/copied"
  # Without the results of CPUs it would compute them anew.
  [ "$(find "$BATS_TEST_TMPDIR/copied/cpu" -type f -size +0 | wc -l)" -gt 5 ]
  run -0 env -i HOME="$HOME" PATH=/usr/bin:/bin TF_CPP_MIN_LOG_LEVEL=3 timeout 300 "$BATS_TEST_TMPDIR/copied/run" cpu
  [[ $output == *"ok 2 gpu: digits has the losses of a CPU"* ]]
  [[ $output != *"not ok"* ]]
  [[ $output == *"nothing to compare with"* ]]
}

setup() {
  bats_require_minimum_version 1.5.0
  cd "$BATS_TEST_TMPDIR" || return 1
}
