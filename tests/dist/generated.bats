#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Committed files that are generated from the option tables are current; man pages hold together.

load common

@test "completions and man OPTIONS blocks are what ./dev gen writes" {
  python3 "$TFD_SOURCE/scripts/gen-cli.py" --check "$TFD_BUILD"
}

@test "gen-cli.py --check names a stale file and changes nothing" {
  copy=$BATS_TEST_TMPDIR/source
  mkdir -p "$copy/scripts"
  cp "$TFD_SOURCE/scripts/gen-cli.py" "$copy/scripts/"
  cp -r "$TFD_SOURCE/man" "$TFD_SOURCE/completions" "$copy/"
  python3 "$copy/scripts/gen-cli.py" "$TFD_BUILD"
  python3 "$copy/scripts/gen-cli.py" --check "$TFD_BUILD"

  echo "# by hand" >>"$copy/completions/bash/tfd"
  sed -i 's/Print the version and exit/Print it/' "$copy/man/tfd.1.scd"
  rm "$copy/completions/fish/tfd.fish"
  touch "$copy/completions/zsh/_tfd-gone"
  run python3 "$copy/scripts/gen-cli.py" --check "$TFD_BUILD"
  [ "$status" = 1 ]
  for path in completions/bash/tfd man/tfd.1.scd completions/fish/tfd.fish completions/zsh/_tfd-gone; do
    [[ $output == *"$path is stale"* ]]
  done
  tail -n 1 "$copy/completions/bash/tfd" | grep -q "by hand"

  python3 "$copy/scripts/gen-cli.py" "$TFD_BUILD"
  diff -r "$copy/completions" "$TFD_SOURCE/completions"
  diff -r "$copy/man" "$TFD_SOURCE/man"
}

@test "gen-cli.py without a build folder is a usage error" {
  run python3 "$TFD_SOURCE/scripts/gen-cli.py"
  [ "$status" = 64 ]
}

@test "the SUMMARY of every man page's NAME is the tool's own" {
  for tool in $(tools); do
    page=$TFD_SOURCE/man/$tool.1.scd
    [ -e "$page" ] || continue  # said elsewhere
    wanted="$tool - $("$tool" --dump-cli | jq -r .summary)"
    name=$(awk '/^# NAME/ { getline; getline; print; exit }' "$page")
    [ "$name" = "$wanted" ] || fault "$tool.1.scd: NAME is '$name', the tool says '$wanted'"
  done
  no_faults
}

