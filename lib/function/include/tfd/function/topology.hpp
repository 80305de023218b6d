#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A system of devices that isn't here, which a plug-in knows by name: what a program would be there can be said without
// the hardware. Thread rule: thread-safe.
//
//   const auto devices = TFD_TRY(list_topology_devices(libtpu, "v4:2x2x4"));   // 32 cores on 4 hosts
//   auto engine = TFD_TRY(make_planning_engine({.plugin = libtpu, .topology = "v4:2x2x4", .positions = {0, 1}}));
//   auto program = TFD_TRY(engine->compile_program(module, {.assignment = {{0}, {1}}}));
//   std::optional<ProgramMemory> needs = program->memory();
#include <memory>
#include <string>
#include <vector>

#include "tfd/function/device.hpp"
#include "tfd/function/function.hpp"

namespace tfd::function {

/// All devices of the system, by process and id. kInvalidArgument: the plug-in knows none of this name, and says why;
/// kUnimplemented: it can't compile for systems that aren't here, as those of CPUs can't. libtpu asks a server of the
/// cloud about the machine when it is loaded, for minutes where there is none, unless TPU_SKIP_MDS_QUERY is 1.
Result<std::vector<DeviceInfo>> list_topology_devices(const std::string& plugin, const std::string& topology);

struct PlanningOptions {
  std::string plugin;
  std::string topology;        // as the plug-in names it: "v4:2x2x4"
  std::vector<int> positions;  // of the engine's devices, among list_topology_devices()
  int logical_devices = 1;     // as EngineOptions has them
};
/// An engine whose programs say what they need and can't be run: execute() and put() are kFailedPrecondition, and so is
/// compile(), for functions are there to be called. Errors of list_topology_devices(); kInvalidArgument: positions that
/// are none.
Result<std::shared_ptr<Engine>> make_planning_engine(const PlanningOptions& options);

}  // namespace tfd::function
