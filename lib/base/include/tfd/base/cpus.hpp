#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The CPUs that this process may use. Thread rule: pure function.

namespace tfd {

/// Returns the number of CPUs in the affinity mask; 1 if it can't be read.
int usable_cpus();

}  // namespace tfd
