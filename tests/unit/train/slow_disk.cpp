// SPDX-License-Identifier: Apache-2.0
#include "slow_disk.hpp"

#include <sys/syscall.h>
#include <unistd.h>

// Replaces the C library's function.
extern "C" int fsync(int fd) {
  tfd::train::test::SlowDisk::pass();
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
