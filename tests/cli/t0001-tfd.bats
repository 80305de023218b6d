#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd itself: becomes tfd-NAME, lists the tools, suggests the nearest one.

bats_require_minimum_version 1.5.0

setup() {
  unset TFD_LOG NO_COLOR PAGER MANPAGER
  BIN=$BATS_TEST_TMPDIR/bin
  mkdir "$BIN"
  PATH=$PATH:$BIN
}

# An executable of PATH that is called like a tool.
fake() {  # NAME BODY
  printf '#!/bin/sh\n%s\n' "$2" >"$BIN/$1"
  chmod +x "$BIN/$1"
}

@test "tfd NAME passes arguments on untouched, and the exit code back" {
  fake tfd-fake 'printf "<%s>" "$@"; exit 3'
  run tfd fake --x "" -- --help "a b" -v
  [ "$status" = 3 ]
  [ "$output" = "<--x><><--><--help><a b><-v>" ]
}

@test "tfd NAME shares stdin, stdout and stderr, and is one process" {
  fake tfd-fake 'cat; echo "pid $$" >&2'
  run bash -c 'echo data | { tfd fake 2>"$1/err" & wait $!; echo "pid $!" >"$1/pid"; }' bash "$BATS_TEST_TMPDIR"
  run bash -c 'tfd fake </dev/null 2>"$1/err" & echo "pid $!" >"$1/pid"; wait' bash "$BATS_TEST_TMPDIR"
  diff "$BATS_TEST_TMPDIR/err" "$BATS_TEST_TMPDIR/pid"
  [ "$(echo data | tfd fake 2>/dev/null)" = data ]
}

@test "a tool beside tfd wins over one in PATH" {
  cp "$(command -v tfd)" "$BIN/tfd"
  fake tfd-fake 'echo beside'
  mkdir "$BATS_TEST_TMPDIR/other"
  printf '#!/bin/sh\necho other\n' >"$BATS_TEST_TMPDIR/other/tfd-fake"
  chmod +x "$BATS_TEST_TMPDIR/other/tfd-fake"
  [ "$(PATH=$BATS_TEST_TMPDIR/other:$PATH "$BIN/tfd" fake)" = beside ]
}

@test "tfd without a command, and an unknown one, are usage errors with the nearest name" {
  fake tfd-fake 'exit 0'
  run -64 tfd
  [[ $output == "tfd: a command is missing"$'\n\n'"tfd: TensorFlow's tf.distribute for the shell"*"guides:"* ]]
  [ "$(tfd 2>/dev/null || true)" = "" ]
  run -64 tfd fkae
  [ "$output" = "tfd: unknown command 'fkae', did you mean 'fake'? (see tfd --help)" ]
  run -64 tfd hepl
  [[ $output == *"did you mean 'help'?"* ]]
  run -64 tfd help fkae
  [[ $output == *"did you mean 'fake'?"* ]]
  run -64 tfd help tutorail
  [[ $output == *"did you mean 'tutorial'?"* ]]
  run -64 tfd help fake more
  run -64 tfd train
  [ "$output" = "tfd: unknown command 'train': tfd fit trains a model, tfd run trains, evaluates and predicts with a program on this host, tfd coordinate on a cluster (see tfd --help)" ]
  run -64 tfd ../tfd
}

@test "what can't be run is 126" {
  touch "$BATS_TEST_TMPDIR/interpreter"
  fake tfd-fake ''
  printf '#!%s\n' "$BATS_TEST_TMPDIR/interpreter" >"$BIN/tfd-fake"
  run -126 tfd fake
  [[ $output == "tfd: cannot run $BIN/tfd-fake: "* ]]
}

