#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# image.sh TREE OUT: an OCI image as one file, by buildah without a daemon: TREE in /usr, and what it needs of this Debian (glibc, libstdc++,
# libcurl, OpenSSL, root certificates, with their licenses). No shell, no package manager. Left out with a word where root or buildah isn't.
set -euo pipefail
tree=$1 out=$2
left_out() { echo "image left out: $*" >&2 && exit 0; }
[ "$(id -u)" = 0 ] || left_out "it needs root"
command -v buildah >/dev/null || left_out "there is no buildah (apt-get install buildah)"
work=$(mktemp -d)
buildah() { command buildah --storage-driver vfs --root "$work/storage" --runroot "$work/run" "$@"; }
trap 'buildah umount --all >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

root=$work/root
mkdir -p "$root"/{etc/ssl/certs,lib64,root,tmp,usr/lib/x86_64-linux-gnu,usr/share/doc}
chmod 1777 "$root/tmp"
ln -s usr/lib "$root/lib"
ln -s usr/bin "$root/bin"
cp -r --preserve=links,mode "$tree"/. "$root/usr"
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64"
# Libraries that are loaded at run time, and all that they are linked to.
loaded=(libcurl.so.4 libcrypto.so.3 libstdc++.so.6 libgcc_s.so.1 libnss_files.so.2 libnss_dns.so.2 libresolv.so.2 libpthread.so.0 libdl.so.2 librt.so.1)
mapfile -t libraries < <(for name in "${loaded[@]}"; do
  path=/usr/lib/x86_64-linux-gnu/$name
  echo "$path"
  ldd "$path" | sed -nE 's,.*=> (/[^ ]*) .*,\1,p'
done | sed 's,^/lib/,/usr/lib/,' | sort -u)
cp -L "${libraries[@]}" "$root/usr/lib/x86_64-linux-gnu"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs"
# Debian says of a library where it lies with or without /usr.
mapfile -t packages < <(for path in "${libraries[@]}"; do dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "${path#/usr}"; done | sed 's/:.*//' | sort -u)
for package in "${packages[@]}" ca-certificates; do
  install -D -m 644 "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
done
printf 'root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/tmp:/sbin/nologin\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
chmod -R go+rX-w "$root"
chmod 1777 "$root/tmp"

container=$(buildah from scratch 2>"$work/said") || left_out "$(tail -n 1 "$work/said")"
buildah copy --quiet "$container" "$root" / >/dev/null
buildah config --entrypoint '["/usr/bin/tfd"]' --cmd '["help"]' --env PATH=/usr/bin --env HOME=/tmp \
  --label org.opencontainers.image.title=tfd --label org.opencontainers.image.licenses=Apache-2.0 --stop-signal SIGTERM "$container"
buildah commit --quiet --timestamp "$SOURCE_DATE_EPOCH" --format oci --disable-compression=false "$container" "oci:$work/image:tfd" >/dev/null
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$work/image" -cf "$out" .
