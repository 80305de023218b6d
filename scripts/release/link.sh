#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# link.sh BUILD ARCHIVES ZIG OUT: links BUILD's tools/tfd, all tools in one file, against glibc 2.28, whatever this system has.
# The objects that GCC has compiled and tests have run are linked; an undefined symbol is an error.
set -euo pipefail
build=$1 archives=$2 zig=$3 out=$4
cd "$build"
mapfile -t objects < <(ninja -t commands tools/tfd | tail -n 1 | tr ' ' '\n' | grep -E '^(tools|lib)/.*[.](o|a)$')
system=$(dirname "$(gcc -print-file-name=libz.a)")
exec "$zig" cc -target x86_64-linux-gnu.2.28 -O2 -s -pie -o "$out" -Wl,--gc-sections "$archives/mimalloc.o" -Wl,--start-group "${objects[@]}" \
  -Wl,--whole-archive "$archives/libmicrohttpd.a" -Wl,--no-whole-archive `# references to it are weak` \
  "$archives"/lib{fmt,simdjson,isal,zmq}.a "$system"/lib{yaml-cpp,sodium,z,minizip,md}.a "$(gcc -print-file-name=libstdc++.a)" \
  -Wl,--end-group "$archives/shim.o" -lunwind -lpthread -ldl -lm -lrt
