#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The library as `meson install --tags devel` leaves it: headers, one archive, tfd.pc; and examples/library made of it.
# bats file_tags=long

load ../cli/coordinate
load common

# Once for all tests: the installation lies below $DESTDIR, elsewhere than it was configured for: tfd.pc goes by where it lies.
setup_file() {
  export ROOT=$BATS_FILE_TMPDIR/root
  DESTDIR=$ROOT meson install -C "$TFD_BUILD" --no-rebuild --quiet --tags devel
  PREFIX=$(option prefix)
  PKG_CONFIG_PATH=$ROOT$PREFIX/$(option libdir)/pkgconfig
  INCLUDE=$ROOT$PREFIX/$(option includedir)
  export PREFIX INCLUDE PKG_CONFIG_PATH
}
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

option() { jq -r --arg name "$1" '.[] | select(.name == $name).value' "$TFD_BUILD/meson-info/intro-buildoptions.json"; }

@test "library: what is installed is the public headers that lib/README.md lists, and those that they include" {
  "$TFD_SOURCE/scripts/installed-headers.py" | sed 's|.*include/||' | sort >wanted
  (cd "$INCLUDE" && find tfd -type f | sort) >found
  diff wanted found
  grep -qx tfd/coordinator/cluster_coordinator.hpp found
  grep -qx tfd/function.h found
  [ -z "$(grep '^tfd/cli/' found)" ]
}

@test "library: what is for development has its tag, and nothing else was installed by it" {
  (cd "$ROOT$PREFIX" && find . -type f ! -path './include/*' | sed 's|.*/||' | sort) >found
  [ "$(cat found)" = $'libtfd.a\ntfd.pc' ]
}

@test "library: every header compiles on its own, of what is installed alone" {
  "$TFD_SOURCE/tests/dist/headers-alone.sh" "$INCLUDE"
  echo '#include "tfd/function.h"' | cc -std=c99 -pedantic-errors "-I$INCLUDE" -fsyntax-only -x c -
}

# The lines that are indented by three spaces in a header's first comment; not where something is left out (…).
@test "library: the examples in headers' comments and rooms' pages compile, every line of them" {
  local examples=$TFD_SOURCE/tests/dist/header_examples.cpp line
  local room includes=()
  for room in "$TFD_SOURCE"/lib/*/include; do includes+=("-I$room"); done
  c++ -std=c++20 "${includes[@]}" -fsyntax-only "$examples"
  find "$TFD_SOURCE"/lib/*/include ! -path "*/cli/*" -name '*.hpp' -exec awk 'FNR == 1 { on = 1 } /^(#include|namespace)/ { on = 0 }
    on && /^\/\/   / && !/…/ { sub(/^\/\/ +/, ""); sub(/ +\/\/ .*$/, ""); print }' {} + >lines
  awk '/^```/ { on = ($0 == "```cpp"); next } on' "$TFD_SOURCE"/lib/*/README.md >>lines
  [ "$(wc -l <lines)" -ge 30 ]
  while IFS= read -r line; do
    grep -qF -- "$line" "$examples" || fault "not in $(basename "$examples"): $line"
  done <lines
  no_faults
}

@test "library: tfd.pc says this version, and names packages that are there" {
  [ "$(pkg-config --modversion tfd)" = "$(jq -r .version "$TFD_BUILD/meson-info/intro-projectinfo.json")" ]
  pkg-config --exists --print-errors tfd
  [ "$(realpath "$(pkg-config --variable=includedir tfd)")" = "$INCLUDE" ]
}

@test "library: examples/library by pkg-config, as its page says, fetches 3 from a cluster" {
  command=$(grep -E '^g\+\+ .*pkg-config' "$EXAMPLES/library/README.md")
  (cd "$EXAMPLES/library" && eval "${command/-o three/-o \$T/three}")
  serve --jobs worker=2,ps=1
  run -1 --separate-stderr timeout 60 ./three spec.json missing.json
  [[ $stderr == *"missing.json"* ]]
  run -0 --separate-stderr timeout 60 ./three spec.json "$EXAMPLES/counter/program.json"
  [ "$output" = "fetched 3" ]
}

@test "library: examples/library has a strategy, which prints what its page says" {
  command=$(grep -E '^g\+\+ .*pkg-config' "$EXAMPLES/library/README.md")
  (cd "$EXAMPLES/library" && command=${command/three.cpp/replicas.cpp} && eval "${command/-o three/-o \$T/replicas}")
  run -0 --separate-stderr timeout 60 ./replicas </dev/null
  [ "$output" = "$(awk '/^```/ { on = !on; next } on && /^(PerReplica|total [0-9])/' "$EXAMPLES/library/README.md")" ]
}

@test "library: examples/library in Meson takes what is installed" {
  cp -r "$EXAMPLES/library" own
  meson setup own/build own -Doptimization=0 >setup.log || { cat setup.log; return 1; }
  ninja -C own/build -t query three >inputs
  grep -q "$ROOT.*libtfd.a" inputs
  ninja -C own/build three replicas >build.log || { cat build.log; return 1; }
  run -64 own/build/three
}

# Configured only: compiling and linking it compiles the whole library.
@test "library: examples/library takes tfd as a Meson subproject" {
  cp -r "$EXAMPLES/library" own
  mkdir own/subprojects
  ln -s "$(realpath "$SOURCE")" own/subprojects/tfd
  env -u PKG_CONFIG_PATH -u PKG_CONFIG_SYSROOT_DIR meson setup own/build own >setup.log || { cat setup.log; return 1; }
  ninja -C own/build -t query three >inputs
  for room in base cluster coordinator; do grep -q "libtfd-$room.a" inputs; done
}
