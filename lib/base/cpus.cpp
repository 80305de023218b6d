// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/cpus.hpp"

#include <sched.h>

#include <algorithm>

namespace tfd {

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace tfd
