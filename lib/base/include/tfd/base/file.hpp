#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files. Nothing here waits for anybody, locks, or reads at an offset (tensor's InputFile does).
// Thread rule: functions without state; two writers of one path leave the content of one of them.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "tfd/base/error.hpp"

namespace tfd {

/// Everything in the file, FIFO or device. kNotFound, kPermissionDenied, kSystem; kResourceExhausted for more than
/// `most` bytes.
Result<std::string> load_file(const std::string& path, std::size_t most = std::size_t{1} << 34);

/// Writes a temporary file in the same directory, syncs it, renames it to `path` and syncs the directory: a reader, or
/// the next start after a crash, sees the old file or the new one. A symbolic link stays one: what it points to is
/// replaced. A target that isn't a regular file (/dev/stdout, a FIFO) is written to directly. On an error (kNotFound:
/// no such directory, kPermissionDenied, kResourceExhausted: the disk is full) no temporary file is left and an older
/// file of that name is unchanged. The file gets `mode` less the umask.
Result<void> save_file(const std::string& path, std::span<const std::span<const std::byte>> pieces, mode_t mode = 0666);
Result<void> save_file(const std::string& path, std::string_view content, mode_t mode = 0666);

/// Makes the names in a directory survive a crash: what was created, renamed or removed there.
Result<void> sync_directory(const std::string& directory);

// ---- Writes to a descriptor that blocks.

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

// ---- Paths of this program's file and of the files installed with it.

/// The file that this process executes, links followed; empty where it isn't known.
inline std::filesystem::path own_executable() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : path;
}

/// The folder above its own, as /usr of /usr/bin/tfd-run: of an installation, an unpacked archive or a virtual
/// environment. Empty where it isn't known.
inline std::filesystem::path own_prefix() { return own_executable().parent_path().parent_path(); }

}  // namespace tfd
