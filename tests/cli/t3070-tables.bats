#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tfd-run --strategy parameter-server: embedding tables in shards, whose rows asynchronous workers look up and update.

load run
setup() { coordinate_setup; }
teardown() { run_teardown; }

@test "run: two asynchronous workers train the recommender, whose tables lie on three parameter servers" {
  cluster_of 2 3
  two_workers "$EXAMPLES/recommender/program.json"
  both_end
  last worker:0 '.step >= 800 and .updates > 0 and .eval.hit_rate >= 0.5' | grep -qx true
  last worker:1 '.updates > 0' | grep -qx true
}