@test "man pages of commands have the sections that a reader looks for, in one order" {
  local page section at last
  for page in "$TFD_SOURCE"/man/*.1.scd; do
    last=0
    for section in NAME SYNOPSIS DESCRIPTION EXAMPLES OPTIONS "EXIT STATUS" "SEE ALSO"; do
      at=$(grep -nx "# $section" "$page" | cut -d: -f1)
      if [ -z "$at" ]; then fault "$(basename "$page"): no section $section"; continue; fi
      [ "$(wc -w <<<"$at")" = 1 ] || { fault "$(basename "$page"): $section is there twice"; continue; }
      [ "$at" -gt "$last" ] || fault "$(basename "$page"): $section is out of order"
      last=$at
    done
    # The last two end the page.
    [ "$(grep '^# [A-Z]' "$page" | tail -n 2 | tr '\n' ,)" = "# EXIT STATUS,# SEE ALSO," ] || fault "$(basename "$page"): EXIT STATUS and SEE ALSO aren't its end"
  done
  no_faults
}

@test "the other man pages begin with NAME and DESCRIPTION, and end with SEE ALSO" {
  local page sections
  for page in "$TFD_SOURCE"/man/*.[57].scd; do
    sections=$(grep '^# [A-Z]' "$page" | tr '\n' ,)
    [[ $sections =~ ^"# NAME,"("# SYNOPSIS,")?"# DESCRIPTION,".*"# SEE ALSO,"$ ]] || fault "$(basename "$page"): $sections"
  done
  no_faults
}

@test "no man page is longer than 4000 words" {
  local page words checked=0
  for page in "$TFD_SOURCE"/man/*.scd; do
    words=$(wc -w <"$page")
    [ "$words" -le 4000 ] || fault "$(basename "$page"): $words words"
    checked=$((checked + 1))
  done
  [ "$checked" -gt 30 ]
  no_faults
}

@test "every man page is one that is built, and the other way round" {
  command -v scdoc >/dev/null || skip "no scdoc"
  jq -r '.[] | select(.filename[0] | test("/man/[^/]*[.][157]$")) | .filename[0] | split("/") | last' "$TFD_BUILD/meson-info/intro-targets.json" |
    sort | diff - <(cd "$TFD_SOURCE/man" && printf '%s\n' *.scd | sed 's/[.]scd$//' | sort)
}

@test "every exit code in a man page's EXIT STATUS is in tfd-exit(7)" {
  known=" $(sed -nE 's/^\*([0-9]+)\*$/\1/p' "$TFD_SOURCE/man/tfd-exit.7.scd" | tr '\n' ' ') "
  [[ $known == *" 0 1 64 65 69 70 71 75 76 77 78 123 126 127 "* ]]
  for page in "$TFD_SOURCE"/man/*.1.scd; do
    # "*64*", "*65*, *69*": whatever the page prints in bold at a line's beginning
    for code in $(awk '/^# / { on = ($0 == "# EXIT STATUS") } on && /^\*[0-9]/' "$page" | grep -oE '\*[0-9]+\*' | tr -d '*'); do
      [[ $known == *" $code "* ]] || fault "$(basename "$page"): exit code $code isn't in tfd-exit(7)"
    done
    awk '/^# / { on = ($0 == "# EXIT STATUS") } on && /^\*[0-9]/ { found = 1 } END { exit !found }' "$page" ||
      fault "$(basename "$page"): EXIT STATUS lists no code"
  done
  no_faults
}

@test "man pages refer only to pages that exist" {
  for page in "$TFD_SOURCE"/man/*.scd; do
    for name in $(grep -oE '\*tfd[a-z-]*\*\([157]\)' "$page" | sort -u | sed -E 's/\*([a-z-]+)\*\(([157])\)/\1.\2/'); do
      [ -e "$TFD_SOURCE/man/$name.scd" ] || fault "$(basename "$page"): $name isn't there"
    done
  done
  no_faults
}

@test "sections that man pages name are in those pages" {
  run python3 - "$TFD_SOURCE" <<'PYTHON'
import pathlib, re, sys
root = pathlib.Path(sys.argv[1])
headings = {page.name.removesuffix(".scd"): set(re.findall(r"^# (.*)$", page.read_text(), re.M)) for page in root.glob("man/*.scd")}
checked, wrong = 0, []
for page in sorted(root.glob("man/*.scd")):
    text = " ".join(page.read_text().split())
    for name, number, section in re.findall(r"\*(tfd[a-z-]*)\*\((\d)\)(?:,| under) ([A-Z]{3,}(?: [A-Z]+)*)\b", text):
        checked += 1
        if section not in headings.get(f"{name}.{number}", ()):
            wrong.append(f"{page.name}: {name}({number}) has no section {section}")
    own = headings[page.name.removesuffix(".scd")]
    for section in re.findall(r"\b[Ss]ee ([A-Z]{3,}(?: [A-Z]+)*)\b(?![(\\\\])", re.sub(r"\*[^*]*\*", "", text)):
        checked += 1
        if section not in own:
            wrong.append(f"{page.name}: there is no section {section}")
print("\n".join(wrong))
sys.exit(bool(wrong) or checked < 40)
PYTHON
  [ "$status" = 0 ] || { echo "$output"; false; }
}

@test "man pages that sources, messages, examples and documents name are there" {
  cd "$TFD_SOURCE" || return
  local file name checked=0
  while IFS=: read -r file name; do
    checked=$((checked + 1))
    [ -e "man/$(tr '(' . <<<"${name%)}").scd" ] || fault "$file: there is no page $name"
  done < <(grep -rnoE 'tfd(-[a-z]+)*\([157]\)' lib tools share scripts examples ./*.md | sed -E 's/:[0-9]+:/:/' | sort -u)
  [ "$checked" -gt 25 ]
  no_faults
}

@test "man pages build, and man reads them without a warning" {
  command -v scdoc >/dev/null || skip "no scdoc"
  for page in "$TFD_SOURCE"/man/*.scd; do
    built=$BATS_TEST_TMPDIR/$(basename "$page" .scd)
    scdoc <"$page" >"$built" 2>"$BATS_TEST_TMPDIR/err" || fault "$(basename "$page"): $(cat "$BATS_TEST_TMPDIR/err")"
    ! command -v groff >/dev/null || warnings=$(groff -K utf8 -man -Tutf8 -ww -z "$built" 2>&1)
    [ -z "${warnings:-}" ] || fault "$(basename "$page"): $warnings"
  done
  no_faults
}
