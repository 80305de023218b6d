#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files. Nothing here waits for anybody, locks, or reads at an offset (tensor's InputFile does).
// Thread rule: functions without state; two writers of one path leave the content of one of them.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

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

}  // namespace tfd
