#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run with accelerators of several hosts: their devices are one system, so a step is one program for all of them. The
# plug-in is the tests' own, around the CPU's: it says that it is another platform's (tests/unit/function/multi_host_plugin.cpp).

load group
setup() {
  coordinate_setup
  HOSTS=(env "TFD_PJRT_PLUGIN=$TFD_BUILD/tests/unit/function/multi-host-plugin.so" TFD_CACHE_DIR=)
}
teardown() { run_teardown; }

# Starts $1 workers on the plug-in; PIDS are their processes, the chief's first.
start_hosts() { # N PROGRAM ARGS…
  local i n=$1
  shift
  PIDS=()
  for ((i = n - 1; i >= 0; --i)); do
    "${HOSTS[@]}" TPU_WORKER_ID="$i" --default-signal=INT tfd-run -v "$@" --cluster cluster.json --task "worker:$i" \
      --key-file none --trace "worker:$i.trace" <&0 >"worker:$i.events" 2>"worker:$i.talk" 5>&- 6>&- 7>&- 8>&- &
    RUN=$!
    RUNS+=("$RUN")
    PIDS=("$RUN" "${PIDS[@]}")
  done
}
losses() { # FILE
  jq -c 'select(.event == "eval" or .event == "step") | [.step, .metrics.loss]' "$1"
}
# Whether two files of [step, loss] have the same steps, and losses that differ by rounding only.
same_losses() { # FILE FILE
  [ -s "$1" ] && jq -es --slurpfile other "$2" '
    length == ($other | length) and
    ([., $other] | transpose | all(.[]; .[0][0] == .[1][0] and ((.[0][1] - .[1][1]) | fabs) <= 1e-5 * (.[1][1] | fabs)))' "$1" >same
}
digits() { # NAME: a training of the digits on four replicas that says its losses, in ARGS
  ARGS=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --set train.steps=20 --set train.evaluate.every=10 --set "train.checkpoint.dir=$1")
}
in_one_process() { # ARGS…: four replicas on four devices of one process, their sum made by the devices
  run -0 --separate-stderr timeout 120 tfd-run "$@" --strategy mirrored --devices 4 --step fused </dev/null
  losses <(printf '%s\n' "$output") >one.losses
}
# Whether every step was one program for all devices, by the trace of a worker.
are_launches() { # TRACE STEPS
  jq -e --argjson steps "$2" '[.. | .name? // empty] | (map(select(. == "step")) | length) == $steps and all(.[]; . != "compute")' "$1" >seen
}

@test "multi-host: two processes of two GPUs train as one of four devices does, by programs for all of them" {
  digits ck0
  in_one_process "${ARGS[@]}"
  digits ck
  group_of 2
  start_hosts 2 "${ARGS[@]}" --strategy multi-worker-mirrored --devices gpu:0,gpu:1
  group_ends 0
  losses worker:0.events >two.losses
  same_losses two.losses one.losses
  are_launches worker:0.trace 20
  jq -es 'any(.[]; .event == "start" and .workers == 2 and .replicas == 4 and .devices == ["cuda:0", "cuda:1"])' worker:0.events
  [ ! -s worker:1.events ]
  # A process has the GPUs that it names only: two of the first host, one of the second.
  digits ck3
  start_hosts 2 "${ARGS[@]}" --strategy multi-worker-mirrored --devices gpu:0 --set train.steps=2
  group_ends 0
  jq -es 'any(.[]; .event == "start" and .replicas == 2)' worker:0.events
}

