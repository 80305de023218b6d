#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whether a commit's message begins as CONTRIBUTING.md says: commit-subject.sh FILE (git's hook commit-msg, by .pre-commit-config.yaml).
# The exit code is 0 if it does, else 65, and stderr says what is wrong.
set -euo pipefail
subject=$(grep -v '^#' "$1" | head -n 1) || true
cd "$(dirname "${BASH_SOURCE[0]}")/.."
MOST=100

wrong() { printf "commit subject '%s': %s\n" "$subject" "$*" >&2; exit 65; }

case $subject in
  'Merge '* | 'Revert "'* | 'fixup! '* | 'squash! '*) exit 0 ;; # git writes these
  '') wrong "is empty; ROOM: what it does, in the imperative, such as 'resolve: read SLURM_JOB_NODELIST in batch scripts'" ;;
  *': '*) ;;
  *) wrong "names no room; such as 'resolve: read SLURM_JOB_NODELIST in batch scripts'" ;;
esac
[ "${#subject}" -le "$MOST" ] || wrong "has ${#subject} characters, at most $MOST: the rest goes behind an empty line"
[[ $subject != *. ]] || wrong "ends with a full stop"

# Rooms, tools, suites of tests, folders, and words for several of them.
known=" all build ci dev doc format library readme "
for path in lib/*/ tests/*/ */ tools/tfd-*.cpp; do
  name=$(basename "$path" .cpp)
  known+="${name#tfd-} "
done
IFS=', ' read -ra rooms <<<"${subject%%: *}"
for room in "${rooms[@]}"; do
  [[ $known == *" $room "* ]] || wrong "there is no room, tool or folder '$room'"
done
