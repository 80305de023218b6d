#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A text module for one device, made into one that XLA's SPMD partitioner runs on all logical devices of a replica.
// Thread rule: free function.
#include <cstdint>

#include "tfd/base/error.hpp"
#include "tfd/hlo/module.hpp"

namespace tfd::hlo {

/// Whether the module's input-output aliases are kept.
enum class Aliases : std::uint8_t { kNone, kKept };

/// Partitions a module: arguments and results are split by their shardings; those without one are replicated. A module
/// exported for as many devices has its own shardings (with_all_shardings()). kInvalidArgument: a sharding that isn't
/// one of that shape over as many devices, or a module for another number; kUnimplemented: bytecode for one device.
Result<Module> partitioned(const Module& module, int partitions, Aliases aliases = Aliases::kNone);

/// Marks arguments and results without a sharding as replicated, in a text module for several devices: XLA would choose
/// otherwise. jax's shard_map makes such modules. Bytecode is returned unchanged.
Result<Module> with_all_shardings(Module module);

}  // namespace tfd::hlo
