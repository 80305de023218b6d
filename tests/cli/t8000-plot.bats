#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-plot: curves of events, in the terminal and as SVG.

bats_require_minimum_version 1.5.0

setup() {
  command -v gnuplot >/dev/null || skip "no gnuplot"
  cd "$BATS_TEST_TMPDIR" || return 1
  unset TFD_LOG NO_COLOR
  cat >a.jsonl <<'EVENTS'
{"event":"start","program":"p.json","step":0,"steps":30}
{"event":"step","step":10,"metrics":{"accuracy":0.5,"loss":2.0},"rates":{"steps_per_second":9}}
{"event":"checkpoint","step":10,"path":"ck/step-10"}
{"event":"step","step":20,"metrics":{"accuracy":0.75,"loss":"NaN"}}

{"event":"step","step":30,"metrics":{"accuracy":0.875,"loss":0.5}}
{"event":"eval","step":30,"metrics":{"accuracy":0.8,"loss":0.7},"seconds":0.1}
{"event":"end","reason":"done","step":30,"metrics":{"loss":0.7}}
EVENTS
  sed 's/"loss":2.0/"loss":4.0/' a.jsonl >"it's.jsonl"
}

TERMINAL=$BATS_TEST_DIRNAME/terminal.py
widest() { awk '{ if (length($0) > widest) widest = length($0) } END { print widest }' <<<"$output"; }

@test "plot: a chart of each metric, the loss first, of training and evaluation, 80 columns where there is no terminal" {
  run -0 --separate-stderr tfd-plot a.jsonl
  [ -z "$stderr" ]
  [ "$(widest)" -le 80 ]
  [ "$(widest)" -gt 60 ]
  [[ $output == *loss*accuracy* ]]
  [[ $output == *train*eval* ]]
  loss=${output%%accuracy*}
  [[ $loss == *" 2 "* ]]
  [ "$(tfd-plot <a.jsonl)" = "$output" ]
  run -0 tfd-plot --metric accuracy --height 10 a.jsonl
  [[ $output != *loss* ]]
  [ "${#lines[@]}" -le 11 ]
}

@test "plot: epochs are the points of a training that has more of them than step events" {
  for i in 1 2 3 4; do echo "{\"event\":\"epoch\",\"epoch\":$i,\"epochs\":4,\"step\":$((i * 5)),\"metrics\":{\"loss\":$((8 / i)).5}}"; done >epochs
  echo '{"event":"step","step":20,"metrics":{"loss":2.25}}' >>epochs
  tfd-plot --svg all.svg epochs
  grep -v '"epoch":[123]' epochs | tfd-plot --svg last.svg
  points() { grep "stroke='rgb(148" "$1" | grep -o L | wc -l; } # of the first curve, in its own color
  [ "$(points all.svg)" -gt "$(points last.svg)" ]
  grep -v '"step":20,"m' epochs >no-steps # none at all: those of the epochs
  run -0 tfd-plot no-steps
  [[ $output == *loss*train* ]]
}

@test "plot: a low chart has its lines for the curve" {
  for height in 8 10 13; do
    run -0 tfd-plot --metric loss --height "$height" a.jsonl
    [ "${#lines[@]}" -le "$height" ]
    [ "$(grep -c '|.*|' <<<"$output")" -ge $((height - 4)) ]  # beside title, frame and numbers
    [[ $output == *" loss"* && $output == *train* ]]
  done
}

@test "plot: in a pipe, COLUMNS is the width" {
  for columns in 60 200; do
    COLUMNS=$columns run -0 tfd-plot --metric loss a.jsonl
    [ "$(widest)" -le "$columns" ]
    [ "$(widest)" -gt $((columns - 20)) ]
  done
  COLUMNS=x run -0 tfd-plot --metric loss a.jsonl
  [ "$(widest)" -le 80 ]
}

@test "plot: the terminal's width, without colours for TERM=dumb and NO_COLOR" {
  for columns in 80 200; do
    run -0 env TFD_COLUMNS="$columns" TFD_RAW=1 NO_COLOR=1 "$TERMINAL" xterm tfd-plot --metric loss a.jsonl
    output=$(tr -d '\r' <<<"$output")
    [ "$(widest)" -le "$columns" ]
    [ "$(widest)" -gt $((columns - 20)) ]
    [[ $output != *$'\e'* ]]
  done
  run -0 env TFD_RAW=1 "$TERMINAL" xterm tfd-plot a.jsonl
  [[ $output == *$'\e['* ]]
  run -0 env TFD_RAW=1 "$TERMINAL" dumb tfd-plot a.jsonl
  [[ $output != *$'\e'* ]]
}

