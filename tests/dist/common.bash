# SPDX-License-Identifier: Apache-2.0
# Code shared by the tests of the distribution. TFD_BUILD is the build folder, TFD_SOURCE the source's root; the runner
# puts the build's tools first in PATH.

: "${TFD_SOURCE:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}" "${TFD_BUILD:=$TFD_SOURCE/build}"
export TFD_SOURCE TFD_BUILD PATH
PATH=$TFD_BUILD/tools:$PATH
unset TFD_LOG NO_COLOR

# The installed executables, by what meson knows, not by what lies around.
tools() {
  jq -r '.[] | select(.type == "executable" and .installed and (.name | test("^tfd(-|$)"))) | .name' \
    "$TFD_BUILD/meson-info/intro-targets.json" | sort
}

# Says what is wrong and remembers it: a test lists every fault before it fails.
fault() { echo "$*" >>"$BATS_TEST_TMPDIR/faults"; }
no_faults() { [ ! -e "$BATS_TEST_TMPDIR/faults" ] || { cat "$BATS_TEST_TMPDIR/faults"; return 1; }; }
