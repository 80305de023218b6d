#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Groups of tfd-run --strategy multi-worker-mirrored whose members die or freeze: all end with one cause, and the same command
# continues from the last checkpoint.
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
    [ "$(grep -ho 'step [0-9]* was not made' ./*.talk | sort | uniq -c | sed 's/^ *\([0-9]*\) .*/\1/')" = 2 ] # the same in both
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
    grep -Eq "after step [0-9]+, 'mark' of worker:1 differs from the others: a memory or processor is at fault" "worker:$one.talk"
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

# Three workers, of which worker:1 waits for its data after some steps, until there is a file "go".
stalled_group() { # ARGS…
  jq '.datasets.train[0] = {command: {format: "csv", fields: .datasets.train[0].csv.fields,
      argv: ["sh", "-c", "cat digits-train.csv; until [ -z \"$STALLED\" ] || [ -e \"$STALLED\" ]; do sleep 0.1; done; exec cat digits-train.csv"]}}' \
    "$EXAMPLES/digits/program.json" >"$EXAMPLES/digits/stalled.json"
  rm -f go
  group_of 3
  PIDS=()
  local i
  for i in 2 1 0; do
    STALLED=$([ "$i" != 1 ] || echo "$T/go") worker "worker:$i" "$EXAMPLES/digits/stalled.json" --set 'datasets.train[1]={"shuffle": {"buffer": 20, "seed": 7}}' \
      --strategy multi-worker-mirrored --key-file none --set train.log_every=1 --set train.steps=1000000 "$@"
    PIDS[i]=$RUN
  done
  until_true stands_still worker:0.events
}
# Whether tfd-status says that this task waits for what begins so.
waits_for() { # TASK WHAT
  tfd-status --cluster cluster.json --key-file none --json 2>/dev/null | jq -e --arg task "$1" --arg what "$2" \
    'any(.tasks[]; .task == $task and (.waits_for // "" | startswith($what)))' >seen
}

@test "fault: SIGTERM to a worker while another one waits for its data: all save the step that they have made" {
  local asked
  for asked in 0 2; do
    stalled_group --set train.checkpoint.dir="ck-$asked"
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

@test "fault: who waits for a worker that waits for its data says so, and so does tfd-status" {
  stalled_group --set train.checkpoint.dir=ck
  until_true waits_for worker:1 'its data (sh -c cat digits-train.csv'
  until_true waits_for worker:0 worker:1
  local step
  step=$(jq -s 'map(.step // 0) | max' worker:0.events)
  RUN=${PIDS[0]} until_talk worker:0 "^tfd-run: step $((step + 1)) has waited 1[0-9.]*s[0-9ms]* for worker:1, which has waited for its data (sh -c cat digits-train.csv; .*) for [0-9]*s$"
  kill -TERM "${PIDS[0]}"
  group_ends 75
}

@test "fault: with MIN:MAX SIGTERM to a worker while another one waits for its data: it leaves, and the rest go on" {
  local asked one step
  for asked in 0 2; do
    stalled_group --workers 2:3 --set train.checkpoint.dir="ck-$asked"
    kill -TERM "${PIDS[$asked]}"
    run_ends "${PIDS[$asked]}" 0
    grep -q 'the others go on; the same command joins them again$' "worker:$asked.talk"
    one=$((2 - asked)) # of the others
    RUN=${PIDS[$one]} until_talk "worker:$one" "generation 2 goes on at step [0-9]*: worker:.*; worker:$asked has left$"
    step=$(jq -s 'map(.step // 0) | max' worker:0.events)
    touch go
    RUN=${PIDS[1]}
    [ "$asked" = 0 ] || RUN=${PIDS[0]}
    until_event "worker:$([ "$asked" = 0 ] && echo 1 || echo 0)" ".event == \"step\" and .step > $step"
    kill -TERM "${PIDS[1]}"
    run_ends "${PIDS[1]}" 75
    run_ends "${PIDS[$one]}" 75
  done
}

# A module on which XLA works for long: many products of matrices, each by another constant.
slow_program() { # PRODUCTS
  {
    echo 'module @slow { func.func public @main(%x: tensor<f32>) -> (tensor<f32>, tensor<i32>) {'
    echo "%b = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<8x8xf32>"
    local i before=b
    for ((i = 0; i < $1; i++)); do
      echo "%c$i = stablehlo.constant dense<0.$i> : tensor<8x8xf32>"
      echo "%d$i = stablehlo.dot_general %$before, %c$i, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>"
      before=d$i
    done
    echo "%i = stablehlo.constant dense<0> : tensor<i32>"
    echo "%one = stablehlo.constant dense<1> : tensor<i32>"
    echo "%s = stablehlo.dynamic_slice %$before, %i, %i, sizes = [1, 1] : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>"
    echo '%r = stablehlo.reshape %s : (tensor<1x1xf32>) -> tensor<f32> return %r, %one : tensor<f32>, tensor<i32> } }'
  } >slow.mlir
  cat >program.json <<'JSON'
{"v": 1, "variables": {"n": {"shape": [], "dtype": "s32", "init": {"zeros": {}}}},
 "datasets": {"ones": [{"tensor_slices": {"fields": {"x": [0.5]}}}, {"repeat": {}}]},
 "functions": {"slow": {"module": "slow.mlir", "inputs": [{"dataset": "ones", "field": "x"}], "outputs": [{"metric": "loss"}, {"assign_add": "n"}]}},
 "train": {"function": "slow", "steps": 10}}
JSON
}

@test "fault: SIGTERM to a worker that compiles before the first step ends all at once with 75; with MIN:MAX it leaves" {
  export TFD_CACHE_DIR=
  slow_program 20000
  local asked
  for asked in 0 1; do
    group_of 2
    start_group 2 program.json --set train.checkpoint.dir=ck
    until_true waits_for "worker:$asked" 'the compiler (slow'
    kill -TERM "${PIDS[$asked]}"
    group_ends 75
    grep -q '^tfd-run: interrupted while compiling slow.*, before the first step; the same command continues$' "worker:$asked.talk"
    grep -Eq "^tfd-run: (another worker was interrupted while this one was compiling [a-z.]*,|worker:$asked was interrupted) before the first step; the same command continues$" "worker:$((1 - asked)).talk" || { cat ./*.talk && return 1; }
  done
  slow_program 4000
  group_of 2
  start_group 2 program.json --workers 1:2 --set train.checkpoint.dir=ck
  until_true waits_for worker:1 'the compiler (slow'
  kill -TERM "${PIDS[1]}"
  run_ends "${PIDS[1]}" 75
  run_ends "${PIDS[0]}" 0
  grep -q 'generation 2 goes on at step 0: worker:0; worker:1 has left before its first step$' worker:0.talk
}
