#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Python and the frameworks that models are exported from. Thread rule: free functions.
#include <vector>

#include "doctor/checks.hpp"
#include "tfd/base/environment.hpp"

namespace tfd::doctor {

/// Checks the python3 of PATH and its site-packages; no framework is imported. An absent framework
/// is reported as missing only if there is no other one that a model could be exported from.
void check_python(const Environment& env, std::vector<Check>& out);

}  // namespace tfd::doctor
