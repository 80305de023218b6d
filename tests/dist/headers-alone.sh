#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles every header of an installed include folder on its own: headers-alone.sh INCLUDE
# error.hpp, half of what most of them take, is compiled once for all that include it anyway. The exit code is 0 when all
# compile without a warning; the compiler says which don't.
set -euo pipefail

include=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags=(-std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Werror "-I$include" -fsyntax-only)
first=tfd/base/error.hpp

cd "$include"
find tfd -type f | sort >"$scratch/all"
[ -s "$scratch/all" ]

# Those that include it, or a header that does.
grep -roE '^#include "tfd/[^"]+' tfd | sed 's/:#include "/ /' | awk -v first="$first" '
  { from[NR] = $1; to[NR] = $2 }
  END {
    reaches[first] = 1
    do {
      grown = 0
      for (i = 1; i <= NR; i++) if (reaches[to[i]] && !reaches[from[i]]) reaches[from[i]] = grown = 1
    } while (grown)
    for (header in reaches) if (header != first) print header
  }' | sort >"$scratch/shared"

alone() { xargs -P "$(nproc)" -I{} "${CXX:-c++}" "${flags[@]}" "$@" -include {} -x c++ /dev/null; }  # PATHS on stdin
comm -23 "$scratch/all" "$scratch/shared" | alone
echo "#include \"$first\"" >"$scratch/first.hpp"
"${CXX:-c++}" "${flags[@]/-fsyntax-only/-c}" -x c++-header "$scratch/first.hpp" -o "$scratch/first.hpp.gch"
alone -include "$scratch/first.hpp" <"$scratch/shared"
