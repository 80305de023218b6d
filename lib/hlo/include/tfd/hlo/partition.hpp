#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A text module for one device, made into one that XLA's SPMD partitioner runs on all logical devices of a replica.
// Thread rule: free function.
#include <cstdint>

#include "tfd/base/error.hpp"
#include "tfd/hlo/module.hpp"

namespace tfd::hlo {

/// Whether arguments may become results in place, where the module says so.
enum class Aliases : std::uint8_t { kNone, kKept };

/// Its arguments and results lie as their shardings say; those without one are whole on each device. One that was
/// exported for as many devices has its own shardings (with_all_shardings()). kInvalidArgument: a sharding that isn't
/// one of that shape over as many devices, or a module for another number; kUnimplemented: bytecode for one device.
Result<Module> partitioned(const Module& module, int partitions, Aliases aliases = Aliases::kNone);

/// A text module for several devices, in which arguments and results without a sharding are stated to be whole on each
/// device: XLA would choose otherwise. jax's shard_map has such modules. Bytecode comes back as it is.
Result<Module> with_all_shardings(Module module);

}  // namespace tfd::hlo
