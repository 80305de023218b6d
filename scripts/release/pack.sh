#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pack.sh TREE CALLED OUT: an archive and wheels of TREE, whose folder is called tfd-VERSION-linux-x86_64, into OUT: the same bytes from the same
# files, whenever and whoever's they are. CALLED: the program that replaces a link in a wheel.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$1 called=$2 out=$3
name=$(basename "$tree")
version=${name#tfd-} version=${version%-linux-x86_64}

tar --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$(dirname "$tree")" -cf - "$name" |
  xz -T2 "-${TFD_RELEASE_LEVEL:-6}" --block-size=32MiB >"$out/$name.tar.xz"
"$here/wheel.py" tools --root "$tree" --version "$version" --out "$out" --called "$called"
"$here/wheel.py" plugin --root "$tree" --version "$version" --out "$out"
