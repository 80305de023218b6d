#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Groups of tfd-run --strategy multi-worker-mirrored whose members die or freeze: all end with one cause, and the same command
# goes on with what was saved.
# bats file_tags=long

load ../cli/group
setup() { coordinate_setup; }
teardown() { run_teardown; }

training() { # N ARGS…
  local n=$1
  shift
  start_group "$n" "$EXAMPLES/digits/program.json" "${SEEDED[@]}" --replicas 4 --set train.steps=400 --set train.checkpoint.dir=ck \
    --set train.checkpoint.every=50 "$@"
}

@test "fault: a killed worker, or chief, ends all with its name, and the weights are in the end an undisturbed run's" {
  local victim other steps
  for victim in 1 0; do
    group_of 3
    training 3 --set train.steps=1000000
    RUN=${PIDS[0]} until_event worker:0 '.event == "checkpoint"'
    kill -KILL "${PIDS[$victim]}"
    ends "${PIDS[$victim]}"
    for other in 0 1 2; do
      [ "$other" != "$victim" ] || continue
      run_ends "${PIDS[$other]}" 69
      grep -q "^tfd-run: worker:$victim is lost (its connection has ended)" "worker:$other.talk"
    done
  done
  steps=$(($(jq '.checkpoints[-1].step' ck/index.json) + 100))
  group_of 2
  training 2 --set "train.steps=$steps"
  group_ends 0
  jq -es 'any(.[]; .event == "start" and .step > 0)' worker:0.events
  run -0 --separate-stderr timeout 60 tfd-run "$EXAMPLES/digits/program.json" "${SEEDED[@]}" --strategy mirrored --replicas 4 \
    --set "train.steps=$steps" --set train.checkpoint.dir=undisturbed </dev/null
  local file
  file=step-$(printf %08d "$steps").safetensors
  [ "$(weights "ck/$file")" = "$(weights "undisturbed/$file")" ]
}

# Adds 1 to the floats of a variable that nothing else has, wherever the process has them.
alter_memory() { # PID FLOATS-OF-THE-PATTERN
  perl -e '
    my ($pid, $value, $count) = @ARGV;
    my ($old, $new, $found) = (pack("f<", $value) x $count, pack("f<", $value + 1) x $count, 0);
    open(my $maps, "<", "/proc/$pid/maps") or die "maps: $!";
    open(my $memory, "+<:raw", "/proc/$pid/mem") or die "mem: $!";
    while (<$maps>) {
      next unless /^([0-9a-f]+)-([0-9a-f]+) rw/;
      my ($from, $to) = (hex($1), hex($2));
      sysseek($memory, $from, 0) or next;
      defined(sysread($memory, my $bytes, $to - $from)) or next;
      for (my $at = index($bytes, $old); $at >= 0; $at = index($bytes, $old, $at + length($old))) {
        sysseek($memory, $from + $at, 0) and syswrite($memory, $new) and ++$found;
      }
    }
    print "$found\n";
    exit($found == 0);' "$1" 123456.75 64
}

@test "fault: a worker whose memory alters a variable is named, and all end with 70" {
  cp -r "$EXAMPLES/digits" digits
  jq '.variables.mark = {shape: [64], dtype: "f32", trainable: false, init: {constant: {value: 123456.75}}}
    | def each(kind): ("w1", "b1", "w2", "b2") | {(kind): .};
    .functions |= map_values(.inputs |= [.[] | if .variables then each("variable") else . end]
      | .outputs |= [.[] | if .gradients then each("gradient") else . end])' "$EXAMPLES/digits/program.json" >digits/program.json
  group_of 3
  start_group 3 digits/program.json "${SEEDED[@]}" --set train.steps=1000000 --set train.checkpoint.dir=ck \
    --verify-every 50
  RUN=${PIDS[0]} until_event worker:0 '.event == "step"'
  alter_memory "${PIDS[1]}"
  group_ends 70
  local one
  for one in 0 1 2; do
    grep -Eq "after step [0-9]+, 'mark' of worker:1 isn't what the others have: a memory or processor is at fault" "worker:$one.talk"
  done
}

@test "fault: a frozen worker is named, then lost; one that thaws before goes on as if nothing had been" {
  group_of 2
  training 2 --set train.steps=1000000
  RUN=${PIDS[0]} until_event worker:0 '.event == "checkpoint"'
  kill -STOP "${PIDS[1]}"
  RUN=${PIDS[0]} until_talk worker:0 "worker:1 doesn't answer"
  kill -CONT "${PIDS[1]}"
  local step
  step=$(jq -s 'map(.step // 0) | max' worker:0.events)
  RUN=${PIDS[0]} until_event worker:0 ".event == \"step\" and .step > $step"
  kill -STOP "${PIDS[1]}"
  run_ends "${PIDS[0]}" 69
  grep -q 'worker:1 is lost (no heartbeat' worker:0.talk
  kill -KILL "${PIDS[1]}"
}

@test "fault: a frozen chief is lost, too, and ends all others with its name" {
  group_of 3
  training 3 --set train.steps=1000000
  RUN=${PIDS[0]} until_event worker:0 '.event == "checkpoint"'
  kill -STOP "${PIDS[0]}"
  local other
  for other in 1 2; do
    run_ends "${PIDS[$other]}" 69
    grep -q '^tfd-run: worker:0 is lost (no heartbeat for 10s)' "worker:$other.talk"
  done
  kill -KILL "${PIDS[0]}"
}

