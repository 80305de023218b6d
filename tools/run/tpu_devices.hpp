#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The devices of `tfd-run --strategy tpu`: the mesh of the system, as the plug-in or an option says it, and which core
// runs which replica. Thread rule: free functions.
#include <cstdint>
#include <string>

#include "tfd/base/environment.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/strategy/topology.hpp"

namespace tfd::run {

/// As options have them.
struct TpuOptions {
  std::string topology;           // "2x2x1x2"; empty: the plug-in's
  std::string computation_shape;  // "1,1,1,2"; empty: one core
  std::string assignment;         // a file; empty: by the shape
  std::int64_t num_replicas = 0;  // 0: not said: one for each core, or, with a shape, one
  bool spmd = false;              // functions are partitioned over the cores of a replica

  bool empty() const {
    return topology.empty() && computation_shape.empty() && assignment.empty() && num_replicas == 0 && !spmd;
  }
};

/// The cores of each replica, one replica after the other. kUsage: options that exclude each other, or no mesh;
/// kInvalidArgument: what doesn't fit into it.
Result<function::DeviceChoice> choose_tpu_devices(const TpuOptions& options, const Environment& env);

}  // namespace tfd::run
