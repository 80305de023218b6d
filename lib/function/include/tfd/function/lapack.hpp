#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The LAPACK that modules with linear algebra for a CPU call, as JAX makes them (lapack_spotrf_ffi). Thread rule:
// thread-safe.
#include <string>

namespace tfd::function {

/// A path, or a name for the dynamic loader, instead of OpenBLAS or the system's (empty: these). It is loaded when the
/// first module calls it, and stays to the end of the process: what a plug-in calls are functions of C, which belong to
/// no engine.
void use_lapack(std::string path);

}  // namespace tfd::function
