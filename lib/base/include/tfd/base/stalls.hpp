#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Calls that the system may keep for ever, such as a read of a disk that doesn't answer: who waits for one says so.
// Thread rule: thread-safe.
//
//   const StallGuard guard(path);                       // until it goes; what takes longer than 10 s is reported
//   const ssize_t got = ::read(fd, buffer, size);
#include <functional>
#include <string>
#include <string_view>

#include "tfd/base/deadline.hpp"

namespace tfd {

/// As long as it is there, stalls of the process are told, on a thread of its own: what is waited for, and for how
/// long, after 10 s, then after 20, 40, … One at a time.
class StallReports {
 public:
  using Report = std::function<void(const std::string& what, Duration waited)>;
  explicit StallReports(Report report);
  ~StallReports();
  StallReports(const StallReports&) = delete;
  StallReports& operator=(const StallReports&) = delete;
};

/// Costs nothing where nobody is told.
class StallGuard {
 public:
  explicit StallGuard(std::string_view what);
  ~StallGuard();
  StallGuard(const StallGuard&) = delete;
  StallGuard& operator=(const StallGuard&) = delete;

 private:
  bool is_watched_;
};

}  // namespace tfd
