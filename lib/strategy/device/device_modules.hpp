#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Writes the modules of a step on devices around the program's own. Private to the room. Thread rule: pure functions.
#include "device_layout.hpp"

namespace tfd::strategy {

/// Writes a @main around the program's function that unpacks variables and packs changes. Bytecode is used unchanged:
/// each pack is one variable then. `shows`: LayoutOptions::shows_changes. Errors of embedding.
Result<DeviceLayout::Compute> write_compute(const program::Program& program, const hlo::Module& module,
                                            const std::vector<Pack>& packs, bool shows);

/// Writes DeviceLayout::update. `waits`: gradients are only accumulated.
hlo::Module write_update(const program::Program& program, const DeviceLayout& layout, bool waits);

/// Writes both as one module, with a sum over the replicas in between. `module`: text. Requires that why_not_fused() is
/// nullopt.
Result<DeviceLayout::Fused> write_fused(const program::Program& program, const hlo::Module& module,
                                        const DeviceLayout& layout, int replicas, bool waits);

/// Dtypes of the scalars in the updates of these packs.
std::vector<tensor::DType> dtypes_of_numbers(const std::vector<Pack>& packs);

}  // namespace tfd::strategy
