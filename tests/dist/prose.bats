#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# scripts/prose.py, over a folder of good and bad lines.

bats_require_minimum_version 1.5.0
load common

setup() {
  FOLDER=$BATS_TEST_TMPDIR/pages
  mkdir -p "$FOLDER/lib" "$FOLDER/share"
}
prose() { run --separate-stderr python3 "$TFD_SOURCE/scripts/prose.py" "$@"; }

# One finding of each kind, by line. # FILE LINE REASON
finds() {
  grep -qF "$1:$2: $3" <<<"$output" || fault "no finding '$1:$2: $3'"
}

@test "prose: plain sentences pass, and so do code, questions and headings" {
  cat >"$FOLDER/page.md" <<'TEXT'
# What is new

tfd trains models from the shell. By default it saves every five minutes. Who waits? A user who has no key can't connect.
`tfd-status` shows who waits for whom, and prints a file whose name ends in `.json`. Coordinators name workers that are missing.

```
what is printed: so many lines, any more
```
TEXT
  cat >"$FOLDER/lib/good.cpp" <<'TEXT'
// In a replica: its own copy of the variable.
constexpr auto kKey = "who";               // a name isn't a message
const char* code = R"(who has none is refused)";
TEXT
  cat >"$FOLDER/tool.py" <<'TEXT'
"""Prints a table."""
TEXT
  printf '%s\n' '#!/bin/sh' 'echo "who comes" # says so' >"$FOLDER/good.sh"
  prose "$FOLDER"
  [ -z "$output" ]
  [ "$status" = 0 ]
}

@test "prose: flags each pattern with its line, counts, and exits with 1" {
  cat >"$FOLDER/page.md" <<'TEXT'
Who has another key is told so.

A name is found. Of two sides one
goes on. What is written stays.

- a worker who is lost is done without
- it waits for whom the machines belong to
- the file isn't there. There are so many, and none any more.
- The directory in whose index it is; a loop of one's own; one byte stands for it.
- It copies what is missing, and what was read is dropped.
- By reading files it learns. Its behaviour is initialised for ever.
TEXT
  cat >"$FOLDER/lib/bad.cpp" <<'TEXT'
int a;  // held by who connects
/// Of the loaded program.
/// Until it ends.
int b;

// Until it ends.
auto error = fmt::format("cannot read {}: {} was cancelled, "
                         "and who waits is told", a, b);
TEXT
  printf '%s\n' '"""One line.' '' 'What it does.' '"""' 'x = 1  # until nobody is there any more' >"$FOLDER/bad.py"
  printf '%s\n' '@test "x" {' '  # Who comes first.' '}' >"$FOLDER/bad.bats"
  printf '%s\n' '# NAME' '' 'Who compiles before' 'ends.' '' '*-x*' '	What is *there is* for' '' '; begin options' 'Who reads this?' 'Who.' '; end options' >"$FOLDER/bad.1.scd"
  prose "$FOLDER"
  [ "$status" = 1 ]
  finds page.md 1 'a sentence that begins with "Who"'
  finds page.md 3 'a sentence that begins with "Of"'
  finds page.md 4 'a sentence that begins with "What"'
  finds page.md 6 '"who" for a thing'
  finds page.md 6 'name the subject: "continues without"'
  finds page.md 7 '"whom" for a thing'
  finds page.md 8 '"exists" or "is missing"'
  finds page.md 8 'say how many'
  finds page.md 8 '"no longer"'
  finds page.md 9 '"whose" without a noun'
  finds page.md 9 '"your own"'
  finds page.md 9 '"means"'
  finds page.md 10 '"what was" as a noun'
  finds page.md 11 'a sentence that begins with "By"'
  finds page.md 11 'US spelling, not "behaviour"'
  finds page.md 11 'US spelling, not "initialised"'
  finds page.md 11 'US spelling: "forever"'
  finds bad.cpp 1 '"who" for a thing'
  finds bad.cpp 2 'a sentence that begins with "Of"'
  finds bad.cpp 6 'a comment that begins with the fragment "Until'
  finds bad.cpp 7 'US spelling, not "cancelled"'
  finds bad.cpp 8 '"who" for a thing'
  finds bad.py 3 'a sentence that begins with "What"'
  finds bad.py 5 '"no longer"'
  finds bad.bats 2 'a sentence that begins with "Who"'
  finds bad.1.scd 3 'a sentence that begins with "Who"'
  finds bad.1.scd 7 'a sentence that begins with "What"'
  no_faults
  [[ $output != *bad.1.scd:11* ]]
  [ "$(tail -n 1 <<<"$output")" = "prose.py: $(($(wc -l <<<"$output") - 1)) findings" ]
}

@test "prose: an exception needs a path that matches and words of the sentence; an argument that isn't a file is an error" {
  prose "$TFD_SOURCE/scripts/prose.py" # excused as a whole by scripts/prose.txt
  [ "$status" = 0 ]
  cp "$TFD_SOURCE/scripts/prose.py" "$FOLDER/copy.py"
  prose "$FOLDER/copy.py"
  [ "$status" = 1 ]
  prose "$FOLDER/none"
  [ "$status" = 1 ]
  [[ $stderr == "prose.py: no file or folder "*/none ]]
}
