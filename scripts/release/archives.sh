#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# archives.sh DIR: static libraries for releases, of Debian's sources where Debian has no archive, or one that needs more
# than a release may: fmt, simdjson, ISA-L, ZeroMQ, libmicrohttpd; mimalloc.o and shim.o. apt verifies what it fetches. As any user.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$1
[ ! -e "$out/complete" ] || exit 0
rm -rf "$out" && mkdir -p "$out/lists/partial" "$out/src"

cat >"$out/debian.sources" <<'TEXT'
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
TEXT
fetch=(apt-get -qq -o "Dir::Etc::sourcelist=$out/debian.sources" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$out/lists" -o APT::Sandbox::User=root)
(
  cd "$out/src"
  "${fetch[@]}" update
  "${fetch[@]}" source --download-only fmtlib simdjson libisal zeromq3 libmicrohttpd mimalloc
  for one in *.dsc; do dpkg-source --no-check -x "$one" >/dev/null; done
)
cd "$out"
common=(-O2 -fPIC -DNDEBUG -w "-ffile-prefix-map=$out/=")
archive() { # NAME OBJECTS…
  local name=$1
  shift
  ar rcsD "lib$name.a" "$@"
}

c++ -std=c++17 "${common[@]}" -I src/fmtlib-*/include -c src/fmtlib-*/src/format.cc -o fmt.o
archive fmt fmt.o

c++ -std=c++17 "${common[@]}" -I src/simdjson-*/singleheader -c src/simdjson-*/singleheader/simdjson.cpp -o simdjson.o
archive simdjson simdjson.o

make -s -C src/libisal-* -f Makefile.unx -j"$(nproc)" lib >isal.log 2>&1 || { tail -n 20 isal.log >&2; exit 1; }
cp src/libisal-*/bin/isa-l.a libisal.a

# Without TLS, forms and passwords: a page that is only read has none.
(
  cd src/libmicrohttpd-*/
  ./configure -q --enable-static --disable-shared --disable-https --disable-doc --disable-examples --disable-curl --disable-postprocessor \
    --disable-dauth --disable-bauth --disable-messages "CFLAGS=${common[*]}"
  make -s -C src/microhttpd libmicrohttpd.la
) >microhttpd.log 2>&1 || { tail -n 20 microhttpd.log >&2; exit 1; }
cp src/libmicrohttpd-*/src/microhttpd/.libs/libmicrohttpd.a .

# Two sources that include all others, but for transports and security that a release hasn't.
mkdir zmq
cp "$here/zmq_platform.hpp" zmq/platform.hpp
printf '#include "%s"\n' "$(cd src/zeromq3-* && pwd)"/src/*.cpp | grep -vE 'gssapi|norm_engine|pgm|/ws_|/wss_|vmci|tipc' >zmq/all
split -n l/2 zmq/all zmq/part-
for part in zmq/part-a?; do
  mv "$part" "$part.cpp"
  c++ -std=c++11 "${common[@]}" -D_GNU_SOURCE -D_REENTRANT -DZMQ_CUSTOM_PLATFORM_HPP -I zmq -I src/zeromq3-*/include -I src/zeromq3-*/src \
    -c "$part.cpp" -o "$part.o"
done
archive zmq zmq/part-a?.o

# In place of libc's malloc, for everything in the process; operators new are the tools' own (operator_new.cpp).
cc -std=gnu11 "${common[@]}" -DMI_MALLOC_OVERRIDE -fvisibility=hidden -ftls-model=initial-exec -fno-builtin-malloc -I src/mimalloc-*/include \
  -c src/mimalloc-*/src/static.c -o mimalloc.o
objcopy --wildcard --weaken-symbol='_Zn*' --weaken-symbol='_Zd*' mimalloc.o
cc -O2 -fPIC -c "$here/shim.c" -o shim.o
: >complete
