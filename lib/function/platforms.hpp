#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// jax's platform index, for bytecode of an export for several platforms: text has it as a constant (hlo::for_platform).
// Thread rule: free function.
#include <memory>
#include <string>
#include <vector>

#include "tfd/function/function.hpp"
#include "tfd/hlo/module.hpp"

namespace tfd::function {

/// The functions that were compiled from for_platform()'s module, with the signature of the one it was made from: what
/// they take before their arguments goes with every call.
std::vector<std::shared_ptr<Function>> fill_platform_in(std::vector<std::shared_ptr<Function>> functions,
                                                        const hlo::Module& module, const std::string& platform);

}  // namespace tfd::function
