# SPDX-License-Identifier: Apache-2.0
# Trainings inside a real Slurm. Its nodes have addresses here: slurmd and all that it starts see a hosts file in which each is
# a loopback address. Servers listen on all addresses of their host, which is one, so those of a test are on one node.
# shellcheck source=slurm-steps.bash
source "$(dirname "${BASH_SOURCE[0]}")/slurm-steps.bash"
# shellcheck source=../cli/coordinate.bash
source "$(dirname "${BASH_SOURCE[0]}")/../cli/coordinate.bash"

# Called by slurm_up, in the background.
slurmd() {
  local n
  if [ ! -e "$BED/hosts" ]; then
    cp /etc/hosts "$BED/hosts"
    for n in 1 2 3 4; do echo "127.0.0.$n n$n" >>"$BED/hosts"; done
  fi
  exec unshare -m bash -c 'mount --bind "$0" /etc/hosts && exec slurmd "$@"' "$BED/hosts" "$@"
}

# Waits until the events of file $1 have one that jq finds true; EVENT is it.
until_event() {
  while IFS= read -r -t 60 EVENT; do
    may_be "$EVENT" "$2" || continue
    [ "$(jq "$2" <<<"$EVENT" 2>/dev/null)" != true ] || return 0
  done < <(timeout "${EVENT_LIMIT:-60}" tail -n +1 -F "$1" 2>/dev/null 3>&-)
  echo "no event: $2"
  tail -n 20 "$OUT"/*
  return 1
}
