#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Parameter servers and coordinators that die while the servers write a checkpoint: it is whole or not there, the older ones stay,
# and each step counts once.
# bats file_tags=long

load ../cli/group
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

# A training whose servers write 32 MiB each for a checkpoint, so that many a kill comes while they do.
train() { # ARGS…
  if [ ! -f program.json ]; then
    counting_program '{"function": "count", "steps": 100000000, "log_every": 100, "checkpoint": {"dir": "ck", "every": 1000, "keep": 2, "by": "servers"}}'
    jq '.variables.pad = {"shape": [16777216], "init": {"zeros": {}}, "partitioner": {"fixed_shards": {"num_shards": 2}}}' program.json >with.json
    mv with.json program.json
  fi
  coordinate program.json --cluster spec.json "$@"
}

# Waits until a part of this server is being written.
until_part() { # NUMBER
  local deadline=$((SECONDS + 60))
  until compgen -G "ck/.step-*/part-$1-of-2.safetensors" >/dev/null; do
    [ "$SECONDS" -lt "$deadline" ] || { echo "no part $1"; cat talk; return 1; }
  done
}

# The existing checkpoints have their names, and are whole.
all_are_whole() {
  run -0 tfd-checkpoint verify ck
  echo "$output"
  [ -z "$(find ck -name 'step-*.safetensors')" ]
}

@test "server checkpoints: a parameter server that is killed while it writes, again and again" {
  serve --jobs worker=2,ps=2
  train --max-failures 100
  event '.event == "checkpoint"'
  local i ps
  for i in 1 2 3 4 5; do
    ps=$((i % 2))
    until_part $((ps + 1))
    kill -KILL "$(task_pid "ps:$ps")"
    event ".event == \"server\" and .task == \"ps:$ps\" and .failure == $i"
    all_are_whole
    event '.event == "start" and .step > 0 and .step % 1000 == 0 and .resumed_from != null'
    event '.event == "checkpoint"'
  done
  stops_with_each_step_once
  all_are_whole
  [ -z "$(find ck -name '.step-*')" ]
}

@test "server checkpoints: a coordinator that is killed while they are written, and its leftovers" {
  serve --jobs worker=2,ps=2
  local i step=0 left=0
  for i in 1 2 3 4; do
    train
    event '.event == "start"'
    [ "$(jq .step <<<"$EVENT")" -ge "$step" ]
    event '.event == "checkpoint"'
    step=$(jq .step <<<"$EVENT")
    until_part $((i % 2 + 1))
    kill_coordinator
    all_are_whole
    [ -z "$(find ck -name '.step-*')" ] || left=$((left + 1))
  done
  echo "# $left of 4 left something unfinished"
  train
  event '.event == "checkpoint"'
  stops_with_each_step_once
  all_are_whole
  [ -z "$(find ck -name '.step-*')" ]
}

@test "server checkpoints: servers that are frozen while they write only delay them" {
  serve --jobs worker=1,ps=2
  train
  event '.event == "checkpoint"'
  until_part 2
  local pid
  pid=$(task_pid ps:1)
  kill -STOP "$pid"
  ln -s talk coordinator.talk
  RUN=$COORDINATOR until_talk coordinator 'ps:1 is silent'
  kill -CONT "$pid"
  event '.event == "checkpoint"'
  stops_with_each_step_once
  all_are_whole
}
