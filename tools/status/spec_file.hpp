#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The file that --cluster names, while a cluster starts: it may not be there yet, or be an earlier run's that another
// takes the place of. Thread rule: main thread.
#include <cstdint>
#include <optional>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::status {

/// Which file is at a path: equal as long as nobody wrote it or put another in its place.
struct FileMark {
  std::uint64_t device = 0, inode = 0;
  std::int64_t seconds = 0, nanoseconds = 0, bytes = 0;
  friend bool operator==(const FileMark&, const FileMark&) = default;
};

/// nullopt: it isn't there, or isn't a file that could change (a pipe).
std::optional<FileMark> mark_of(const std::string& path);
/// Until something is at `path`. kDeadlineExceeded names it.
Result<void> await_file(const std::string& path, Duration patience, Deadline deadline);

}  // namespace tfd::status
