#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Selects the LAPACK library behind JAX's linear algebra on a CPU (lapack_spotrf_ffi). Thread rule: thread-safe.
#include <string>

namespace tfd::function {

/// Uses the library at `path`, or of that name for the dynamic loader, instead of OpenBLAS or the system's (empty:
/// these). It is loaded when the first module calls it and never unloaded: a plug-in calls C functions, which belong to
/// no engine.
void use_lapack(std::string path);

}  // namespace tfd::function
