#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A log line for every command that has ended, in GNU parallel's columns, and the parser of an earlier run's log.
// Source: parallel(1), --joblog. Thread rule: one thread.
#include <cstdint>
#include <map>
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/task/messages.hpp"

namespace tfd::exec {

/// Exitval of a command that didn't exit by itself: it timed out, was rescheduled after its worker was lost, or was
/// given up.
inline constexpr int kNoExit = -1;

/// Makes a command one line without tabs.
std::string as_field(const std::string& command);

struct LogLine {
  std::uint64_t number = 0;
  std::string host;
  double started = 0;  // seconds since 1970
  double duration = 0;
  std::uint64_t sent = 0, received = 0;  // bytes
  int exit_value = 0;
  int signal = 0;
  std::string command;
};

/// A command that an earlier run finished, by number; commands lost with their worker aren't among them.
struct Done {
  std::string command;  // as_field()
  bool has_failed = false;
};
/// Reads a joblog. kInvalidArgument names a malformed line. A missing file counts as empty; a truncated last line is
/// ignored.
Result<std::map<std::uint64_t, Done>> load_joblog(const std::string& path);

class JobLog {
 public:
  /// Truncates the file or appends to it. The header is written if it is empty.
  static Result<JobLog> open(const std::string& path, bool append);
  Result<void> write(const LogLine& line);

 private:
  JobLog(process::Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  process::Fd file_;
  std::string path_;
};

}  // namespace tfd::exec