# Steps were made, and none for a second.
stands_still() { # EVENTS
  grep -q '"event":"step"' "$1" && [ $(($(date +%s) - $(stat -c %Y "$1"))) -ge 2 ]
}

# Evaluations that take a second, after every 50 steps.
long_evaluations() {
  jq '.datasets.test |= .[:1] + [{repeat: {count: 4000}}, {batch: {size: 64, drop_remainder: true}}]' "$EXAMPLES/digits/program.json" >"$EXAMPLES/digits/long-evaluations.json"
}

@test "fault: SIGTERM to any worker in an evaluation: all save and end; with MIN:MAX it leaves, and the rest evaluate" {
  long_evaluations
  local asked args=("$EXAMPLES/digits/long-evaluations.json" "${SEEDED[@]}" --set train.evaluate.every=50 --set train.log_every=50)
  for asked in 0 1; do
    group_of 2
    start_group 2 "${args[@]}" --set train.checkpoint.dir="ck-$asked"
    RUN=${PIDS[0]} until_event worker:0 '.event == "step" and .step == 100'
    kill -TERM "${PIDS[$asked]}"
    group_ends 75
    [ "$(last worker:0 .reason)" = '"interrupted"' ]
    [ -f "ck-$asked/step-$(printf %08d "$(last worker:0 .step)").safetensors" ]
  done
  group_of 2
  start_group 2 "${args[@]}" --workers 1:2 --set train.checkpoint.dir=ck
  RUN=${PIDS[0]} until_event worker:0 '.event == "step" and .step == 100'
  kill -TERM "${PIDS[1]}"
  run_ends "${PIDS[1]}" 0
  RUN=${PIDS[0]} until_event worker:0 '.event == "eval" and .step >= 100'
  kill -TERM "${PIDS[0]}"
  run_ends "${PIDS[0]}" 75
  [ "$(last worker:0 .reason)" = '"interrupted"' ]
}

@test "fault: SIGTERM to a worker in an evaluation that takes hours: the others don't finish their parts first" {
  jq '.datasets.test |= .[:1] + [{repeat: {}}, {batch: {size: 64}}] | .train.evaluate.steps = 100000000' "$EXAMPLES/digits/program.json" >"$EXAMPLES/digits/hours.json"
  local asked args=("$EXAMPLES/digits/hours.json" "${SEEDED[@]}" --replicas 3 --set train.evaluate.every=50 --set train.log_every=50)
  for asked in 0 2; do
    group_of 3
    start_group 3 "${args[@]}" --set train.checkpoint.dir="ck-$asked"
    RUN=${PIDS[0]} until_event worker:0 '.event == "step" and .step == 50'
    kill -TERM "${PIDS[$asked]}"
    group_ends 75
    [ "$(last worker:0 .reason)" = '"interrupted"' ]
    [ -f "ck-$asked/step-00000050.safetensors" ]
  done
  group_of 3
  start_group 3 "${args[@]}" --workers 1:3 --set train.checkpoint.dir=ck
  RUN=${PIDS[0]} until_event worker:0 '.event == "step" and .step == 50'
  kill -TERM "${PIDS[1]}"
  run_ends "${PIDS[1]}" 0
  RUN=${PIDS[0]} until_talk worker:0 'goes on at step 50: worker:0, worker:2; worker:1 has left$'
  kill -TERM "${PIDS[0]}" "${PIDS[2]}"
  run_ends "${PIDS[0]}" 75
  run_ends "${PIDS[2]}" 75
  [ -f ck/step-00000050.safetensors ]
}

@test "fault: SIGTERM to a worker while another one waits for its data: all save the step that they have made" {
  jq '.datasets.train[0] = {command: {format: "csv", fields: .datasets.train[0].csv.fields,
      argv: ["sh", "-c", "cat digits-train.csv; ${STALLED:+sleep 1000}; exec cat digits-train.csv"]}}' \
    "$EXAMPLES/digits/program.json" >"$EXAMPLES/digits/stalled.json"
  local asked
  for asked in 0 2; do
    group_of 3
    PIDS=()
    local i
    for i in 2 1 0; do
      STALLED=$([ "$i" != 1 ] || echo yes) worker "worker:$i" "$EXAMPLES/digits/stalled.json" --set 'datasets.train[1]={"shuffle": {"buffer": 20, "seed": 7}}' \
        --strategy multi-worker-mirrored --key-file none --set train.log_every=1 --set train.checkpoint.dir="ck-$asked"
      PIDS[i]=$RUN
    done
    until_true stands_still worker:0.events
    kill -TERM "${PIDS[$asked]}"
    group_ends 75
    [ "$(last worker:0 .reason)" = '"interrupted"' ]
    [ -f "ck-$asked/step-$(printf %08d "$(last worker:0 .step)").safetensors" ]
  done
}

@test "fault: tfd-launch's error files have the step that was made, of the killed one and of those that end with it, without MIN:MAX" {
  run -137 --separate-stderr timeout 60 tfd-launch -n 2 --error-dir errors --fault 'kill worker:1 at step 100' -- \
    tfd-run "$EXAMPLES/digits/program.json" "${SEEDED[@]}" --strategy multi-worker-mirrored --key-file none \
    --set train.steps=1000000 --set train.checkpoint.dir=ck
  [ "$(jq -c '[.signal, .step]' errors/worker-1.json)" = '[9,100]' ]
  jq -e '.code == 69 and (.step == 100 or .step == 101) and (.message | startswith("worker:1 is lost"))' errors/worker-0.json
  [ ! -e errors/worker-0.member ]
}
