#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Groups of tfd-run under tfd-launch on several hosts, which are addresses of loopback: tasks and whole hosts that die, come back and
# come in addition, while the others keep their processes; in the end the weights are an undisturbed run's, to the bit.
# bats file_tags=long

load ../cli/group
load ../cli/launch
load switch
setup() {
  coordinate_setup
  T=$BATS_TEST_TMPDIR LAUNCHER=
  export TFD_LAUNCH_TEST=$T
  hosts_setup
  OF_ALL=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 6 --set train.log_every=100 --set train.checkpoint.every=1000)
}
teardown() {
  run_teardown
  hosts_teardown || { switched_hosts_end && return 1; }
  switched_hosts_end
}

# The launcher of host I with tasks that train without an end.
trains() { # I ARGS…
  local i=$1
  shift
  host "$i" -v --settle 3s "$@" -- tfd-run "${OF_ALL[@]}" --strategy multi-worker-mirrored --set train.steps=1000000 --set train.checkpoint.dir=ck
}
# The processes that host I has started for a task, in order.
processes() { sed -n "s/.*$2: process \([0-9]*\)$/\1/p" "err.$1" | paste -sd ' '; } # I TASK
# The training has begun with WORKERS: a host that comes late, as on a busy machine, has all started again, or is taken in.
all_begin() { # WORKERS
  [[ $(grep -s '"event":"start"' out.0 | tail -n 1) != *'"workers":'"$1,"* ]] || return 0
  local members
  members=$(grep -s 'goes on at step' err.0 | tail -n 1)
  members=${members##*at step *: }
  [ "$(grep -o 'worker:' <<<"${members%%;*}" | wc -l)" = "$1" ]
}
reaches() { until_true has_step "$@"; }                                            # I STEP
has_step() {
  local last
  last=$(awk '/"event":"start"/ { step = "" } /"event":"step"/ { step = $0 } END { print step }' "out.$1" 2>/dev/null)
  [ -n "$last" ] || return 1
  [ "$(jq .step <<<"${last#worker:*: }")" -ge "$2" ]
}
talks() { until_true grep -q "$2" "err.$1"; }                       # I TEXT
goes_on() { talks "$1" "generation [0-9]* goes on at step [0-9]*: $2$"; } # I MEMBERS
# All are asked to end: the last member saves.
end_with_undisturbed_bits() { # CODE…, of each host
  kill -TERM "${HOSTS[0]}"
  hosts_end "$@"
  local file steps
  file=$(jq -r .latest ck/index.json)
  steps=$((10#$(tr -dc 0-9 <<<"$file")))
  undisturbed "$steps"
  [ "$(weights "ck/$file")" = "$(weights "undisturbed/$file")" ]
}

@test "elastic hosts: a task that dies is started again alone, by its own launcher" {
  trains 0 --nnodes 1:2
  trains 1 --nnodes 1:2 -n 2
  until_true all_begin 3
  reaches 0 200
  local first chief again
  first=$(processes 1 worker:2)
  chief=$(processes 0 worker:0)
  again=$(grep -c 'starting all' err.0 || true)
  kill -KILL "${first##* }"
  talks 0 'worker:2 was killed by SIGKILL; starting worker:2 again in 1s (failure 1, at most 3)$'
  goes_on 0 'worker:0, worker:1; worker:2 is lost (.*)'
  goes_on 0 'worker:0, worker:1, worker:2; with worker:2 anew'
  kill -KILL "${chief##* }"
  goes_on 1 'worker:1, worker:2, worker:0; with worker:0 anew'
  [[ $(processes 1 worker:2) == "$first "+([0-9]) ]]
  [[ $(processes 0 worker:0) == "$chief "+([0-9]) ]]
  [ "$(grep -c 'starting all' err.0 || true)" = "$again" ]
  end_with_undisturbed_bits 75 75
}

@test "elastic hosts: a host that dies is done without; its line joins again, and nobody else is started again" {
  trains 0 --nnodes 1:2
  trains 1 --nnodes 1:2 -n 2
  until_true all_begin 3
  reaches 0 200
  local chief again
  chief=$(processes 0 worker:0)
  again=$(grep -c 'starting all' err.0 || true)
  kill -KILL "${HOSTS[1]}"
  talks 0 "the launcher of 127.0.0.2 is lost (it has ended, or doesn't answer), and worker:1 and worker:2 with it; the others go on (failure 1, at most 3)$"
  goes_on 0 'worker:0; worker:[12] is lost (.*); worker:[12] is lost (.*)'
  trains 1 --nnodes 1:2 -n 2
  talks 0 '127.0.0.2 joins with worker:1 and worker:2$'
  goes_on 0 'worker:0, .*worker:[12]; with .*worker:[12] anew'
  kill -KILL "${HOSTS[1]}"
  trains 1 --nnodes 1:2 -n 2 # at once: the group may not know yet that it is gone
  until_true again_with_all
  [ "$(processes 0 worker:0)" = "$chief" ]
  [ "$(grep -c 'starting all' err.0 || true)" = "$again" ]
  end_with_undisturbed_bits 75 75
}
again_with_all() { [ "$(grep -c '127.0.0.2 joins with' err.0)" = 2 ] && grep 'goes on at step' err.0 | tail -n 1 | grep -q 'worker:0, worker:[12], worker:[12]; with'; }

@test "elastic hosts: a host that gets SIGTERM hands over and ends with 75, the others go on, and its line joins again" {
  trains 0 --nnodes 1:2
  trains 1 --nnodes 1:2 -n 2
  until_true all_begin 3
  reaches 0 200
  kill -TERM "${HOSTS[1]}"
  talks 0 'SIGTERM at 127.0.0.2: it leaves, and the others go on$'
  local code=0
  wait "${HOSTS[1]}" || code=$?
  [ "$code" = 75 ]
  talks 0 'generation [0-9]* goes on at step [0-9]*: worker:0; .*worker:[12] has left$'
  trains 1 --nnodes 1:2 -n 2
  goes_on 0 'worker:0, .*worker:[12]; with .*worker:[12] anew'
  run ! grep -q 'starting all' err.0
  end_with_undisturbed_bits 75 75
}

@test "elastic hosts: others come while it trains, and take the place of a host that died, whoever the chief is" {
  trains 0 --nnodes 1:3
  reaches 0 200
  trains 1 --nnodes 1:3
  goes_on 0 'worker:0, worker:1; with worker:1 anew'
  trains 2 --nnodes 1:3
  goes_on 0 'worker:0, worker:1, worker:2; with worker:2 anew'
  kill -KILL "$(processes 0 worker:0)"
  goes_on 1 'worker:1, worker:2, worker:0; with worker:0 anew'
  kill -KILL "${HOSTS[2]}"
  goes_on 1 'worker:1, worker:0; worker:2 is lost (.*)'
  trains 3 --nnodes 1:3
  talks 0 '127.0.0.4 joins with worker:2$'
  goes_on 1 'worker:1, worker:0, worker:2; with worker:2 anew'
  kill -KILL "$(processes 1 worker:1)" # the newcomer's address is known to all
  goes_on 0 'worker:0, worker:2, worker:1; with worker:1 anew'
  [[ $(processes 3 worker:2) == +([0-9]) ]]
  run ! grep 'starting all' err.*
  end_with_undisturbed_bits 75 75 137 75
}

@test "elastic hosts: a host that comes with another program ends alone, with what differs, and nobody else takes notice" {
  trains 0 --nnodes 1:3
  trains 1 --nnodes 1:3
  until_true trains_with_two
  local of_all=("${OF_ALL[@]}") changes code=0
  changes=$(grep -c 'goes on at step' err.0) || true
  OF_ALL+=(--set train.log_every=50)
  trains 2 --nnodes 1:3
  wait "${HOSTS[2]}" || code=$?
  [ "$code" = 65 ]
  local differs='the members differ in the program: train.log_every: worker:[01] has [0-9a-z]*, worker:2 has 50'
  grep -q "worker:2: tfd-run: .*$differs$" err.2
  grep -q "^tfd-launch: worker:2 exited with 65: .*$differs; the others go on without it$" err.2
  grep -q "^tfd-launch: worker:2 exited with 65: .*$differs; the others go on without it$" err.0
  [[ $(processes 2 worker:2) == +([0-9]) ]]
  [ "$(grep -c 'goes on at step' err.0)" = "$changes" ]
  OF_ALL=("${of_all[@]}")
  trains 2 --nnodes 1:3
  goes_on 0 'worker:0, worker:1, worker:2; with worker:2 anew'
  [[ $(cat err.0 err.1) != *starting* ]]
  end_with_undisturbed_bits 75 75 75
}

# They may have come together, or one after the other.
trains_with_two() { grep -qs '"event":"start".*"workers":2' out.0 || grep -qs 'goes on at step.*worker:0, worker:1; with' err.0; }

has_saved() { jq -e .latest ck/index.json >/dev/null 2>&1; }

@test "elastic hosts: with too few left they wait up to --join, 75; without the rendezvous they end, 69; the same command continues" {
  trains 0 --nnodes 2:3 --join 5s
  trains 1 --nnodes 2:3 --join 5s
  until_true has_saved
  kill -KILL "${HOSTS[1]}"
  hosts_end 75 137
  grep -q 'gave up waiting for 1 more launcher; 127.0.0.1 is here (5s so far) (--join)$' err.0
  local saved
  saved=$(jq -r .latest ck/index.json)
  trains 0 --nnodes 2:3
  trains 1 --nnodes 2:3
  talks 0 "resuming from ck/$saved"
  reaches 0 $((10#$(tr -dc 0-9 <<<"$saved") + 200))
  kill -KILL "${HOSTS[0]}"
  hosts_end 137 69
  trains 0 --nnodes 2:3
  trains 1 --nnodes 2:3
  talks 0 "resuming from ck/"
  reaches 0 $((10#$(tr -dc 0-9 <<<"$saved") + 300))
  end_with_undisturbed_bits 75 75
}

# The launcher of host I, which is a network namespace.
trains_at() { # I
  env --default-signal=INT,QUIT ip netns exec "$NS-$1" tfd-launch --rendezvous 198.51.100.1:7000 --key-file "$T/key" --nnodes 1:3 -v --settle 300ms -- \
    tfd-run "${OF_ALL[@]}" --strategy multi-worker-mirrored --key-file "$T/key" --set train.steps=1000000 --set train.checkpoint.dir=ck \
    </dev/null >"out.$1" 2>"err.$1" 3>&- &
  HOSTS[$1]=$!
}

@test "elastic hosts: a host that is cut off is done without, ends what it runs, and joins again when its line is started there" {
  switched_hosts 3
  tfd-serve -q --generate-key --key-file "$T/key"
  local i
  for i in 0 1 2; do trains_at "$i"; done
  until_true trains_with_three
  reaches 0 200
  cut_off 2
  talks 0 "the launcher of 198.51.100.3 is lost (it has ended, or doesn't answer), and worker:[12] with it; the others go on"
  goes_on 0 'worker:0, worker:[12]; worker:[12] is lost (.*), on 198.51.100.3'
  local code=0
  wait "${HOSTS[2]}" || code=$?
  [ "$code" = 69 ]
  plugged_in 2
  trains_at 2
  talks 0 '198.51.100.3 joins with worker:[12]$'
  until_true again_with_three
  [[ $(processes 0 worker:0) == +([0-9]) ]]
  [[ $(processes 1 'worker:[12]') == +([0-9]) ]]
  run ! grep 'starting all' err.*
  end_with_undisturbed_bits 75 75 75
}
# They may have come together, or one after the other.
trains_with_three() { grep -qs '"event":"start".*"workers":3' out.0 || grep -qs 'goes on at step.*worker:0, worker:[12], worker:[12];' err.0; }
again_with_three() { grep 'goes on at step' err.0 | tail -n 1 | grep -q 'worker:0, worker:[12], worker:[12]; with worker:[12] anew'; }
