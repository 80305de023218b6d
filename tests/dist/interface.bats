#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every built tool keeps the common rules: help, version, errors, streams, and has its page, completions and group.

load common

@test "there are tools, and all are built" {
  [ -n "$(tools)" ]
  for tool in $(tools); do [ -x "$TFD_BUILD/tools/$tool" ] || fault "$tool isn't built"; done
  no_faults
}

@test "every tool has a man page, completions and a group" {
  for tool in $(tools); do
    [ -s "$TFD_SOURCE/man/$tool.1.scd" ] || fault "man/$tool.1.scd is missing"
    [ -s "$TFD_SOURCE/completions/bash/$tool" ] || fault "completions/bash/$tool is missing: ./dev gen"
    [ -s "$TFD_SOURCE/completions/zsh/_$tool" ] || fault "completions/zsh/_$tool is missing: ./dev gen"
    [ -s "$TFD_SOURCE/completions/fish/$tool.fish" ] || fault "completions/fish/$tool.fish is missing: ./dev gen"
    group=$("$tool" --dump-cli | jq -r .group)
    [[ $group =~ ^(cluster|training|files|general)$ ]] || fault "$tool: group '$group' is none of cluster, training, files, general"
  done
  no_faults
}

@test "help is on stdout with exit 0, not empty, and fits 80 columns" {
  for tool in $(tools); do
    status=0
    "$tool" --help >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" </dev/null || status=$?
    [ "$status" = 0 ] || fault "$tool --help: exit $status"
    [ -s "$BATS_TEST_TMPDIR/out" ] || fault "$tool --help: nothing on stdout"
    [ ! -s "$BATS_TEST_TMPDIR/err" ] || fault "$tool --help: stderr: $(cat "$BATS_TEST_TMPDIR/err")"
    wide=$(LC_ALL=C.UTF-8 wc -L <"$BATS_TEST_TMPDIR/out")
    [ "$wide" -le 80 ] || fault "$tool --help: $wide columns"
    head -n 1 "$BATS_TEST_TMPDIR/out" | grep -q "^$tool: ." || fault "$tool --help: doesn't say what it is for"
    grep -q '^Usage: ' "$BATS_TEST_TMPDIR/out" || fault "$tool --help: no usage"
  done
  no_faults
}

@test "every tool shows three examples" {
  for tool in $(tools); do
    count=$("$tool" --dump-cli | jq '.examples | length')
    [ "$count" -ge 3 ] || fault "$tool: $count examples"
  done
  no_faults
}

@test "version is meson's" {
  version=$(jq -r .version "$TFD_BUILD/meson-info/intro-projectinfo.json")
  for tool in $(tools); do
    said=$("$tool" --version)
    [[ $said == "$tool $version" || $said == "$tool $version ("*")" ]] || fault "$tool --version: '$said', meson: $version"
  done
  no_faults
}

@test "a usage error is one line on stderr, names the nearest option, and ends with 64" {
  for tool in $(tools); do
    status=0
    "$tool" --versoin >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" </dev/null || status=$?
    [ "$status" = 64 ] || fault "$tool --versoin: exit $status"
    [ ! -s "$BATS_TEST_TMPDIR/out" ] || fault "$tool --versoin: wrote to stdout"
    [ "$(cat "$BATS_TEST_TMPDIR/err")" = "$tool: unknown option '--versoin', did you mean '--version'? (see $tool --help)" ] ||
      fault "$tool --versoin: $(cat "$BATS_TEST_TMPDIR/err")"
  done
  no_faults
}

@test "help that can't be written is an error, not silence" {
  [ -e /dev/full ] || skip "no /dev/full"
  for tool in $(tools); do
    status=0
    "$tool" --help >/dev/full 2>"$BATS_TEST_TMPDIR/err" </dev/null || status=$?
    [ "$status" = 71 ] || fault "$tool --help >/dev/full: exit $status"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/err")" = 1 ] || fault "$tool --help >/dev/full: $(cat "$BATS_TEST_TMPDIR/err")"
  done
  no_faults
}

# But --wait: for pods it takes how long (tfd-resolve), for tasks --timeout says it (tfd-status), as both pages have it.
@test "the same option means the same in every tool" {
  for tool in $(tools); do
    "$tool" --dump-cli |
      jq -r --arg tool "$tool" '.options[] | select(.positional | not) | .names[-1] as $name | [$name, .switch, $tool] | @tsv'
  done | sort | awk -F'\t' '
    $1 == name && $2 != kind && name != "--wait" { print name ": a switch in one of " tool ", " $3 ", but not in the other"; bad = 1 }
    { name = $1; kind = $2; tool = $3 }
    END { exit bad }'
}

# "slurm: the first port" names the kinds that an option is for; the rest is a sentence.
@test "option help begins with a capital or with whom it is for, and has no full stop" {
  for tool in $(tools); do
    while IFS= read -r text; do
      [[ $text =~ ^([A-Z0-9]|[a-z][a-z, -]*:\ ) && $text != *. ]] || fault "$tool: '$text'"
    done < <("$tool" --dump-cli | jq -r '.options[] | select(.hidden | not) | .help')
    summary=$("$tool" --dump-cli | jq -r .summary)
    [[ $summary =~ ^[a-z] && $summary != *. ]] || fault "$tool: summary '$summary'"
  done
  no_faults
}
