#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-doctor: parts that are present, missing, or broken.

load run
setup() {
  coordinate_setup
  export HOME=$PWD XDG_CONFIG_HOME=$PWD TFD_CACHE_DIR=$PWD/cache
}
teardown() { run_teardown; }
state_of() { jq -r --arg name "$1" '.checks[] | select(.name == $name).state' <<<"$output"; }

@test "doctor: what works is ok, what isn't here is optional, and says what it is for" {
  run -0 --separate-stderr timeout 60 env PATH="$TFD_BUILD/tools" tfd-doctor --json
  [ "$stderr" = "" ]
  for name in plug-in devices cache descriptors; do [ "$(state_of "$name")" = ok ]; done
  for name in key ssh mpirun Slurm gnuplot man; do [ "$(state_of "$name")" = optional ]; done
  [ "$(state_of Python)" = missing ]
  # Behind what a first training needs they come last.
  [ "$(jq -r '[.checks[].name][:4] | join(" ")' <<<"$output")" = "Python GPU plug-in devices" ]
  jq -e '.checks | .[map(.name) | index("plug-in"):] | map(.state == "optional") | . == sort' <<<"$output"
  jq -e '.checks[] | select(.name == "key").hint == "clusters of several hosts need one: tfd-serve --generate-key"' <<<"$output"
  tfd-serve --generate-key
  run -0 --separate-stderr timeout 60 env COLUMNS=200 tfd-doctor
  grep -qx "ok  *key  *$PWD/tfd/key" <<<"$output"
  grep -qx 'ok  *devices  *cpu, as many as one asks for; [0-9]* processors for this process' <<<"$output"
  # Parts that aren't needed are listed last, without a state.
  run -0 --separate-stderr timeout 60 env PATH="$TFD_BUILD/tools" COLUMNS=200 tfd-doctor
  [[ ${output#*Not needed here:} == *" mpirun  "*" gnuplot  "* && ${output%%Not needed here:*} == *"missing  Python "* ]]
  [[ ${output#*Not needed here:} != *missing* && ${output%%Not needed here:*} != *mpirun* ]]
}

# A python3 whose site-packages is here.
fake_python() {
  mkdir -p bin site
  printf '#!/bin/sh\nprintf "3.11.2\\n%%s\\n%%s\\n" "$0" "%s"\n' "$PWD/site" >bin/python3
  chmod +x bin/python3
}

@test "doctor: begins with Python and the frameworks, found by their metadata" {
  fake_python
  run -0 timeout 60 env PATH="$PWD/bin:$PATH" tfd-doctor --json
  [ "$(jq -r '[.checks[].name][:1] | join(" ")' <<<"$output")" = Python ]
  for name in keras jax torch; do [ "$(state_of "$name")" = missing ]; done
  mkdir site/keras-3.12.0.dist-info site/jax-0.10.2.dist-info site/jaxlib-0.10.2.dist-info
  run -0 timeout 60 env PATH="$PWD/bin:$PATH" tfd-doctor --json
  [ "$(jq -r '[.checks[:3][] | .name, .state, .text] | join(" ")' <<<"$output")" = "Python ok 3.11.2, $PWD/bin/python3 keras ok 3.12.0 jax ok 0.10.2" ]
  [ "$(state_of torch)" = optional ]
  rm -r site/*
  mkdir site/torch-2.12.1+cpu.dist-info
  run -0 timeout 60 env PATH="$PWD/bin:$PATH" tfd-doctor --json
  jq -e '.checks[] | select(.name == "torch") | .state == "missing" and .text == "2.12.1+cpu, without torchax"' <<<"$output"
  mkdir site/torchax-0.0.7.dist-info
  run -0 timeout 60 env PATH="$PWD/bin:$PATH" tfd-doctor --json
  jq -e '.checks[] | select(.name == "torch") | .state == "ok" and .text == "2.12.1+cpu, with torchax 0.0.7"' <<<"$output"
  for name in keras jax; do [ "$(state_of "$name")" = optional ]; done
}

@test "doctor: the table fits its columns, and breaks paths only, after a slash" {
  local deep
  deep=$PWD$(printf '/folder%s' 1 2 3 4 5 6 7 8 9 10)
  mkdir -p "$deep"
  export TFD_CACHE_DIR=$deep/cache
  for columns in 60 80 120; do
    run -0 --separate-stderr timeout 60 env COLUMNS=$columns tfd-doctor
    while IFS= read -r line; do
      [ "${#line}" -le "$columns" ] || { echo "$line"; false; }
    done <<<"$output"
    [[ $(tr -d ' \n' <<<"$output") == *"$deep/cache"* ]]
    grep -qw -- '--generate-key' <<<"$output"
  done
}

@test "doctor: a plug-in that can't be loaded, and a key that others read, are broken" {
  tfd-serve --generate-key
  chmod 644 tfd/key
  run -1 --separate-stderr timeout 60 env TFD_PJRT_PLUGIN=/lib/x86_64-linux-gnu/libm.so.6 tfd-doctor --json
  [ "$(state_of plug-in)" = ok ]
  [ "$(state_of devices)" = broken ]
  [ "$(state_of key)" = broken ]
  export COLUMNS=300
  run -1 --separate-stderr timeout 60 env TFD_PJRT_PLUGIN="$PWD" tfd-doctor
  grep -qx "broken  *plug-in  *$PWD is a directory" <<<"$output"
  grep -qx ' *TFD_PJRT_PLUGIN is the name of a plug-in, or its path' <<<"$output"
  touch empty.so
  run -1 --separate-stderr timeout 60 env TFD_PJRT_PLUGIN="$PWD/empty.so" tfd-doctor
  grep -qx "broken  *plug-in  *$PWD/empty.so is no shared library (ELF)" <<<"$output"
  run -1 --separate-stderr timeout 60 env TFD_PJRT_PLUGIN="$PWD/none.so" tfd-doctor
  grep -qx "broken  *plug-in  *no PJRT plug-in at $PWD/none.so (TFD_PJRT_PLUGIN)" <<<"$output"
}