@test "tfd help lists the tools by group with what they are for, and never fails over a stranger" {
  fake tfd-stranger 'echo nonsense'
  fake tfd-failing 'exit 1'
  fake tfd-noisy 'head -c 300000 /dev/zero | tr "\0" x >&2; exit 1'
  fake tfd-own 'echo "{\"name\":\"tfd-own\",\"group\":\"mine\",\"summary\":\"do \\u001b[1mmy thing\"}"'
  touch "$BIN/tfd-no-program" "$BIN/tfd-old.bak"
  mkdir "$BIN/tfd-directory"
  run -0 tfd help
  [[ $output == *"mine:"$'\n'"  own "*" do ?[1mmy thing"* ]]
  [[ $output == *"other:"*"failing"*"noisy"*"stranger"* ]]
  [[ $output != *no-program* && $output != *old.bak* && $output != *"  directory "* ]]
  [[ $output != *$'\x1b'* ]]
}

@test "tfd help fits 80 columns" {
  tfd help | LC_ALL=C.UTF-8 awk 'length($0) > 80 { print; bad = 1 } END { exit bad }'
}

@test "tfd help NAME in a pipe prints the tool's help" {
  fake tfd-fake 'echo "asked $*"'
  [ "$(tfd help fake)" = "asked --help" ]
  [ "$(tfd help tfd-fake)" = "asked --help" ]
  [ "$(tfd help fake 2>&1 >/dev/null)" = "" ]
}

@test "tfd help shows guides, which belong to no tool, beside the tools or installed" {
  command -v man >/dev/null || skip "no man"
  cp "$(command -v tfd)" "$BIN"
  run env MANPATH="$BATS_TEST_TMPDIR/none" "$BIN/tfd" help program
  [ "$status" -ne 0 ]
  [ "$output" = "tfd: the page of program isn't installed" ]
  mkdir -p "$BIN/../share/man/man5"
  printf '.TH tfd-program 5\n.SH NAME\ntfd-program - what is here\n' >"$BIN/../share/man/man5/tfd-program.5"
  run -0 "$BIN/tfd" help program
  [[ $output == *"what is here"* ]]
  printf '.TH tfd-program 5\n.SH NAME\ntfd-program - three dots: \\[u2026]\n' >"$BIN/../share/man/man5/tfd-program.5"
  run -0 --separate-stderr env -u LC_CTYPE -u LANG LC_ALL=C "$BIN/tfd" help program
  [[ $output == *"three dots: …"* && -z $stderr ]]
}

@test "tfd help shows every guide as text where there is no man, and pages of tools on a terminal" {
  local guide guides page=$BATS_TEST_TMPDIR/page
  [ -e "$TFD_BUILD/man/tfd-run.txt" ] || skip "built without scdoc or groff"
  tfd=$(command -v tfd)
  mapfile -t guides < <(tfd help | sed -n '/^guides:/,/^$/s/^  \([a-z]*\) .*/\1/p')
  [[ ${guides[*]} == "tutorial gpu mistakes recipes glossary export program "*" operating" ]]
  for guide in "${guides[@]}"; do
    PATH=$BIN "$tfd" help "$guide" >"$page" || { echo "$guide: no page"; return 1; }
    [ "$(wc -l <"$page")" -gt 15 ] || { echo "$guide: $(cat "$page")"; return 1; }
    run ! grep -q $'[\b\e]' "$page"
  done
  PATH=$BIN "$tfd" help export | cmp - "$TFD_BUILD/man/tfd-export.txt"
  # Pages by shorter names than theirs, and those that the list leaves out.
  local names=(keras=export-keras pytorch=export-torch flax=export-jax mpi=resolve-mpi resolve-slurm=resolve-slurm tpu=tpu) pair
  for pair in "${names[@]}"; do
    PATH=$BIN "$tfd" help "${pair%=*}" | cmp - "$TFD_BUILD/man/tfd-${pair#*=}.txt"
  done
  PATH=$BIN "$tfd" help slurm | grep -q '^sbatch train.sbatch'
  PATH=$BIN "$tfd" help program | LC_ALL=C.UTF-8 grep -q '^       tfd-program - the file of a program'
  fake man 'echo "This system has been minimized: no pages"'
  PATH=$BIN "$tfd" help program | grep -q '^       tfd-program - the file of a program'
  script -qec "PATH=$BIN $tfd help run" /dev/null </dev/null | grep -q '^SYNOPSIS'
  fake less 'echo "less shows $*"'
  script -qec "PATH=$BIN $tfd help run" /dev/null </dev/null | grep -q '^less shows .*/tfd-run.txt'
}

