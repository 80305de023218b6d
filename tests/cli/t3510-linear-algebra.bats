#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Linear algebra on CPUs: custom calls that JAX makes, computed by the LAPACK of this host. Their results are
# checked by tests/unit/function/test_linear_algebra.cpp.

load coordinate
setup() {
  coordinate_setup
  GOLDEN=${TFD_SOURCE:-$BATS_TEST_DIRNAME/../..}/tests/golden
  cp "$GOLDEN"/gaussian_process/* .
}
teardown() { coordinate_teardown; }

IN_ORDER=(--set 'datasets.train[1].shuffle.buffer=1')

losses_follow_jax() {
  jq -es --slurpfile recorded jax-losses.json '
    [.[] | select(.event == "step").metrics.loss] as $ours | $recorded[0].losses as $theirs |
    [range($theirs | length) | $ours[.] - $theirs[.] | fabs] | {steps: ($ours | length), furthest: max} |
    if .steps == ($theirs | length) and .furthest < 1e-4 then . else error(tostring) end' <<<"$output"
}

@test "linear algebra: a Gaussian process has the losses of JAX, compiled and from the cache, with variables here and there" {
  export TFD_CACHE_DIR=$T/cache
  for _ in compiled cached; do
    run -0 --separate-stderr timeout 120 tfd-run -q program.json "${IN_ORDER[@]}" </dev/null
    losses_follow_jax
  done
  run -0 --separate-stderr timeout 120 tfd-run -q program.json "${IN_ORDER[@]}" --strategy central-storage --devices 1 </dev/null
  losses_follow_jax
  run -0 --separate-stderr timeout 120 tfd-serve --jobs worker=1,ps=1 -- tfd-coordinate -q program.json "${IN_ORDER[@]}"
  losses_follow_jax
}

@test "linear algebra: without LAPACK the error says what to install, also where the module was compiled before" {
  export TFD_CACHE_DIR=$T/cache
  run -0 timeout 120 tfd-run -q program.json --set train.steps=1 </dev/null
  # The files that the loader finds under these names are no libraries.
  mkdir none
  for name in libopenblas.so.0 libopenblasp.so.0 liblapack.so.3 libflexiblas.so.3; do echo none >"none/$name"; done
  LD_LIBRARY_PATH=$PWD/none run -78 --separate-stderr timeout 120 tfd-run -q program.json --set train.steps=1 </dev/null
  [[ $stderr == *": train_step.mlir calls lapack_spotrf_ffi: there is no LAPACK: install libopenblas0-pthread or liblapack3 (Debian), or set TFD_LAPACK to the path of one" ]]
  TFD_LAPACK=$PWD/none.so run -78 --separate-stderr timeout 120 tfd-run -q program.json --set train.steps=1 </dev/null
  [[ $stderr == *": train_step.mlir calls lapack_spotrf_ffi: LAPACK can't be loaded: $PWD/none.so: cannot open shared object file: No such file or directory (TFD_LAPACK)" ]]
  TFD_LAPACK=libm.so.6 run -78 --separate-stderr timeout 120 tfd-run -q program.json --set train.steps=1 </dev/null
  [[ $stderr == *": train_step.mlir calls lapack_spotrf_ffi, but libm.so.6 has no spotrf_" ]]
}