@test "plot: several runs are in one chart, by name, whatever that is" {
  run -0 --separate-stderr tfd-plot --metric loss a.jsonl "it's.jsonl"
  [[ $output == *"a.jsonl train"* ]]
  [[ $output == *"it's.jsonl eval"* ]]
  # Each has a mark of its own, and names are below the curves.
  [[ $output == *"step"*"a.jsonl train ***A***"* ]]
  grep -q "it's.jsonl train [^-+ ]" <<<"$output"
  ln -s a.jsonl '`touch made`'
  cp a.jsonl 'x'"\"'"'; system "touch made"'
  run -0 tfd-plot ./*made*
  [ ! -e made ]
}

@test "plot: directories of checkpoints are runs, named by the settings in which they differ" {
  local linear=$TFD_SOURCE/examples/linear/program.json
  run_with() { # DIRECTORY OPTIONS…
    timeout 60 tfd-run "$linear" --set train.steps=30 --set train.log_every=10 --set "train.checkpoint.dir=$1" "${@:2}" </dev/null >"$1.jsonl" 2>/dev/null
  }
  run_with one --set optimizer.sgd.learning_rate=0.1
  run_with two --set optimizer.sgd.learning_rate=0.05
  jq -e '.v == 1 and .attempt == 1 and .step == 0 and .replicas == 1 and .devices == ["cpu:0"] and (.versions.tfd | length > 0) and (.program_sha256 | length == 64) and (.overrides | index("optimizer.sgd.learning_rate=0.1") != null)' one/settings-0001.json
  cmp one/events.jsonl one.jsonl
  for runs in 'one two' 'one.jsonl two.jsonl'; do
    # shellcheck disable=SC2086
    run -0 --separate-stderr tfd-plot --metric loss $runs
    [[ $output == *"learning_rate=0.1 train"* && $output == *"learning_rate=0.05 train"* ]]
    [[ $output != *checkpoint.dir* && $output != *train.steps* && $output != *jsonl* ]]
  done
  # Those that don't differ have their names.
  run_with three --set optimizer.sgd.learning_rate=0.05
  run -0 tfd-plot --metric loss two three
  [[ $output == *"two train"* && $output == *"three train"* ]]
  run -0 tfd-plot --metric loss one two three
  [[ $output == *"learning_rate=0.1 train"* && $output == *"learning_rate=0.05 (three) train"* ]]
  mkdir empty
  run -65 --separate-stderr tfd-plot empty
  [ "$stderr" = "tfd-plot: empty has no events.jsonl, which a training keeps beside its checkpoints" ]
}

@test "plot: what came later counts where a run went back, and workers have curves of their own" {
  {
    cat a.jsonl
    echo '{"event":"start","program":"p.json","step":10,"steps":30}'
    echo '{"event":"step","step":30,"metrics":{"loss":9.0}}'
  } >back.jsonl
  run -0 tfd-plot --metric loss back.jsonl
  [[ $output == *" 9 "* ]]
  [[ $output != *0.5* ]] || [[ $output != *" 0.5 "* ]]
  sed 's/"event":"step",/"event":"step","task":"worker:1",/' a.jsonl >of-worker.jsonl
  run -0 tfd-plot of-worker.jsonl a.jsonl
  [[ $output == *"of-worker.jsonl worker:1 train"* ]]
}

@test "plot: --svg writes one picture with all charts" {
  run -0 --separate-stderr tfd-plot --svg curves.svg --log-scale a.jsonl "it's.jsonl"
  [ -z "$output$stderr" ]
  python3 - <<'PYTHON'
import xml.etree.ElementTree as tree
root = tree.parse("curves.svg").getroot()
assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
text = " ".join(one for one in root.itertext())
assert all(word in text for word in ("loss", "accuracy", "it's.jsonl train", "step")), text
PYTHON
  [ "$(tfd-plot --svg - a.jsonl | head -c 5)" = "<?xml" ]
  run -71 tfd-plot --svg /dev/full a.jsonl
  run -71 tfd-plot --svg /nowhere/x.svg a.jsonl
}

@test "plot: a file that isn't of events, is empty, or isn't there is 65, with the line" {
  printf '{"event":"step","step":1,"metrics":{"loss":1}}\nstep 2  loss 0.5\n' >text
  run -65 --separate-stderr tfd-plot text
  [ "$stderr" = "tfd-plot: text:2: not an event: must be the JSON lines that tfd-run and tfd-coordinate print ({\"event\": …})" ]
  run -65 --separate-stderr tfd-plot a.jsonl /dev/null
  [ "$stderr" = "tfd-plot: /dev/null: no event has a metric" ]
  echo '{"event":"step","metrics":{"loss":1}}' >no-step
  run -65 tfd-plot no-step
  run -65 tfd-plot none.jsonl
  run -65 --separate-stderr tfd-plot --metric los a.jsonl
  [ "$stderr" = "tfd-plot: no metric 'los', did you mean 'loss'? (there: loss and accuracy)" ]
  head -c 100000 /dev/urandom >noise
  run -65 tfd-plot noise
}

@test "plot: neither a file nor a pipe is 64; without gnuplot it says what to install" {
  run -64 "$TERMINAL" xterm tfd-plot
  [[ $output == *"FILE is missing"* ]]
  mkdir bin
  ln -s "$(command -v tfd-plot)" bin/
  run -78 --separate-stderr env PATH="$PWD/bin" tfd-plot a.jsonl
  [[ $stderr == "tfd-plot: gnuplot draws, and isn't here: "* ]]
}
