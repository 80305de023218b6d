#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages.sh TREE VERSION OUT: Debian packages of TREE by dpkg-deb, into OUT: tfd, and tfd-pjrt-cpu, the plug-in. As any user. The sources of TREE's
# tools are in the copyright file; accepted findings of lintian are in debian/*.lintian-overrides.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$1 version=$2 out=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
when=$(date -R -u -d "@$SOURCE_DATE_EPOCH")

# Files of every package: changelog, copyright, overrides, md5sums, a control file with the size.
finish() { # PACKAGE DPKG-DEB-ARGUMENTS…
  local package=$1 root=$work/$1
  local doc=$root/usr/share/doc/$1
  mkdir -p "$root/DEBIAN" "$doc" "$root/usr/share/lintian/overrides"
  printf 'tfd (%s-1) bookworm; urgency=medium\n\n  * Release %s.\n\n -- %s  %s\n' "$version" "$version" "$(cat "$here/debian/maintainer")" "$when" |
    gzip -9n >"$doc/changelog.Debian.gz"
  cp "$here/debian/$package.copyright" "$doc/copyright"
  cp "$here/debian/$package.lintian-overrides" "$root/usr/share/lintian/overrides/$package"
  chmod -R u=rwX,go=rX "$root"
  sed -e "s/@VERSION@/$version-1/" -e "s/@SIZE@/$(du -sk --apparent-size "$root/usr" | cut -f1)/" \
    -e "s/@MAINTAINER@/$(cat "$here/debian/maintainer")/" "$here/debian/$package.control" >"$root/DEBIAN/control"
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  chmod 644 "$root"/DEBIAN/*
  dpkg-deb --root-owner-group --threads-max=2 "${@:2}" --build "$root" "$out" >/dev/null
}

mkdir -p "$work/tfd/usr"
cp -r --preserve=mode,links "$tree"/{bin,share} "$work/tfd/usr"
(
  cd "$work/tfd/usr/share"
  find man -type f -exec gzip -9n {} +
  gzip -9nc doc/tfd/CHANGELOG.md >doc/tfd/changelog.gz
  rm doc/tfd/{CHANGELOG.md,LICENSE} doc/tfd/licences/pjrt-cpu-*  # in copyright, and in the other package
  mv zsh/site-functions zsh/vendor-completions
)
finish tfd

mkdir -p "$work/tfd-pjrt-cpu/usr/lib/tfd" "$work/tfd-pjrt-cpu/usr/share/doc/tfd-pjrt-cpu"
cp "$tree/lib/tfd/pjrt-cpu.so" "$work/tfd-pjrt-cpu/usr/lib/tfd"
gzip -9nc "$tree/share/doc/tfd/licences/pjrt-cpu-THIRD_PARTY_NOTICES.txt" >"$work/tfd-pjrt-cpu/usr/share/doc/tfd-pjrt-cpu/THIRD_PARTY_NOTICES.gz"
finish tfd-pjrt-cpu -z1  # 200 MB: more would take minutes
