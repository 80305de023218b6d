// SPDX-License-Identifier: Apache-2.0
#include "tfd/base/resident_memory.hpp"

#include <unistd.h>

#include <sstream>

#include "tfd/base/file.hpp"

namespace tfd {

std::uint64_t resident_bytes() {
  std::istringstream text(load_file("/proc/self/statm").value_or(""));  // "ALL RESIDENT …", in pages
  std::uint64_t all = 0, resident = 0;
  return text >> all >> resident ? resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace tfd
