#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reports system calls that may block forever, such as a read of a disk that doesn't answer. Thread rule: thread-safe.
//
//   const StallGuard guard(path);                       // until it goes; what takes longer than 10 s is reported
//   const ssize_t got = ::read(fd, buffer, size);
#include <functional>
#include <string>
#include <string_view>

#include "tfd/base/deadline.hpp"

namespace tfd {

/// While it exists, stalls of the process are reported from a thread of its own: what is waited for and how long, after
/// 10 s, then 20, 40, … At most one exists at a time.
class StallReports {
 public:
  using Report = std::function<void(const std::string& what, Duration waited)>;
  explicit StallReports(Report report);
  ~StallReports();
  StallReports(const StallReports&) = delete;
  StallReports& operator=(const StallReports&) = delete;
};

/// Marks a blocking call for its lifetime. Costs nothing without a StallReports.
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
