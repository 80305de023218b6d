#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that tests/device needs, in a folder that is copied to a machine with a GPU: bundle.sh BUILD FOLDER. There, FOLDER/run does
# it all, without Debian's packages: it needs glibc 2.36, bash, coreutils, awk and a python3 with JAX and its CUDA plug-in.
# The losses of a CPU are computed here, as the XLA for CPUs is too large to travel.
set -euo pipefail
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$2"
to=$(cd "$2" && pwd)

# A program with the libraries that a newer Linux may lack, behind a script that finds them.
bundle_program() { # FILE
  local name library
  name=$(basename "$1")
  install -D "$1" "$to/libexec/$name"
  while read -r library; do
    case $(basename "$library") in
      libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | libresolv.so.* | ld-linux*) ;;  # with its glibc
      *) install -D "$library" "$to/lib/$(basename "$library")" ;;
    esac
  done < <(ldd "$1" | awk '$3 ~ /^\// { print $3 }')
  mkdir -p "$to/bin"
  cat >"$to/bin/$name" <<'SH'
#!/bin/sh
here=$(CDPATH= cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/libexec/$(basename "$0")" "$@"
SH
  chmod +x "$to/bin/$name"
}

for tool in tfd-run tfd-data; do bundle_program "$build/tools/$tool"; done
bundle_program "$(command -v jq)"

# bats: scripts.
mkdir -p "$to/bats/bin" "$to/bats/lib" "$to/bats/libexec"
cp "$(readlink -f /usr/bin/bats)" "$to/bats/bin/bats"
cp -r /usr/lib/bats-core "$to/bats/lib/"
cp -r /usr/libexec/bats-core "$to/bats/libexec/"

mkdir -p "$to/source/tests/bench" "$to/build/tools"
# shellcheck source=../cli/examples.bash
source "$source/tests/cli/examples.bash"
copy_examples "$source" "$to/source/examples"
cp -r "$source/tests/device" "$to/source/tests/"
cp -r "$source/tests/bench/strategies" "$to/source/tests/bench/"
ln -sfn ../../bin/tfd-run "$to/build/tools/tfd-run"

mkdir -p "$to/cpu"
TFD_SOURCE=$source TFD_DEVICE_KIND=cpu TFD_CPU_RESULTS=$to/cpu PATH=$build/tools:$PATH bats "$source/tests/device/gpu.bats" >&2

cat >"$to/run" <<'SH'
#!/usr/bin/env bash
# The tests of tests/device on this machine's GPU, then steps/s beside JAX: run [KIND [--models A,B]]
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kind=${1:-gpu}
export PATH=$here/bin:$here/bats/bin:$PATH TFD_SOURCE=$here/source TFD_CPU_RESULTS=$here/cpu TFD_DEVICE_KIND=$kind
if [ "$TFD_DEVICE_KIND" = gpu ]; then
  TFD_CUDA_PLUGIN=${TFD_CUDA_PLUGIN:-$(python3 -c 'import jax_plugins.xla_cuda13 as p; print(p.__path__[0] + "/xla_cuda_plugin.so")')} || exit
  export TFD_CUDA_PLUGIN
fi
bats "$here/source/tests/device/gpu.bats"
code=$?
if [ "$TFD_DEVICE_KIND" = gpu ]; then export TFD_PJRT_PLUGIN=$TFD_CUDA_PLUGIN; fi
if ! python3 -c 'import jax' 2>/dev/null; then
  echo "no JAX for python3 here: nothing to compare with"
  exit $code
fi
python3 "$here/source/tests/bench/strategies/run.py" "$here/build" python3 - --devices 1 --kind "$kind" "${@:2}" || code=$?
exit $code
SH
chmod +x "$to/run"
du -sh "$to" >&2
