#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Writes the modules of a step on devices: what tfd puts around the program's own. Private to the room.
// Thread rule: pure functions.
#include "device_layout.hpp"

namespace tfd::strategy {

/// A module of the program's function in a @main of tfd's own, which takes packs apart and puts what changes together.
/// Bytecode as it is: each pack is one variable then. Errors of embedding.
Result<DeviceLayout::Compute> write_compute(const program::Program& program, const hlo::Module& module,
                                            const std::vector<Pack>& packs);

/// DeviceLayout::update. `waits`: gradients are only added to those that wait already.
hlo::Module write_update(const program::Program& program, const DeviceLayout& layout, bool waits);

/// Both in one, with a sum over the replicas between them. `module`: text. What why_not_fused() has looked at.
Result<DeviceLayout::Fused> write_fused(const program::Program& program, const hlo::Module& module,
                                        const DeviceLayout& layout, int replicas, bool waits);

/// Of the numbers that updates calculate with; those that there are.
std::vector<tensor::DType> dtypes_of_numbers(const std::vector<Pack>& packs);

}  // namespace tfd::strategy
