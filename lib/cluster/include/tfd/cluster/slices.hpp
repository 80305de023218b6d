#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A TPU slice among several, where the hosts of the other slices aren't known: a spec with holes. The key "tpu" of the
// document says how many slices there are (num_slices, slice_id) and where the first one is
// (megascale_coordinator_address). Thread rule: pure functions.
#include <optional>
#include <string>

#include "tfd/cluster/cluster_config.hpp"

namespace tfd::cluster {

struct Slices {
  int count = 0;            // at least 2
  int id = 0;               // of the slice that is known
  int hosts = 0;            // of each slice
  std::string coordinator;  // host of the first task of all; empty: not known
};
/// The slices of a spec that has the tasks of one slice alone. nullopt: all tasks are known, or it isn't a TPU's.
std::optional<Slices> find_missing_slices(const ClusterConfig& config);

/// kFailedPrecondition for a spec with the tasks of one slice alone: names the slices, and what starts tasks on all.
Result<void> check_slices(const ClusterConfig& config);

}  // namespace tfd::cluster
