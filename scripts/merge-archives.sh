#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One archive of the objects of several thin ones: merge-archives.sh OUTPUT ARCHIVE…, in the build folder.
# Meson 1.0 has extract_all_objects() for it, which names a unit too many where a library's sources fill its units exactly.
set -eu
output=$1
shift
rm -f "$output"
for archive; do ar t "$archive"; done | xargs ar csrD "$output"
