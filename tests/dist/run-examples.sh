#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every example that the documentation shows, so that none of them lies:
# - each literal block (between ``` lines) in the EXAMPLES and TASKS sections of a man page (man/*.scd), as the rendered page shows
#   it: that is what people copy, and roff takes a backslash away unless it is written twice,
# - each ```sh block of README.md and of the pages in docs/, except for pages whose blocks belong together: those with a line
#   <!-- one folder --> are run from top to bottom by tests/cluster (run-page.py).
#
#   TFD_BUILD=build TFD_SOURCE=. tests/dist/run-examples.sh [WORD…]     only examples with one of the words in "file:line"
#
# How to write one:
# - It runs as `bash -euo pipefail -c BLOCK` in a temporary directory of its own, with the build's tools first in PATH,
#   share/ in PYTHONPATH, and a copy of the project's examples/ linked into the directory (read only: write elsewhere, e.g.
#   --set train.checkpoint.dir=ck).
#   stdin is /dev/null. After 120 s it has failed; whatever it left running is killed.
# - It has to exit with 0. A first line `# exits: 65` states another code.
# - A first line `# needs: slurm` (tensorflow, kubernetes, …; several words are all needed) skips it unless
#   TFD_HAVE_SLURM=1 is set. Both comments may stand together, one line each, before the first command. In Markdown a line
#   <!-- needs: slurm --> or <!-- exits: 65 --> above the block says the same, and readers don't see it.
#
# Prints `ok`, `skip` or `not ok` with "file:line" for each, the output of those that failed, and exits 1 if any did, or
# if there was none at all.
set -euo pipefail

SOURCE=$(cd "${TFD_SOURCE:-$(dirname "$0")/../..}" && pwd)
BUILD=$(cd "${TFD_BUILD:-$SOURCE/build}" && pwd)
LIMIT=${TFD_EXAMPLE_LIMIT:-120}
TOP=$(mktemp -d)
trap 'rm -rf "$TOP"' EXIT
# shellcheck source=../cli/examples.bash disable=SC1091  # followed only with -x
source "$(dirname "$(realpath "$0")")/../cli/examples.bash"
copy_examples "$SOURCE" "$TOP/examples"
export PATH=$BUILD/tools:$PATH PYTHONPATH=$SOURCE/share PYTHONDONTWRITEBYTECODE=1
unset TF_CONFIG TFD_LOG

# "FILE:LINE\nBLOCK\0" for every example of a file.
list_examples() {  # FILE
  awk -v file="${1#"$SOURCE"/}" '
    BEGIN { man = file ~ /\.scd$/ }
    !man && !inside && /^<!-- (needs|exits): .* -->$/ { stated = stated "# " substr($0, 6, length($0) - 9) "\n"; next }
    man && !inside && /^# / { examples = ($0 == "# EXAMPLES" || $0 == "# TASKS") }
    !inside && (man ? examples && /^```/ : /^```sh$/) { inside = 1; printf "%s:%d\n%s", file, NR, stated; stated = ""; next }
    !inside && /^```/ { inside = 2; next }
    inside && /^```$/ { if (inside == 1) printf "%c", 0; inside = 0; next }
    inside == 1 { print }
  ' "$1"
}

# The page as a terminal shows it, without bold and underlined characters.
render_page() {  # FILE
  scdoc <"$1" | groff -k -Kutf8 -man -Tutf8 -rLL=200n -rcR=1 -P-cbou
}

# The same as list_examples, with the lines of the rendered page in place of those of its source: blocks are all that is
# indented so far there. The source tells where one ends (empty lines aside, for pages have others of their own).
list_rendered_examples() {  # FILE
  local page=$TOP/page place block line
  render_page "$1" | awk '  # all but the last line, the footer
    /^[^ ]/ { examples = ($0 == "EXAMPLES" || $0 == "TASKS") }
    /./ { if (code != "") print code; code = "" }
    examples && /^           / { code = substr($0, 12) }' >"$page" ||
    { printf '%s:1\necho "the page can'"'"'t be rendered"; exit 99\n\0' "${1#"$SOURCE"/}"; return; }
  exec 3<"$page"
  while IFS= read -r -d '' place; do
    block=${place#*$'\n'}
    printf '%s\n' "${place%%$'\n'*}"
    while IFS= read -r line; do
      if [ -n "$line" ]; then IFS= read -r line <&3 || line='echo "the rendered page has fewer lines"; exit 99'; fi
      printf '%s\n' "$line"
    done <<<"${block%$'\n'}"
    printf '\0'
  done < <(list_examples "$1")
  if read -r line <&3; then printf '%s:1\necho "the rendered page has more lines: %q"; exit 99\n\0' "${1#"$SOURCE"/}" "$line"; fi
  exec 3<&-
}

# The value of a leading comment: "# exits: 65" -> 65.
stated() {  # KEY BLOCK
  awk -v key="# $1: " '!/^#/ { exit } index($0, key) == 1 { print substr($0, length(key) + 1); exit }' <<<"$2"
}

# The needs of an example that are missing.
lacking() {  # WORDS…
  local word name
  for word in "$@"; do
    name=TFD_HAVE_$(tr 'a-z-' 'A-Z_' <<<"$word")
    [ "${!name:-}" = 1 ] || printf '%s ' "$word"
  done
}

# Runs a block in a directory and a process group of its own; its exit code, output in $TOP/output.
run_block() {  # BLOCK
  local directory status=0
  directory=$(mktemp -d "$TOP/run.XXXXXX")
  ln -s "$TOP/examples" "$directory/examples"
  set -m  # a job gets a process group, and SIGINT at its default
  (cd "$directory" && exec timeout --kill-after=5 "$LIMIT" bash -euo pipefail -c "$1") </dev/null >"$TOP/output" 2>&1 &
  local group=$!
  set +m
  wait "$group" || status=$?
  kill -KILL -- "-$group" 2>/dev/null || true
  rm -rf "$directory"
  return "$status"
}

wanted() {  # PLACE WORDS…
  local place=$1 word
  shift
  [ $# -gt 0 ] || return 0
  for word in "$@"; do [[ $place != *"$word"* ]] || return 0; done
  return 1
}

failed=0
count=0
while IFS= read -r -d '' example; do
  place=${example%%$'\n'*}
  block=${example#*$'\n'}
  wanted "$place" "$@" || continue
  count=$((count + 1))
  read -r -a needs <<<"$(stated needs "$block")"
  without=$(lacking "${needs[@]}")
  if [ -n "$without" ]; then
    echo "skip $place (${without% })"
    continue
  fi
  expected=$(stated exits "$block")
  status=0
  run_block "$block" || status=$?
  if [ "$status" = "${expected:-0}" ]; then
    echo "ok $place"
    continue
  fi
  failed=$((failed + 1))
  if [ "$status" = 124 ]; then echo "not ok $place: still running after $LIMIT s"; else echo "not ok $place: exit code $status"; fi
  printf '    | %s\n' "${block//$'\n'/$'\n    | '}"
  sed 's/^/    /' "$TOP/output" | tail -n 40
done < <(
  for file in "$SOURCE"/man/*.scd; do list_rendered_examples "$file"; done
  while IFS= read -r file; do
    grep -qxF '<!-- one folder -->' "$file" || list_examples "$file"
  done < <(find "$SOURCE/README.md" "$SOURCE/docs" -name '*.md' 2>/dev/null | sort)
)

echo "$count examples, $failed failed"
[ "$failed" = 0 ] && [ "$count" -gt 0 ]
