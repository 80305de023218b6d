#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// For --check: what no signature tells. A module that calls something by name compiles only where the plug-in has it.
// Thread rule: main thread.
#include <string_view>

#include "tfd/cli/tool.hpp"
#include "tfd/program/program.hpp"

namespace tfd::training {

/// Compiles the modules that have custom calls, where there is a plug-in; where there is none, or a module is for other
/// platforms than this host's, names the calls on stderr. kInvalidArgument with the plug-in's words where it lacks one.
Result<void> check_custom_calls(const program::Program& program, std::string_view tool, cli::Io& io);

}  // namespace tfd::training
