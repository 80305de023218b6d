#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The files of ./dev release in dist/: the archive and the wheels, as an ordinary user installs them, in this system and in bare roots of
# Debian 11 and 12 (where debootstrap is here, by root). Everything trains the digits.

bats_require_minimum_version 1.5.0
load ../cli/until

setup_file() {
  export DIST=$TFD_SOURCE/dist
  [ -e "$DIST/SHA256SUMS" ] || "$TFD_SOURCE/dev" release
}
setup() {
  T=$BATS_TEST_TMPDIR
  cd "$T"
  ARCHIVE=$(echo "$DIST"/tfd-*-linux-x86_64.tar.xz)
  PATH=$(printf '%s' "$PATH" | tr ':' '\n' | grep -vxF "$TFD_BUILD/tools" | paste -sd:)  # nothing of the build
}

# Trains an example on three workers and two parameter servers by the tools in PATH, and alone.
trains='set -eu
  export HOME=$PWD TFD_CACHE_DIR=$PWD/cache
  program=$(tfd example digits 2>/dev/null)
  timeout 100 tfd-run "$program" --set train.steps=300 </dev/null >alone 2>alone.talk || { cat alone.talk; exit 1; }
  rm -r digits/digits-checkpoints
  tfd-resolve local --jobs worker=3,ps=2 | tfd-serve | timeout 100 tfd-coordinate "$program" --set train.steps=300 >cluster 2>talk || { cat talk; exit 1; }
  tail -qn 1 alone cluster | grep -c "\"reason\":\"done\"" | grep -qx 2
  tfd-doctor >doctor && grep -q "^ok *plug-in .*/lib/tfd/pjrt-cpu.so$" doctor
  for guide in program slurm operating; do PATH=${PATH%%:*} tfd help $guide | grep -q .; done'

@test "release: sums are right, and nothing of who built it is in it" {
  (cd "$DIST" && sha256sum --check --quiet SHA256SUMS)
  tar -xf "$ARCHIVE"
  cd tfd-*/
  objdump -T bin/tfd | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | grep -qx GLIBC_2.28
  run ! grep -aqF -e "$TFD_SOURCE" -e "${TFD_SETUP_CACHE:-$HOME/.cache}" bin/tfd
  [ "$(find bin -type l | wc -l)" -ge 8 ]
  [ -s share/man/man1/tfd-run.1 ]
  [ -s share/tfd/examples/digits/program.json ]
  (cd share/tfd/examples/plugin && cc -std=c11 -fsyntax-only -I . scale.c)
  [ -s share/doc/tfd/licences/libzmq3-dev.txt ]
  grep -q 'Permission is hereby granted' share/doc/tfd/licences/musl.txt
  jq -e '.bomFormat == "CycloneDX" and ([.components[].name] | index("libfmt-dev") and index("lammps-jax-pjrt-cpu"))' "$DIST"/tfd-*.cdx.json
}

@test "release: packed at another time, in another folder, with another umask, archive and wheels have the same bytes" {
  local name file
  name=$(basename "$ARCHIVE" .tar.xz)
  mkdir elsewhere again
  (umask 002 && tar --no-same-permissions -xf "$ARCHIVE" -C elsewhere)
  SOURCE_DATE_EPOCH=$(stat -c %Y "elsewhere/$name/bin/tfd")
  export SOURCE_DATE_EPOCH
  find elsewhere -exec touch -h {} +
  python3 -m zipfile -e "$DIST"/tfdist-*.whl wheel
  (umask 002 && "$TFD_SOURCE/scripts/release/pack.sh" "elsewhere/$name" wheel/tfdist-*.data/scripts/tfd-run again)
  [ "$(ls again | wc -l)" = 3 ]
  for file in again/*; do cmp "$file" "$DIST/$(basename "$file")"; done
}

@test "release: auditwheel confirms the systems that the wheels name" {
  local wheel tag
  python3 -m venv audit
  audit/bin/pip install -q --require-hashes --no-deps -r "$TFD_SOURCE/tests/release/requirements.txt" || skip "auditwheel can't be fetched"
  for wheel in "$DIST"/*.whl; do
    tag=$(audit/bin/auditwheel show --json "$wheel" | jq -r .overall_tag)
    [[ $wheel == *"-$tag.whl" ]] || { echo "$wheel is for $tag"; return 1; }
  done
}

@test "release: what the wheels' extras name is at the package index" {
  local extra name version
  version=$(basename "$ARCHIVE" -linux-x86_64.tar.xz)
  python3 -m venv venv
  venv/bin/pip download -q --no-deps --dest index packaging || skip "no package index can be reached"
  while read -r extra name; do
    venv/bin/pip install --dry-run --find-links "$DIST" "tfdist[$extra]==${version#tfd-}" >said || { cat said; return 1; }
    grep -q "^Would install .*$name-[0-9]" said || { echo "$extra doesn't bring $name"; return 1; }
  done <<<$'cuda12 jax-cuda12-pjrt\ncuda13 jax-cuda13-pjrt\ntpu libtpu\nexport jax'
}

@test "release: the archive trains where it is unpacked" {
  mkdir 'a place' && tar -xf "$ARCHIVE" -C 'a place' --strip-components=1
  PATH="$T/a place/bin:$PATH" bash -c "$trains"
}

@test "release: the wheels install without an index, and train" {
  python3 -m venv venv || skip "no venv here"
  venv/bin/pip install -q --no-index --find-links "$DIST" tfdist
  PATH=$T/venv/bin:$PATH bash -c "$trains"
  [ -s venv/share/man/man1/tfd-run.1 ]
  code=0
  PYTHONPATH='' venv/bin/python -m tfd_export model.keras --data train.npz 2>said || code=$?
  [ $code = 78 ]
  [[ $(<said) == "tfd_export: NumPy is missing"* ]]
  venv/bin/pip uninstall -qy tfdist tfdist-pjrt-cpu
  [ -z "$(find venv -name 'tfd*' -o -name 'pjrt-cpu.so')" ]
}

# A root of another Debian, with an ordinary user in it.
root_of() { # SUITE PACKAGES
  [ "$(id -u)" = 0 ] || skip "making a root needs root"
  command -v debootstrap >/dev/null || skip "no debootstrap (apt-get install debootstrap)"
  debootstrap --variant=minbase --include="$2" "$1" root http://deb.debian.org/debian >debootstrap.log 2>&1 || { tail debootstrap.log; return 1; }
  chroot root useradd -m somebody
  mkdir -p root/proc root/dev root/release
  mount --bind "$DIST" root/release
  mount -t proc proc root/proc
  mount --bind /dev root/dev
}
teardown() {
  local at
  for at in proc dev release; do ! mountpoint -q "root/$at" || umount "root/$at"; done
}
in_root() { chroot --userspec=somebody root /usr/bin/env -i HOME=/home/somebody PATH=/usr/bin:/bin bash -c "cd && $1"; }

@test "release: Debian 11, where the archive is unpacked by an ordinary user" {
  root_of bullseye xz-utils
  in_root "tar -xf /release/$(basename "$ARCHIVE") && PATH=\$(echo \$PWD/tfd-*/bin):\$PATH && $trains"
}

