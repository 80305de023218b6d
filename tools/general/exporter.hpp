#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// `tfd export`: the exporter is a module of Python. Thread rule: main thread.
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd::general {

/// Becomes `python3 -m tfd_export ARG…`: by the python3 of this installation's environment or of PATH, whichever has
/// the module, else by that of PATH with the module beside the tools. kFailedPrecondition: there is no Python.
Result<int> run_exporter(const std::vector<std::string>& arguments, cli::Io& io);

}  // namespace tfd::general
