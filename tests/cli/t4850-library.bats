#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The library in a C++ program: examples/library.

load coordinate
setup() { coordinate_setup; }
teardown() { coordinate_teardown; }

@test "library: the example fetches 3, and says what is wrong where something is" {
  serve --jobs worker=2,ps=1
  local three=$TFD_BUILD/tests/unit/coordinator/example-library
  run -1 --separate-stderr timeout 60 "$three" spec.json missing.json
  [[ $stderr == *"missing.json"* ]]
  run -0 --separate-stderr timeout 60 "$three" spec.json "$EXAMPLES/counter/program.json"
  [ "$output" = "fetched 3" ]
}
