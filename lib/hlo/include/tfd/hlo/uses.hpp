#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a module's @main does with its arguments, from its text. Thread rule: pure function.
#include <cstddef>
#include <vector>

#include "tfd/hlo/module.hpp"

namespace tfd::hlo {

/// The scalars and vectors that it does nothing with but to put them together ("stablehlo.concatenate" of them, or of
/// what each is reshaped to, as jnp.stack has it), in the order in which it does: the same as slices of one long vector
/// they are that vector. Positions in the signature; none for bytecode.
std::vector<std::size_t> joined_arguments(const Module& module);

}  // namespace tfd::hlo
