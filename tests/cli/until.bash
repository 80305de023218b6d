# SPDX-License-Identifier: Apache-2.0
# Waiting for conditions without an event: a file that appears, a line in it.

# Until the command succeeds, for at most a minute: a busy machine takes its time.
until_true() { # COMMAND…
  local deadline=$((SECONDS + 60))
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || { echo "not within a minute: $*"; return 1; }
    read -rt 0.02 <> <(:) || :
  done
}

has_lines() { [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; } # FILE COUNT
