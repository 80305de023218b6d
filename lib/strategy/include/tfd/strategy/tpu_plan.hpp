#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// TPUStrategy's devices of a TPU system: the logical devices of each replica, and the hosts that feed them.
// Thread rule: plain values. Source: tensorflow/python/distribute/tpu_strategy.py, TPUExtended, 2.21.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/strategy/topology.hpp"

namespace tfd::strategy {

struct TpuPlan {
  int num_hosts = 0;              // hosts with the first logical device of a replica
  int num_replicas_per_host = 0;  // 0 if a replica needs more cores than a host has
  /// Names by replica and logical device: "/job:worker/replica:0/task:0/device:TPU:3".
  std::vector<std::vector<std::string>> logical_devices;
  std::vector<int> positions;  // their positions among the devices by task and ordinal, replica by replica
  /// Hosts in the order of the replicas, each with the first logical devices of those that it feeds.
  std::vector<std::pair<std::string, std::vector<std::string>>> input_workers;

  int num_replicas_in_sync() const { return static_cast<int>(logical_devices.size()); }
  /// The first logical device of each replica.
  std::vector<std::string> worker_devices() const;
  /// The host of the first replica's first logical device.
  const std::string& host_device() const { return input_workers.front().first; }
};

/// Makes the plan. `devices`: the system's, in any order; other kinds than TPU are ignored. Without an assignment each
/// core is a replica. kInvalidArgument: no TPU among them, a malformed name; kNotFound: an assigned core that has no
/// device.
Result<TpuPlan> plan_tpu(const std::vector<std::string>& devices, const std::optional<DeviceAssignment>& assignment);

}  // namespace tfd::strategy
