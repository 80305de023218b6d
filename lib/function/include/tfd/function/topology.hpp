#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A system of devices that a plug-in knows by name: programs can be compiled and analyzed for it without the hardware.
// Thread rule: thread-safe.
//
//   const auto devices = TFD_TRY(list_topology_devices(libtpu, "v4:2x2x4"));   // 16 devices on 4 hosts
//   auto engine = TFD_TRY(make_planning_engine({.plugin = libtpu, .topology = "v4:2x2x4", .positions = {0, 1}}));
//   auto program = TFD_TRY(engine->compile_program(module, {.assignment = {{0}, {1}}}));
//   std::optional<ProgramMemory> needs = program->memory();
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/function/device.hpp"
#include "tfd/function/function.hpp"

namespace tfd::function {

/// Returns the plug-in's name of a system. Accelerator types mean the default topology of their size:
/// "v5litepod-8" is "v5e:2x4". A name that is no TPU's is returned as it is. kInvalidArgument: the chips aren't two or
/// three numbers from 1 up, or there is no such accelerator type.
Result<std::string> parse_topology_name(std::string_view text);

/// Lists all devices of the system, by process and id. A TPU v4 has one device a chip, as its runtime has.
/// kInvalidArgument: as parse_topology_name() has it, or the plug-in rejects the name, and says why;
/// kUnimplemented: it can't compile without the hardware, as CPU plug-ins can't. libtpu asks a server of the cloud
/// about the machine when it is loaded, for minutes where there is none, unless TPU_SKIP_MDS_QUERY is 1.
Result<std::vector<DeviceInfo>> list_topology_devices(const std::string& plugin, const std::string& topology);

struct PlanningOptions {
  std::string plugin;
  std::string topology;        // as parse_topology_name() takes it: "v4:2x2x4"
  std::vector<int> positions;  // positions of the engine's devices among list_topology_devices()
  int logical_devices = 1;     // as EngineOptions has them
};
/// Makes an engine whose programs report memory and costs but can't be run: execute() and put() fail with
/// kFailedPrecondition, and so does compile(), since functions exist to be called. Errors of list_topology_devices();
/// kInvalidArgument: invalid positions.
Result<std::shared_ptr<Engine>> make_planning_engine(const PlanningOptions& options);

}  // namespace tfd::function
