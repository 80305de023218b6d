#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# release.sh SOURCE CACHE: what can be installed without a compiler, into SOURCE/dist: a relocatable archive, wheels, packages and an image,
# with an SBOM and SHA256SUMS. The same bytes from the same commit on the same Debian 12, in whichever folder. ./dev release calls it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$1 cache=$2 build=$1/build-release dist=$1/dist
say() { printf '%s\n' "$*" >&2; }
SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C

zig=$cache/zig-0.17.1/ziglang/zig
if [ ! -x "$zig" ]; then
  say "fetching zig, whose linker knows old glibcs (100 MB, once)"
  python3 -m pip download -q --require-hashes --no-deps --no-cache-dir -d "$cache/wheels" -r "$here/requirements.txt"
  rm -rf "$cache/zig-0.17.1"
  python3 -m zipfile -e "$cache"/wheels/ziglang-0.17.1-*.whl "$cache/zig-0.17.1"
  chmod +x "$zig"
fi
archives=$cache/release-archives-$(cat "$here"/{archives.sh,shim.c,zmq_platform.hpp} | sha256sum | cut -c1-16)
say "static libraries"
"$here/archives.sh" "$archives"

say "tools"
rm -rf "$build"  # pages have a date, tools a commit: not those of an earlier release. ccache has the objects
meson setup "$build" "$source" --prefix=/ --libdir=lib -Dtests=false -Drelocatable=true -Done_file=true >"$cache/configure.log" 2>&1 ||
  { tail -n 30 "$cache/configure.log" >&2; exit 1; }
ninja -C "$build" --quiet

version=$(meson introspect "$build" --projectinfo | python3 -c 'import json, sys; print(json.load(sys.stdin)["version"])')
name=tfd-$version-linux-x86_64 tree=$dist/root/tfd-$version-linux-x86_64
rm -rf "$dist" && mkdir -p "$dist/root"
"$here/tree.sh" "$source" "$build" "$tree" "$zig" "$dist/$name.cdx.json"
"$here/link.sh" "$build" "$archives" "$zig" "$tree/bin/tfd"
newest=$(objdump -T "$tree/bin/tfd" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
[ "$newest" = GLIBC_2.28 ] || { say "the tools need $newest, not glibc 2.28"; exit 1; }

say "archive, wheels, packages, image"
"$zig" cc -target x86_64-linux-musl -Os -static -s -o "$build/called" "$here/called.c"
"$here/pack.sh" "$tree" "$build/called" "$dist"
"$here/packages.sh" "$tree" "$version" "$dist"
"$here/image.sh" "$tree" "$dist/$name.oci.tar"
rm -rf "$dist/root"
(cd "$dist" && sha256sum -- * >SHA256SUMS)
(cd "$dist" && ls -l) >&2
