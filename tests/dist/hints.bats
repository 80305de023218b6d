#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Messages name only options that exist, and no option takes an empty value for none.

bats_require_minimum_version 1.5.0
load common

@test "every option in a message is one of the tool that prints it" {
  mkdir "$BATS_TEST_TMPDIR/tables"
  for tool in $(tools); do "$tool" --dump-cli >"$BATS_TEST_TMPDIR/tables/$tool.json"; done
  run -0 python3 "$TFD_SOURCE/tests/dist/hints.py" "$TFD_SOURCE" "$BATS_TEST_TMPDIR/tables"
  [ -z "$output" ] || { echo "$output"; false; }
}

# An unset variable of a script: --hosts "$HOSTS".
@test "an option that is given without a value is an error, in every tool" {
  local checked=0
  for tool in $(tools); do
    while IFS= read -r name; do
      status=0
      timeout 20 "$tool" "$name" "" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" </dev/null || status=$?
      [ "$status" = 64 ] || fault "$tool $name '': exit $status"
      [ "$(wc -l <"$BATS_TEST_TMPDIR/err")" = 1 ] || fault "$tool $name '': $(cat "$BATS_TEST_TMPDIR/err")"
      [[ $(cat "$BATS_TEST_TMPDIR/err") == "$tool: $name"* ]] || fault "$tool $name '': $(cat "$BATS_TEST_TMPDIR/err")"
      checked=$((checked + 1))
    done < <("$tool" --dump-cli | jq -r '.options[] | select((.switch or .positional or .allows_empty) | not) | .names[-1]')
  done
  [ "$checked" -gt 150 ]
  no_faults
}

@test "where an empty value means something, it is one of a few" {
  run -0 jq -rs '[.[] | .name as $tool | .options[] | select(.allows_empty) | "\($tool) \(.names[-1])"] | sort | unique | .[]' \
    <(for tool in $(tools); do "$tool" --dump-cli; done)
  [ "$output" = 'tfd-resolve --environment
tfd-resolve --master
tfd-resolve --rpc-layer' ]
}
