// SPDX-License-Identifier: Apache-2.0
#include "slow_disk.hpp"

#include <sys/syscall.h>
#include <unistd.h>

// In place of the C library's.
extern "C" int fsync(int fd) {
  tfd::train::test::SlowDisk::pass();
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
