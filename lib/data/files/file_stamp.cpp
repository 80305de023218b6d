// SPDX-License-Identifier: Apache-2.0
#include "file_stamp.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace tfd::data {
namespace {

Result<FileStamp> stamp_of(const struct stat& status, const std::string& path) {
  if (!S_ISREG(status.st_mode)) return fail(Code::kInvalidArgument, "cannot read {}: not a regular file", path);
  return FileStamp{static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
                   static_cast<std::uint64_t>(status.st_size),
                   static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace

bool is_there(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 || errno != ENOENT;
}

Result<FileStamp> load_stamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, "cannot open " + path);
  return stamp_of(status, path);
}

Result<FileStamp> load_stamp(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail_errno(errno, "cannot open " + path);
  return stamp_of(status, path);
}

}  // namespace tfd::data
