#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Estimates the operations of a module from its text, if the compiler doesn't report them. Thread rule: pure function.
#include <optional>

#include "tfd/hlo/module.hpp"

namespace tfd::hlo {

/// Multiplications and additions of the matrix products and convolutions of one run: two for each element of a result
/// and each element that is summed up for it. The body of a loop counts once. nullopt: bytecode, or text in which none
/// can be made out.
std::optional<double> estimate_flops(const Module& module);

}  // namespace tfd::hlo
