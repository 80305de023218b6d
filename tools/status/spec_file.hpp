#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The file that --cluster names, while a cluster starts: it may not exist yet, or be an earlier run's and be replaced.
// Thread rule: main thread.
#include <cstdint>
#include <optional>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::status {

/// Identity of the file at a path: marks are equal unless it was written or replaced.
struct FileMark {
  std::uint64_t device = 0, inode = 0;
  std::int64_t seconds = 0, nanoseconds = 0, bytes = 0;
  friend bool operator==(const FileMark&, const FileMark&) = default;
};

/// Returns the mark; nullopt if there is no file, or it can't change (a pipe).
std::optional<FileMark> mark_of(const std::string& path);
/// Waits until `path` exists. kDeadlineExceeded names it.
Result<void> await_file(const std::string& path, Duration patience, Deadline deadline);

}  // namespace tfd::status
