#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The completions of all tools as one script, for shells that don't find the installed ones, as in a virtual
// environment. Thread rule: main thread.
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd::general {

/// `tfd completion SHELL`: prints the script. kUsage; kFailedPrecondition: tfd was installed without completions.
Result<int> print_completion(const std::vector<std::string>& arguments, cli::Io& io);

}  // namespace tfd::general
