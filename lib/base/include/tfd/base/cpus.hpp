#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The CPUs that this process may use. Thread rule: pure function.
#include <sched.h>

#include <algorithm>

namespace tfd {

/// Of its affinity mask; 1 where that can't be told.
inline int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace tfd
