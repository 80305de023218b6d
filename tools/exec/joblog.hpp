#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A line for every command that has ended, with GNU parallel's columns; and what an earlier run's lines say.
// Source: parallel(1), --joblog. Thread rule: one thread.
#include <cstdint>
#include <map>
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/task/shell_command.hpp"

namespace tfd::exec {

/// Exitval of a command that has not ended by itself: its time was up, its worker was lost and it runs again, or it
/// is given up.
inline constexpr int kNoExit = -1;

/// On one line, without tabs.
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

/// Of earlier runs, by number; those that were lost with their worker are not among them.
struct Done {
  std::string command;  // as_field()
  bool has_failed = false;
};
/// kInvalidArgument names the line that is none. A file that isn't there is empty; so is a last line without its end.
Result<std::map<std::uint64_t, Done>> load_joblog(const std::string& path);

class JobLog {
 public:
  /// Anew, or behind what is there. The header is written where it is empty.
  static Result<JobLog> open(const std::string& path, bool append);
  Result<void> write(const LogLine& line);

 private:
  JobLog(process::Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  process::Fd file_;
  std::string path_;
};

}  // namespace tfd::exec
