#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Devices of `tfd-run --strategy tpu`: the system's mesh, from the plug-in or an option, and the assignment of cores to
// replicas. Thread rule: free functions.
#include <cstdint>
#include <string>

#include "tfd/base/environment.hpp"
#include "tfd/function/devices.hpp"
#include "tfd/strategy/tpu_plan.hpp"

namespace tfd::run {

/// Values of the TPU options.
struct TpuOptions {
  std::string topology;           // "2x2x1x2", or a name, "v4:2x2x4"; empty: the plug-in's
  std::string computation_shape;  // "1,1,1,2"; empty: one core
  std::string assignment;         // a file; empty: computed from the shape
  std::int64_t num_replicas = 0;  // 0: not stated: one per core, or, with a shape, one
  bool spmd = false;              // functions are partitioned over the cores of a replica
  bool plans = false;             // nothing is run: the topology may be a name, and have several hosts
  int hosts = 1;                  // processes that train together, each on the devices of its host

  bool empty() const {
    return topology.empty() && computation_shape.empty() && assignment.empty() && num_replicas == 0 && !spmd;
  }
};

struct TpuDevices {
  strategy::TpuPlan plan;
  function::DeviceChoice choice;  // the plan's devices, replica by replica; of several hosts those of this one
};
/// Chooses the devices; those of a named system are positions in it. kUnimplemented: a replica on several hosts, or a
/// host without one; kFailedPrecondition: another number of hosts than TpuOptions::hosts. kUsage: options that exclude
/// each other, or no mesh; kInvalidArgument: values that don't fit the mesh.
Result<TpuDevices> choose_tpu_devices(const TpuOptions& options, const Environment& env);

}  // namespace tfd::run
