#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Presents replicas of several logical devices as one device each: values are sharded over the logical devices as the
// programs that use them state, and XLA partitions programs over them (SPMD). Thread rule: thread-safe, as Engine.
#include <memory>

#include "tfd/function/function.hpp"

namespace tfd::function {

/// Wraps an `engine` that was made for that many logical devices per replica. A device of the result is a replica, in
/// devices(), put(), assignments and buffers. Arguments and results are sharded as the module's signature states,
/// replicated otherwise. A value is split when a program first uses it. Errors of compile_program(): those of
/// hlo::partitioned(); kUnimplemented if XLA's pieces differ from the shardings.
std::shared_ptr<Engine> make_replica_engine(std::shared_ptr<Engine> engine, int logical_devices);

/// The parameter's sharding: the stated one, or replicated.
const hlo::OpSharding& sharding_of(const hlo::Parameter& parameter);

/// Checks that the program's arguments and results are the pieces of the module's. kInvalidArgument, kUnimplemented
/// name the first that isn't.
Result<void> check_pieces(const hlo::Module& module, const DeviceProgram& program, int partitions);

}  // namespace tfd::function
