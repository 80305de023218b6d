#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The devices that tfd-run's replicas are on, and the number of these. Thread rule: free functions.
#include <optional>

#include "run/asked.hpp"
#include "tfd/base/error.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/cluster/cluster_config.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/strategy/tpu_plan.hpp"

namespace tfd::run {

/// Devices of the replicas.
struct Devices {
  function::DeviceChoice choice;
  std::optional<strategy::TpuPlan> plan = {};  // of a TPU system
};

/// `processes`: number of those that share the replicas, several of which may be on one device then; 0: only this one
/// has any.
Result<Devices> find_devices(const Asked& a, int processes, const cli::Io& io);

/// Tasks that make a group's steps.
int workers_of(const cluster::ClusterSpec& cluster);

/// Number of replicas of a step: a worker's, or, where several workers make a step together, theirs.
int replicas_of(const Asked& a, const function::DeviceChoice& devices,
                const std::optional<cluster::ClusterConfig>& group);

}  // namespace tfd::run
