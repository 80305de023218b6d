#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Tells whether a file is still the one that was decoded: device, inode, size, time of change. Thread rule: plain
// values.
#include <cstdint>
#include <string>

#include "tfd/base/error.hpp"

namespace tfd::data {

struct FileStamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
/// False only where nothing has that name; true for what can't be looked at.
bool is_there(const std::string& path);
/// kNotFound, kPermissionDenied; kInvalidArgument if it isn't a regular file.
Result<FileStamp> load_stamp(const std::string& path);
Result<FileStamp> load_stamp(int fd, const std::string& path);

}  // namespace tfd::data
