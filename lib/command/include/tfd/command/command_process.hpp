#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One running command: its input, its output and its exit status.
// Thread rule: one thread, which lives as long as the command.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tfd/command/command.hpp"
#include "tfd/process/job.hpp"

namespace tfd::command {

class CommandProcess {
 public:
  static Result<CommandProcess> start(const CommandDef& command, const CommandPlace& place);
  CommandProcess(CommandProcess&&) noexcept = default;
  CommandProcess& operator=(CommandProcess&&) = delete;
  ~CommandProcess() = default;  // kills the whole group

  /// Writes `line`, closes stdin, and takes all of stdout; it must exit with 0.
  Result<std::string> run_once(std::string_view line, std::size_t most, Deadline deadline);
  /// Writes `line` and takes the next line of stdout.
  Result<std::string> exchange(std::string_view line, std::size_t most, Deadline deadline);
  /// After a failed exchange: true if the command ended before it read the line, so that the call had no effect.
  bool left_unread() const { return left_unread_; }
  /// Closes stdin and returns the next output; empty once it has exited with 0.
  Result<std::string> read_output(std::size_t most);
  /// Adds a second CommandStop that stops it.
  void stop_with(std::shared_ptr<const CommandStop> stop) { other_stop_ = std::move(stop); }
  /// Sends SIGTERM, and SIGKILL after a second to processes that remain.
  void stop();
  /// True if it has ended, or printed something without being asked.
  bool is_spoilt();

 private:
  CommandProcess(std::string name, process::Job job, std::shared_ptr<const CommandStop> stop)
      : name_(std::move(name)), job_(std::move(job)), stop_(std::move(stop)) {}
  Result<void> turn(std::string_view& to_write, std::size_t most, Deadline deadline);
  Result<void> move_bytes(std::string_view& to_write, std::size_t most, Deadline deadline);
  void read_stderr();
  /// Returns the remaining output, once it has exited with 0.
  Result<std::string> end_of_output(Deadline deadline);
  /// "command 'x' WHAT; it exited with 3: LAST LINES".
  Error failure(Code code, std::string what);

  std::string name_;
  process::Job job_;
  std::shared_ptr<const CommandStop> stop_, other_stop_;
  bool left_unread_ = false;
  std::string output_;
  std::string errors_;  // the end of its stderr
};

}  // namespace tfd::command