@test "multi-host: --strategy tpu on a slice of two hosts trains as one process does" {
  digits ck0
  in_one_process "${ARGS[@]}"
  digits ck
  group_of 2
  HOSTS+=(TFD_TEST_PLATFORM=tpu TFD_TEST_HOSTS=2 "TFD_TEST_MEETING=$PWD/slice")
  start_hosts 2 "${ARGS[@]}" --strategy tpu
  group_ends 0
  losses worker:0.events >two.losses
  same_losses two.losses one.losses
  are_launches worker:0.trace 20
  jq -es 'any(.[]; .event == "start" and .replicas == 4 and .devices == ["tpu:0", "tpu:1"])' worker:0.events
  # Under a tfd-launch its tasks are the slice's hosts.
  digits launched
  "${HOSTS[@]}" TFD_TEST_MEETING="$PWD/launched-slice" timeout 120 tfd-launch -n 2 --no-prefix -- sh -c 'TPU_WORKER_ID=$RANK exec "$@"' - tfd-run "${ARGS[@]}" \
    --strategy tpu </dev/null >worker:0.events 5>&- 6>&- 7>&- 8>&-
  losses worker:0.events >two.losses
  same_losses two.losses one.losses
  # The spec's numbers needn't be the slice's.
  digits other
  jq '.cluster.worker |= reverse' cluster.json >reversed.json
  mv reversed.json cluster.json
  local i
  PIDS=()
  for i in 1 0; do
    "${HOSTS[@]}" "TPU_WORKER_ID=$((1 - i))" tfd-run "${ARGS[@]}" --strategy tpu --cluster cluster.json --task "worker:$i" \
      --key-file none </dev/null >"worker:$i.events" 2>"worker:$i.talk" 5>&- 6>&- 7>&- 8>&- &
    RUNS+=("$!")
    PIDS+=("$!")
  done
  group_ends 0
  losses worker:0.events >two.losses
  same_losses two.losses one.losses
}

@test "multi-host: a slice of several hosts needs a cluster of as many" {
  HOSTS+=(TFD_TEST_PLATFORM=tpu TFD_TEST_HOSTS=2 "TFD_TEST_MEETING=$PWD/slice")
  local args=("$EXAMPLES/digits/program.json" --strategy tpu)
  TPU_WORKER_ID=1 "${HOSTS[@]}" tfd-run "${args[@]}" </dev/null >other 2>&1 5>&- 6>&- 7>&- 8>&- &
  RUNS+=("$!")
  PIDS=("$!")
  run -78 --separate-stderr timeout 60 "${HOSTS[@]}" TPU_WORKER_ID=0 tfd-run "${args[@]}" </dev/null
  [[ $stderr == *"a TPU system of 2 hosts: each needs a process that knows the others"*"hint: --cluster tpu on each host"* ]]
  group_ends 78
  group_of 3
  start_hosts 2 "${args[@]}"
  group_ends 78
  grep -q 'the TPU system has 2 hosts, the cluster 3' worker:1.talk
  run -64 timeout 60 tfd-run "${args[@]}" --topology 2x1x1x1 --cluster cluster.json --task worker:0 </dev/null
  [[ $output == *"--topology 2x1x1x1: that is one host's, but the cluster has 3: the plug-in knows their mesh"* ]]
}

@test "multi-host: a worker that dies in a step ends the others with its name, and the same command goes on" {
  digits ck
  group_of 2
  local args=("${ARGS[@]}" --strategy multi-worker-mirrored --devices "gpu:0,gpu:1" --set train.checkpoint.every=5)
  # The plug-in waits for a lost worker, as NCCL does, or says that the program has failed.
  local how
  HOSTS+=(TFD_TEST_DIES_AT=7)
  for how in waits fails; do
    [ "$how" = waits ] || HOSTS+=(TFD_TEST_ABORTS=1)
    start_hosts 2 "${args[@]}" --start-over
    run_ends "${PIDS[0]}" 69
    run_ends "${PIDS[1]}" 137
    grep -q "^tfd-run: step 7 can't end without worker:1: worker:1 is lost (.*); work on devices can't be canceled, so this process ends" worker:0.talk
  done
  HOSTS+=(TFD_TEST_DIES_AT=-1)
  start_hosts 2 "${args[@]}"
  group_ends 0
  jq -es 'any(.[]; .event == "start" and .step == 5)' worker:0.events
  losses worker:0.events | tail -n 1 >two.losses
  digits ck0
  in_one_process "${ARGS[@]}"
  tail -n 1 one.losses >last.losses
  same_losses two.losses last.losses
}

