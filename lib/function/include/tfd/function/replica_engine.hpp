#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Replicas of several logical devices each, as if every replica were one device: a value lies in pieces on its logical
// devices, as the programs that use it say, and programs are partitioned over these by XLA (SPMD). Thread rule:
// thread-safe, as Engine.
#include <memory>

#include "tfd/function/function.hpp"

namespace tfd::function {

/// `engine` was made for that many logical devices a replica. Of the result a device is a replica: devices(), put(),
/// assignments and buffers go by them. A module's arguments and results lie as its signature's shardings say; one
/// without is whole on each logical device. A value is cut when a program first uses it. Errors of compile_program():
/// those of hlo::partitioned(); kUnimplemented where XLA makes other pieces than the shardings say.
std::shared_ptr<Engine> make_replica_engine(std::shared_ptr<Engine> engine, int logical_devices);

/// How the parameter lies on the logical devices: as it states, or whole on each.
const hlo::OpSharding& sharding_of(const hlo::Parameter& parameter);

/// Whether the program takes and gives the pieces of the module's arguments and results. kInvalidArgument,
/// kUnimplemented, with the first that isn't so.
Result<void> check_pieces(const hlo::Module& module, const DeviceProgram& program, int partitions);

}  // namespace tfd::function
