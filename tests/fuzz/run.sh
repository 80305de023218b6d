#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a fuzzer: run.sh BUILD SECONDS NAME. One line on stdout: "NAME: passed, 123456 inputs", or "NAME: failed, …", and what
# to do on stderr. A crash is kept in BUILD/crashes/NAME; as a file of tests/fuzz/corpus/NAME it is replayed by ./dev test
# unit/fuzz forever. TFD_FUZZ_SEED: the same inputs again, for whoever must not depend on luck.
set -euo pipefail
build=$1
seconds=$2
name=$3
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$build/work/$name crashes=$build/crashes/$name log=$build/fuzz-$name.log status=0

mkdir -p "$work" "$crashes"
ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
  timeout $((seconds + 120)) "$build/tests/fuzz/fuzz-$name" "$work" "$source/corpus/$name" -max_total_time="$seconds" \
  -seed="${TFD_FUZZ_SEED:-0}" \
  -timeout=25 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 -verbosity=1 -artifact_prefix="$crashes/" \
  >"$log" 2>&1 </dev/null || status=$?
inputs=$(sed -n 's/^stat::number_of_executed_units: //p' "$log")
if [ "$status" = 0 ]; then
  echo "$name: passed, $inputs inputs"
else
  echo "$name: failed, exit code $status after ${inputs:-no} inputs"
  { grep -E 'this does.?n.t hold|ERROR: |SUMMARY: |runtime error' "$log" || tail -n 20 "$log"; } >&2
  echo "again: $build/tests/fuzz/fuzz-$name $crashes/*; log: $log" >&2
fi
exit "$status"
