#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Events on stdout and progress on stderr, both on one terminal.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

on_terminal() { # TERM ARGS…
  timeout 60 python3 "$BATS_TEST_DIRNAME/terminal.py" "$1" tfd-run program.json "${@:2}"
}

@test "terminal: the bar is gone before an event is printed, and is there again after it" {
  counting_program '{"function": "count", "steps": 400, "log_every": 20}'
  run -0 on_terminal xterm
  local line events=0 bars=0
  while IFS= read -r line; do
    case $line in
      '{'*) jq -e .event <<<"$line" >/dev/null && events=$((events + 1)) ;;
      'tfd-run [####################] 400/400'*) bars=$((bars + 1)) ;;
      'tfd-run: '* | '') ;;
      *) echo "neither event nor talk: $line"; false ;;
    esac
  done <<<"$output"
  [ "$events" = 22 ]  # start, 20 steps, end
  [ "$bars" = 1 ]
  # The events are what a pipe gets.
  TFD_RAW=1 run -0 on_terminal xterm
  [[ $output == *$'\r\e[K{"event":"step"'* && $output == *$'}\r\n\rtfd-run ['* ]]
}

@test "terminal: one that can't rewrite its line gets lines, and no escape sequences" {
  counting_program '{"function": "count", "steps": 400, "log_every": 200}'
  for kind in dumb -; do
    TFD_RAW=1 run -0 on_terminal "$kind"
    [[ $output != *$'\e'* ]]
    [[ $output == *$'tfd-run: 0/400'* && $output == *$'tfd-run: 400/400'* ]]
    [ "$(tr -d '\r' <<<"$output" | grep -c '^{"event":')" = 4 ]
  done
}