@test "tfd help torchrun and accelerate begin at their sections, in a pipe and in a pager" {
  [ -e "$TFD_BUILD/man/tfd-migrate.txt" ] || skip "built without scdoc or groff"
  local guide tfd
  tfd=$(command -v tfd)
  for guide in torchrun accelerate; do
    [ "$(tfd help "$guide" | head -n 1)" = "${guide^^}" ]
    [ "$(PATH=$BIN "$tfd" help "$guide" | head -n 1)" = "${guide^^}" ]  # without man
  done
  tfd help torchrun | grep -qx 'ACCELERATE'  # the rest of the page, too
  [ "$(tfd help tensorflow | grep -c .)" -gt "$(tfd help torchrun | grep -c .)" ]
  fake less 'echo "less shows $*"'
  script -qec "PATH=$BIN $tfd help accelerate" /dev/null </dev/null | grep -q '^less shows +/^ACCELERATE .*/tfd-migrate.txt'
  command -v man >/dev/null || skip "no man"
  fake man 'if [ "$1" = --version ]; then echo man 2.11; else printf "%s;" "$@"; fi'
  script -qec "PATH=$BIN:$PATH $tfd help torchrun" /dev/null </dev/null | grep -q "^-P;less '+/^TORCHRUN';-l;.*/tfd-migrate.7;"
  script -qec "MANPAGER=most PATH=$BIN:$PATH $tfd help torchrun" /dev/null </dev/null | grep -q "^-l;.*/tfd-migrate.7;"
}

@test "tfd help COMMAND shows the page in a pipe, too, as tfd help GUIDE does" {
  [ -e "$TFD_BUILD/man/tfd-run.txt" ] || skip "built without scdoc or groff"
  tfd help run | grep -qx 'DESCRIPTION'
  tfd help export | grep -qx 'DESCRIPTION'
}

@test "tfd completion prints what a shell needs for all tools, and says which shells there are" {
  for shell in bash zsh fish; do
    run -0 --separate-stderr tfd completion "$shell"
    [[ $output == *tfd-run* && $output == *tfd-status* && -z $stderr ]]
  done
  run -0 bash --norc -c 'source <(tfd completion bash); complete -p tfd tfd-run tfd-launch'
  run -64 --separate-stderr tfd completion
  [ "$stderr" = "tfd: a shell is missing: bash, zsh or fish, as in source <(tfd completion bash) (see tfd --help)" ]
  run -64 --separate-stderr tfd completion tcsh
  [ "$stderr" = "tfd: no completion for 'tcsh': bash, zsh or fish (see tfd --help)" ]
  run -0 tfd completion --help
  [[ $output == "Usage: tfd completion bash|zsh|fish"* ]]
  cp "$(command -v tfd)" "$BIN"  # beside an installation's files
  mkdir -p "$BIN/../share/bash-completion/completions"
  echo '# installed' >"$BIN/../share/bash-completion/completions/tfd-x"
  [ "$("$BIN/tfd" completion bash)" = '# installed' ]
}

@test "tfd export is the exporter of Python's, with the same arguments" {
  fake python3 'case $2 in *find_spec*) exit "${NO_MODULE:-0}" ;; esac; printf "<%s>" "$@" "$PYTHONPATH"'
  [ "$(PYTHONPATH='' PATH=$BIN:$PATH tfd export "my model.keras" --data x.npz)" = "<-m><tfd_export><my model.keras><--data><x.npz><>" ]
  # In a build the module is beside the sources.
  [ "$(PYTHONPATH=other NO_MODULE=1 PATH=$BIN:$PATH tfd export --help)" = "<-m><tfd_export><--help><$TFD_SOURCE/share:other>" ]
  rm "$BIN/python3"
  tfd=$(command -v tfd)
  run -78 --separate-stderr env PATH="$BIN" "$tfd" export --help
  [ "$stderr" = "tfd: the exporter is a module of Python, and there is no python3 in PATH" ]
}

