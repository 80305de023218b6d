# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Groups of tfd-run --workers MIN:MAX, a process for each member, for tests of members that die, freeze and come back.

load ../cli/group
elastic_setup() {
  coordinate_setup
  OF_ALL=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 4 --set train.log_every=100 --set train.checkpoint.every=1000)
}

# Waits until somebody who lives is the chief, and has a state to hand over.
somebody_trains() {
  local i tries
  for ((tries = 0; tries < 600; ++tries)); do
    for i in "${!PIDS[@]}"; do
      ! kill -0 "${PIDS[$i]}" 2>/dev/null || ! grep -q '"event":"step"' "worker:$i.events" || return 0
    done
    sleep 0.1
  done
  cat ./*.talk && return 1
}
member() { # I ARGS…
  local i=$1
  shift
  worker "worker:$i" "${OF_ALL[@]}" --strategy multi-worker-mirrored --key-file none --set train.checkpoint.dir=ck "$@"
  PIDS[i]=$RUN
}
members() { # N ARGS…
  local i n=$1
  shift
  PIDS=()
  group_of "$n"
  for ((i = n - 1; i >= 0; --i)); do member "$i" "$@"; done
}
killed() { # I
  kill -KILL "${PIDS[$1]}"
  ends "${PIDS[$1]}"
}
talks() { # I TEXT
  RUN=${PIDS[$1]} until_talk "worker:$1" "$2"
}
reaches() { # I STEP
  RUN=${PIDS[$1]} until_event "worker:$1" ".event == \"step\" and .step >= $2"
}

# Faults in a random order, one of the seed's, in a group that trains.
random_round() { # ARGS…
  local victim=$((RANDOM % 3)) kind=$((RANDOM % 5)) other
  other=$(((victim + 1) % 3))
  case $kind in
    3) # frozen, for less than others wait
      kill -STOP "${PIDS[$victim]}"
      sleep "0.$((RANDOM % 900 + 100))"
      kill -CONT "${PIDS[$victim]}"
      return
      ;;
    4)
      kill -TERM "${PIDS[$victim]}"
      LIMIT=60 ends "${PIDS[$victim]}"
      ;;
    *) killed "$victim" ;;
  esac
  if [ $((RANDOM % 3)) = 0 ]; then
    sleep "0.0$((RANDOM % 90 + 10))"
    killed "$other"
    member "$other" "$@"
  fi
  member "$victim" "$@"
}

# Faults of these seeds, each seed's ROUNDS after the other's in one training; in the end the weights are an undisturbed run's.
random_faults() { # FIRST LAST ROUNDS
  local seed round args=(--workers 1:3 --set train.steps=1000000)
  rm -rf ck undisturbed
  members 3 "${args[@]}"
  reaches 0 100
  for ((seed = $1; seed <= $2; ++seed)); do
    RANDOM=$seed
    for ((round = 0; round < $3; ++round)); do
      sleep "0.$((RANDOM % 900 + 100))"
      random_round "${args[@]}"
    done
  done
  somebody_trains
  ends_with_undisturbed_bits 143
}
