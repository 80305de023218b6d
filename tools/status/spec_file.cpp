// SPDX-License-Identifier: Apache-2.0
#include "spec_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "tfd/base/text.hpp"
#include "tfd/base/units.hpp"

namespace tfd::status {
namespace {

constexpr Duration kSpecPause = std::chrono::milliseconds(50);  // polling sees changes on any file system, also NFS

}  // namespace

std::optional<FileMark> mark_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return FileMark{info.st_dev, info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size};
}

Result<void> await_file(const std::string& path, Duration patience, Deadline deadline) {
  while (::access(path.c_str(), F_OK) != 0) {
    if (deadline.expired())
      return fail(Code::kDeadlineExceeded, "waited {} for {}, which does not exist", format_duration(patience),
                  printable(path));
    std::this_thread::sleep_until(Deadline::after(kSpecPause).earlier_of(deadline).when());
  }
  return {};
}

}  // namespace tfd::status