@test "tfd fit is Python's, with this installation's tools first in PATH, and says what is missing" {
  local tfd own=$BATS_TEST_TMPDIR/own
  tfd=$(command -v tfd)
  fake python3 'case $2 in *find_spec*) exit 0 ;; esac; printf "<%s>" "$@" "${PATH%%:*}"; exit 75'
  run -75 env PATH="$BIN:$PATH" "$tfd" fit "my model.keras" --data x.npz
  [ "$output" = "<-m><tfd_export><fit><my model.keras><--data><x.npz><$(dirname "$(realpath "$tfd")")>" ]
  # Python without frameworks: that of the system with an empty NumPy.
  mkdir "$own" && touch "$own/numpy.py" "$own/model.keras" "$own/data.csv" && cd "$own"
  fake python3 "exec $(command -v python3) -S \"\$@\""
  fits() { run "$1" --separate-stderr env PATH="$BIN:$PATH" PYTHONPATH="$own:$TFD_SOURCE/share" "$tfd" fit "${@:3}"; [[ $stderr == "tfd fit: $2" ]] || { echo "$stderr"; return 1; }; }
  fits -78 "keras and jax are missing: pip install keras jax" model.keras --data data.csv
  fits -65 "there is no file none.keras" none.keras --data data.csv
  fits -64 "--data is missing: FILE.npz, FILE.csv or FIELD=FILE.npy" model.keras
  fits -64 "the following arguments are required: MODEL; see --help"
  fits -64 "--to: a Keras model is saved to a .keras file, not to x.pt" model.keras --data data.csv --to x.pt
  fits -64 "--validation-split has to be between 0 and 1, not 1.5" model.keras --data data.csv --validation-split 1.5
  fits -64 "--validation-split and --test exclude each other" model.keras --data data.csv --validation-split 0.5 --test data.csv
  fits -64 "--set train.steps: it has to be PATH=VALUE, such as train.log_every=10" model.keras --data data.csv --set train.steps
  PATH=$BIN:$PATH PYTHONPATH=$own:$TFD_SOURCE/share run -0 "$tfd" fit --help
  [[ $output == "usage: tfd fit "*"--validation-split SHARE"* ]]
  tfd help | grep -q '^  fit  *export a model, train it'
  rm "$BIN/python3"
  run -78 --separate-stderr env PATH="$BIN" "$tfd" fit model.keras
  [ "$stderr" = "tfd: tfd fit needs Python with Keras or PyTorch (pip install keras jax), and there is no python3 in PATH" ]
}

@test "tools' --help is as wide as the terminal, from 80 to 120 columns" {
  widest() { tr -d '\r' | LC_ALL=C.UTF-8 awk '{ if (length($0) > widest) widest = length($0) } END { print widest }'; }
  for width in 60=80 80=80 100=100 200=120; do
    run -0 env TFD_COLUMNS="${width%=*}" TFD_RAW=1 "$BATS_TEST_DIRNAME/terminal.py" xterm tfd --help
    [ "$(widest <<<"$output")" -le "${width#*=}" ]
    [ "$(widest <<<"$output")" -gt $((${width#*=} - 15)) ]
  done
  [ "$(COLUMNS=120 tfd --help | widest)" -le 80 ]
}

@test "tfd --version and --help" {
  run -0 tfd --version
  [[ $output =~ ^tfd\ [0-9]+\.[0-9]+\.[0-9]+ ]]
  run -0 tfd --help
  [[ ${lines[0]} == "tfd: run a tfd tool, or list them" ]]
}

@test "tfd: help schema says what tfd schema prints" {
  run -0 tfd help schema
  [[ $output == "Usage: tfd schema [program|cluster|events]"* ]]
  [ "$(tfd schema --help)" = "$output" ]
}
