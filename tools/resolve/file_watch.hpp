#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Waits until one of several files may have changed: written and closed, or replaced by a rename, as tools and
// Kubernetes' ConfigMaps do. Thread rule: one thread.
#include <string>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::tool_resolve {

class FileWatch {
 public:
  /// Starts watching. Only regular files can change: can_change() is false if one is a pipe, or "-".
  static Result<FileWatch> start(const std::vector<std::string>& files);
  bool can_change() const { return static_cast<bool>(inotify_); }
  /// Returns true after an event in one of their directories; false at the deadline.
  Result<bool> wait(Deadline deadline);

 private:
  process::Fd inotify_;
};

}  // namespace tfd::tool_resolve
