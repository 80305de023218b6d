#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-example: copies of the examples that need nothing else.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

@test "example: all are listed, with what they show" {
  run -0 --separate-stderr tfd-example
  diff <(awk '{ print $1 }' <<<"$output") <(cd "$TFD_SOURCE/examples" && ls -d */README.md | sed 's|/.*||')
  grep -qx 'digits  *a classifier on parameter servers' <<<"$output"
  run ! grep -E '^[a-z]+ +(A|The|Functions) ' <<<"$output"
}

@test "example: each copy has all that its program reads" {
  local name
  for name in $(tfd-example | awk '{ print $1 }'); do
    run -0 --separate-stderr tfd-example "$name"
    [ -s "$output" ]
    [ "$output" = "$name/README.md" ] || [ "$output" = "$name/program.json" ]
    if grep '"\.\./' "$output"; then return 1; fi
  done
  for name in mlp softmax; do
    run -0 timeout 60 tfd-run "$name/program.json" --strategy one-device --set train.steps=2 --set train.checkpoint=null </dev/null
  done
}

@test "example: the copy is the user's own, wherever it was installed from" {
  mkdir -p prefix/bin prefix/share/tfd
  cp "$TFD_BUILD/tools/tfd-example" prefix/bin
  cp -r "$TFD_SOURCE/examples" prefix/share/tfd
  mkdir -p prefix/share/tfd/examples/linear/__pycache__ # as pip leaves it
  chmod -R a-w prefix/share
  run -0 --separate-stderr prefix/bin/tfd-example linear there/first
  [ "$output" = there/first/program.json ]
  [ -w there/first/program.json ]
  [ -w there/first ]
  [ ! -e there/first/__pycache__ ]
  [[ $stderr == "hint: there/first/README.md says what to try; first of all: tfd-run there/first/program.json" ]]
}

@test "example: the page names the copy's files, and the hint is a command that works" {
  local name first
  for name in matmul counter digits plugin; do
    run -0 --separate-stderr tfd-example "$name" "my/$name"
    first=${stderr#*first of all: }
    case $name in
      digits) [ "$first" = "tfd-run my/digits/program.json" ] ;;
      plugin) [ "$stderr" = "hint: my/plugin/README.md says what to try" ] ;;
      *)
        grep -qxF -- "$first" "my/$name/README.md"
        timeout 120 bash -o pipefail -c "$first" </dev/null >printed 2>talk || { cat talk; return 1; }
        ;;
    esac
    run ! grep -q "examples/$name/" "my/$name/README.md"
  done
  [ -s printed ]
  run -0 --separate-stderr tfd-example linear 'a place/lin'
  [[ $stderr == *"first of all: tfd-run 'a place/lin'/program.json" ]]
  grep -q "tfd-coordinate 'a place/lin'/program.json$" 'a place/lin/README.md'
}

@test "example: what isn't there, or is in the way, is said" {
  run -65 tfd-example digit
  [ "$output" = "tfd-example: no example 'digit', did you mean 'digits'?" ]
  mkdir mine && : >mine/file
  run -65 tfd-example linear mine
  [ "$output" = "tfd-example: mine exists, and isn't an empty directory: name another one" ]
  run -65 tfd-example linear mine/file
  run -71 tfd-example linear /proc/mine
  rm mine/file
  run -0 tfd-example linear mine
}
