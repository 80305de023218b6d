#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Passes jax's platform index to bytecode exported for several platforms; in text it is a constant (hlo::for_platform).
// Thread rule: free function.
#include <memory>
#include <string>
#include <vector>

#include "tfd/function/function.hpp"
#include "tfd/hlo/module.hpp"

namespace tfd::function {

/// Wraps functions compiled from for_platform()'s module: they get the signature of the original module, and every call
/// passes the platform index in front.
std::vector<std::shared_ptr<Function>> fill_platform_in(std::vector<std::shared_ptr<Function>> functions,
                                                        const hlo::Module& module, const std::string& platform);

}  // namespace tfd::function
