#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Analysis of how a module's @main uses its arguments and makes its results, from its text. Thread rule: pure function.
#include <cstddef>
#include <vector>

#include "tfd/hlo/module.hpp"

namespace tfd::hlo {

/// Scalars and vectors that @main only concatenates ("stablehlo.concatenate" of them or of their reshapes, as in
/// jnp.stack), in that order: if they are slices of one long vector, the result is that vector. Positions in the
/// signature; none for bytecode.
std::vector<std::size_t> joined_arguments(const Module& module);

/// How late @main computes each of its results: how many values are defined before it in the text. None for bytecode.
std::vector<std::size_t> result_positions(const Module& module);

}  // namespace tfd::hlo
