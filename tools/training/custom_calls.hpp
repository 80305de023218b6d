#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Checks custom calls for --check, which signatures don't show: a module compiles only if the plug-in has the functions
// that it calls by name. Thread rule: main thread.
#include <string_view>

#include "tfd/cli/tool.hpp"
#include "tfd/program/program.hpp"

namespace tfd::training {

/// Compiles the modules that have custom calls, if there is a plug-in; otherwise, or if a module is for platforms other
/// than this host's, names the calls on stderr. kInvalidArgument with the plug-in's message if it lacks one.
Result<void> check_custom_calls(const program::Program& program, std::string_view tool, cli::Io& io);

}  // namespace tfd::training
