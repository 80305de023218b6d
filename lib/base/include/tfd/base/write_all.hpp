#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Writes to a descriptor that blocks. Thread rule: a pure function.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>

namespace tfd {

/// Writes bytes, whatever interrupts it, and takes from `bytes` what is written. 0, or an errno.
inline int write_all(int fd, std::span<const std::byte>& bytes) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // Linux moves at most 2 GiB a call
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace tfd
