#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// `tfd export` and `tfd fit`: the exporter is a module of Python. Thread rule: main thread.
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/cli/tool.hpp"

namespace tfd::general {

/// Becomes `python3 -m tfd_export ARG…`: by the python3 of this installation's environment or of PATH, whichever has
/// the module, else by that of PATH with the module beside the tools. kFailedPrecondition: there is no Python.
Result<int> run_exporter(const std::vector<std::string>& arguments, cli::Io& io);

/// The same with `fit` as the first argument. The tools beside this executable come first in its PATH.
Result<int> run_fit(const std::vector<std::string>& arguments, cli::Io& io);

}  // namespace tfd::general
