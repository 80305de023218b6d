#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Where tools find the PJRT plug-in: beside themselves, among the Python packages of their environment or of the active one, by
# name, by path.

load run
setup() {
  coordinate_setup
  # An environment of Python with tfd-run in it, as pip makes it, and another one that is active.
  mkdir -p venv/bin venv/lib/tfd active
  cp "$TFD_BUILD/tools/tfd-run" venv/bin
  HERE=$(realpath .)
}
teardown() { run_teardown; }

# A file there that isn't a plug-in is named when it is found.
finds() { # FILE VARIABLES…
  local file=$1
  shift
  mkdir -p "$(dirname "$file")" && echo text >"$file"
  run -78 --separate-stderr env "$@" timeout 60 venv/bin/tfd-run "$EXAMPLES/linear/program.json" --strategy one-device </dev/null
  [[ $stderr == *"cannot load the PJRT plug-in $HERE/$file: "* ]] || { echo "$*: $stderr"; return 1; }
  rm "$file"
}

@test "plug-in: beside the tools, first, and by name in the site-packages of their environment, then of the active one" {
  finds venv/lib/tfd/pjrt-cpu.so
  finds venv/lib/tfd/pjrt-cpu.so TFD_PJRT_PLUGIN=cpu
  finds venv/lib/tfd/pjrt-cuda12.so TFD_PJRT_PLUGIN=cuda12
  finds venv/lib/python3.11/site-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so TFD_PJRT_PLUGIN=cuda12
  finds venv/lib64/python3.9/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so TFD_PJRT_PLUGIN=cuda13
  finds active/lib/python3.11/site-packages/libtpu/libtpu.so TFD_PJRT_PLUGIN=tpu "VIRTUAL_ENV=$HERE/active"
  finds active/lib/python3.11/site-packages/libtpu/libtpu.so TFD_PJRT_PLUGIN=tpu "CONDA_PREFIX=$HERE/active"
  finds elsewhere.so "TFD_PJRT_PLUGIN=$HERE/elsewhere.so"
}

@test "plug-in: one that is found beside the tools trains; a name that isn't here says what to install" {
  local plugin
  plugin=$(python3 "$TFD_SOURCE/subprojects/pjrt/unpack.py" "$TFD_SOURCE/scripts/pjrt-requirements.txt" | sed -n 2p)
  ln -s "$plugin" venv/lib/tfd/pjrt-cpu.so
  run -0 timeout 60 venv/bin/tfd-run "$EXAMPLES/linear/program.json" --strategy one-device </dev/null
  run -78 --separate-stderr env TFD_PJRT_PLUGIN=cuda13 timeout 60 venv/bin/tfd-run "$EXAMPLES/linear/program.json" </dev/null
  [[ $stderr == *"TFD_PJRT_PLUGIN=cuda13: no such plug-in here, neither as $HERE/venv/lib/tfd/pjrt-cuda13.so nor in the site-packages of \
this environment: pip install 'jax-cuda13-plugin[with-cuda]', or set TFD_PJRT_PLUGIN to its path"* ]]
}
