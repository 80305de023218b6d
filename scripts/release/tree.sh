#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tree.sh SOURCE BUILD TREE ZIG SBOM: the released files, from a build: its tools, pages, completions and examples, the CPU plug-in beside them,
# and the licenses of all its parts. ZIG: - where it links nothing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$1 build=$2 tree=$3 zig=$4 sbom=$5
introspect() { meson introspect "$build" "--$1" | python3 -c "import json, sys; print($2)"; }
version=$(introspect projectinfo 'json.load(sys.stdin)["version"]')
prefix=$(introspect buildoptions '[one["value"] for one in json.load(sys.stdin) if one["name"] == "prefix"][0]')

stage=$(mktemp -d "$(dirname "$tree")/stage.XXXXXX")
trap 'rm -rf "$stage"' EXIT
DESTDIR=$stage/root meson install -C "$build" --no-rebuild --quiet --tags runtime,man
rm -rf "$tree" && mv "$stage/root$prefix" "$tree"
rm -rf "$tree/share/tfd/examples"  # what lies in their folders, checkpoints too: only what git knows is released
git -C "$source" ls-files -z examples | tar -C "$source" --null -T - -cf - | tar -C "$tree/share/tfd" -xf -
mkdir "$tree/share/tfd/examples/plugin/tfd"  # the one example that needs a header
cp "$source/lib/function/include/tfd/function.h" "$tree/share/tfd/examples/plugin/tfd"
plugin=$(python3 "$source/subprojects/pjrt/unpack.py" "$source/scripts/pjrt-requirements.txt" | sed -n 2p)
mkdir -p "$tree/lib/tfd" "$tree/share/doc/tfd"
cp "$plugin" "$tree/lib/tfd/pjrt-cpu.so" && chmod 644 "$tree/lib/tfd/pjrt-cpu.so"
cp "$source"/{LICENSE,README.md,CHANGELOG.md} "$tree/share/doc/tfd"
git -C "$source" ls-files -z docs | tar -C "$source" --null -T - -cf - | tar -C "$tree/share/doc/tfd" -xf -
"$here/contents.py" "$tree" "$version" "$(dirname "$plugin")" "$zig" "$sbom"