@test "multi-host: the end of the data, where replicas differ, is summed by the processes" {
  local args=("$EXAMPLES/digits/program.json" "${SEEDED[@]}" --set 'datasets.train[2]={"repeat": {"count": 1}}' --set train.steps=null
    --set train.epochs=1 --set train.evaluate.every=1)
  in_one_process "${args[@]}" --set train.checkpoint.dir=ck0
  group_of 2
  start_hosts 2 "${args[@]}" --set train.checkpoint.dir=ck --strategy multi-worker-mirrored --devices gpu:0,gpu:1
  group_ends 0
  losses worker:0.events >two.losses
  same_losses two.losses one.losses
  jq -e '[.. | .name? // empty] | any(. == "step") and any(. == "compute") and any(. == "reduce")' worker:0.trace >seen
}

@test "multi-host: what isn't one program for all devices is summed by the processes, and -v says why" {
  digits ck0
  in_one_process "${ARGS[@]}"
  digits ck
  group_of 2
  start_hosts 2 "${ARGS[@]}" --strategy multi-worker-mirrored --devices gpu:0,gpu:1 --step threads
  group_ends 0
  losses worker:0.events >two.losses
  same_losses two.losses one.losses
  grep -q 'the processes sum, not their devices: --step threads' worker:0.talk
  jq -e '[.. | .name? // empty] | any(. == "reduce") and all(. != "step")' worker:0.trace >seen
  statistics_program statistics
  start_hosts 2 statistics/program.json --strategy multi-worker-mirrored --devices gpu:0,gpu:1
  group_ends 0
  grep -q "the processes sum, not their devices: 'mean' is synchronized on read: each process has the copies of all replicas" worker:1.talk
  run -0 timeout 60 tfd-run statistics/program.json --strategy mirrored --devices 4 --set train.checkpoint.dir=ck1 </dev/null
  local last
  last=$(jq -r .latest ck1/index.json)
  [ "$(weights "statistics/ck/$last")" = "$(weights "ck1/$last")" ] || [ "$(weights "ck/$last")" = "$(weights "ck1/$last")" ]
  # With MIN:MAX a member may be lost at any time, which programs for all devices don't survive.
  digits elastic
  start_hosts 2 "${ARGS[@]}" --strategy multi-worker-mirrored --devices gpu:0,gpu:1 --workers 1:2
  group_ends 0
  jq -e '[.. | .name? // empty] | any(. == "reduce") and all(. != "step")' worker:0.trace >seen
}

@test "multi-host: SIGTERM to one: all save the same step, and go on from it" {
  digits ck
  group_of 2
  local args=("${ARGS[@]}" --strategy multi-worker-mirrored --devices gpu:0,gpu:1)
  start_hosts 2 "${args[@]}" --set train.steps=1000000
  until_event worker:0 '.event == "eval"'
  kill -TERM "${PIDS[1]}"
  group_ends 75
  local saved
  saved=$(last worker:0 .step)
  start_hosts 2 "${args[@]}" --set "train.steps=$((saved + 5))"
  group_ends 0
  jq -es --argjson saved "$saved" 'any(.[]; .event == "start" and .step == $saved)' worker:0.events
}

@test "multi-host: TFD_PJRT_OPTIONS goes to the plug-in with what hosts need" {
  digits ck
  group_of 2
  HOSTS+=(TFD_PJRT_OPTIONS=memory_fraction=0.5,preallocate=false,allocator=bfc)
  start_hosts 2 "${ARGS[@]}" --strategy multi-worker-mirrored --devices gpu:0,gpu:1 --set train.steps=2
  group_ends 0
  run -65 timeout 60 env TFD_PJRT_OPTIONS=half tfd-run "${ARGS[@]}" </dev/null
  [[ $output == *"TFD_PJRT_OPTIONS: 'half' is not NAME=VALUE"* ]]
}
