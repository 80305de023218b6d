#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-doctor: what is here, what is missing, what is broken.

load run
setup() {
  coordinate_setup
  export HOME=$PWD XDG_CONFIG_HOME=$PWD TFD_CACHE_DIR=$PWD/cache
}
teardown() { run_teardown; }
state_of() { jq -r --arg name "$1" '.checks[] | select(.name == $name).state' <<<"$output"; }

@test "doctor: what works is ok, what isn't here is missing, and says what it is for" {
  run -0 --separate-stderr timeout 60 env PATH="$TFD_BUILD/tools" tfd-doctor --json
  [ "$stderr" = "" ]
  for name in plug-in devices cache descriptors; do [ "$(state_of "$name")" = ok ]; done
  for name in key ssh mpirun Slurm gnuplot man; do [ "$(state_of "$name")" = missing ]; done
  jq -e '.checks[] | select(.name == "key").hint == "clusters of several hosts need one: tfd-serve --generate-key"' <<<"$output"
  tfd-serve --generate-key
  run -0 --separate-stderr timeout 60 tfd-doctor
  grep -qx "ok  *key  *$PWD/tfd/key" <<<"$output"
  grep -qx 'ok  *devices  *cpu, as many as one asks for; [0-9]* processors for this process' <<<"$output"
}

@test "doctor: a plug-in that can't be loaded, and a key that others read, are broken" {
  tfd-serve --generate-key
  chmod 644 tfd/key
  run -1 --separate-stderr timeout 60 env TFD_PJRT_PLUGIN=/lib/x86_64-linux-gnu/libm.so.6 tfd-doctor --json
  [ "$(state_of plug-in)" = ok ]
  [ "$(state_of devices)" = broken ]
  [ "$(state_of key)" = broken ]
  run -1 --separate-stderr timeout 60 env TFD_PJRT_PLUGIN="$PWD" tfd-doctor
  grep -qx "broken  *plug-in  *$PWD is a directory" <<<"$output"
  grep -qx ' *TFD_PJRT_PLUGIN is the name of a plug-in, or its path' <<<"$output"
  touch empty.so
  run -1 --separate-stderr timeout 60 env TFD_PJRT_PLUGIN="$PWD/empty.so" tfd-doctor
  grep -qx "broken  *plug-in  *$PWD/empty.so is no shared library (ELF)" <<<"$output"
  run -1 --separate-stderr timeout 60 env TFD_PJRT_PLUGIN="$PWD/none.so" tfd-doctor
  grep -qx "broken  *plug-in  *no PJRT plug-in at $PWD/none.so (TFD_PJRT_PLUGIN)" <<<"$output"
}
