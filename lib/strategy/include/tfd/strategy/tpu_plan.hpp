#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which devices of a TPU system are TPUStrategy's: the logical devices of each replica, and which host feeds whom.
// Thread rule: plain values. Source: tensorflow/python/distribute/tpu_strategy.py, TPUExtended, 2.21.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/strategy/topology.hpp"

namespace tfd::strategy {

struct TpuPlan {
  int num_hosts = 0;              // that have the first logical device of a replica
  int num_replicas_per_host = 0;  // 0 where a replica needs more cores than a host has
  /// By replica and logical device: "/job:worker/replica:0/task:0/device:TPU:3".
  std::vector<std::vector<std::string>> logical_devices;
  std::vector<int> positions;  // of all of these among the devices by task and ordinal, one replica after the other
  /// Hosts in the order in which replicas come to them, each with the first logical devices of those that it feeds.
  std::vector<std::pair<std::string, std::vector<std::string>>> input_workers;

  int num_replicas_in_sync() const { return static_cast<int>(logical_devices.size()); }
  /// The first logical device of each replica.
  std::vector<std::string> worker_devices() const;
  /// Of the first replica's first logical device.
  const std::string& host_device() const { return input_workers.front().first; }
};

/// `devices`: of the system, in any order; those that are no TPU's are passed over. Without an assignment each core is
/// a replica. kInvalidArgument: no TPU among them, a name that isn't one; kNotFound: an assignment with a core that has
/// no device.
Result<TpuPlan> plan_tpu(const std::vector<std::string>& devices, const std::optional<DeviceAssignment>& assignment);

}  // namespace tfd::strategy