@test "release: Debian 12, by pip as an ordinary user" {
  root_of bookworm python3-venv
  in_root "python3 -m venv own && own/bin/pip install -q --no-index --find-links /release tfdist && PATH=\$PWD/own/bin:\$PATH && $trains"
}

@test "release: the packages are clean, install in Debian 12, train, and leave nothing" {
  chmod 755 "$T" # lintian doesn't like to be root
  lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$DIST"/*.deb
  root_of bookworm ca-certificates
  chroot root sh -c 'dpkg -i /release/*.deb' >log 2>&1 || { cat log; return 1; }
  in_root "$trains"
  [ -s root/usr/share/man/man1/tfd-run.1.gz ]
  [ -s root/usr/share/doc/tfd/copyright ]
  [ -s root/usr/share/bash-completion/completions/tfd-run ]
  chroot root dpkg --purge tfd tfd-pjrt-cpu >/dev/null
  [ -z "$(find root/usr -name 'tfd*' -o -name 'pjrt-cpu.so')" ]
}

@test "release: the image trains, and tfd-serve as its first process reaps and ends with its tasks" {
  local image container mounted serving
  image=$(echo "$DIST"/tfd-*.oci.tar)
  [ -e "$image" ] || skip "no image was made (it needs root and buildah)"
  in_store() { buildah --storage-driver vfs --root "$T/storage" --runroot "$T/run" "$@"; }
  container=$(in_store from --quiet --pull-never "oci-archive:$image")
  in_image() { in_store run --isolation chroot --volume "$T/work:/work" --workingdir /work "$container" -- "$@"; }
  mkdir work
  in_image tfd example digits >program
  in_image tfd-run digits/program.json --set train.steps=300 --set train.checkpoint.dir=/work/ck >alone
  in_image tfd-serve --jobs worker=3,ps=2 -- tfd-coordinate digits/program.json --set train.steps=300 --set train.checkpoint.dir=/work/ck-cluster >cluster
  tail -qn 1 alone cluster | grep -c '"reason":"done"' | grep -qx 2
  in_image tfd-doctor --json | jq -e '.checks[] | select(.name == "libcurl").state == "ok"'

  # The isolation that works everywhere has no process 1 of its own: a namespace of processes, with the image as its root.
  mounted=$(in_store mount "$container")
  unshare --pid --fork --kill-child --mount sh -c 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' \
    "$mounted" /usr/bin/tfd-serve --jobs worker=1,ps=1 --output /tmp/spec.json 3>&- &
  serving=$!
  until_true [ -s "$mounted/tmp/spec.json" ]
  mapfile -t tasks < <(pgrep -P "$(pgrep -P "$serving")")
  [ ${#tasks[@]} = 2 ]
  kill -TERM "$(pgrep -P "$serving")"
  wait "$serving"
  for task in "${tasks[@]}"; do [ ! -e "/proc/$task" ]; done
  in_store umount --all >/dev/null
}
