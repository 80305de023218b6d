#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Kills process groups that outlive the process that started them. Thread rule: a GroupGuard is thread-safe.
#include <sys/types.h>

#include <memory>
#include <utility>

#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::process {

/// A small process that kills the registered process groups when this process ends, in whatever way. Thread rule:
/// thread-safe.
class GroupGuard {
 public:
  static Result<std::shared_ptr<GroupGuard>> start();
  /// Ends it; the groups that it still knows are killed.
  ~GroupGuard();
  /// For ChildOptions::announce_fd: a group is known before its leader runs.
  int fd() const { return to_.get(); }
  /// Unregisters a group, before its leader is reaped: until then the number can't be reused.
  void remove(pid_t group) const;

 private:
  GroupGuard(Fd to, pid_t pid) : to_(std::move(to)), pid_(pid) {}
  Fd to_;
  pid_t pid_;
};

}  // namespace tfd::process
