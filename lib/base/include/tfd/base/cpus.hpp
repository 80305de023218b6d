#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The CPUs that this process may use. Thread rule: pure function.

namespace tfd {

/// Of its affinity mask; 1 where that can't be told.
int usable_cpus();

}  // namespace tfd
