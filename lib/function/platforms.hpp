#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A module of a jax.export for several platforms, made into one for the platform that an engine has. In text the index
// becomes a constant, so that the compiler drops what is for other platforms; bytecode gets it with every call.
// Thread rule: free functions.
#include <memory>
#include <string>
#include <vector>

#include "tfd/function/function.hpp"
#include "tfd/function/module.hpp"

namespace tfd::function {

/// kFailedPrecondition where `platform` isn't one of the module's: the message names both. Others than exports for
/// several platforms come back as they are.
Result<Module> for_platform(const Module& module, const std::string& platform);

/// The functions that were compiled from for_platform()'s module, with the signature of the one it was made from.
std::vector<std::shared_ptr<Function>> fill_platform_in(std::vector<std::shared_ptr<Function>> functions,
                                                        const Module& module, const std::string& platform);

}  // namespace tfd::function
