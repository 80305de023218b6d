#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Functions that are commands: tensors as JSON lines on stdin and stdout. Run once per call, or kept as a filter that
// answers line by line. A line is the one argument bare, several as a list, none as null; so are the results. Every
// command gets a process group of its own, which is killed with all its processes when the command ends; a GroupGuard
// does that even if this process is killed. Thread rule: thread-safe; calls of one function run one at a time. A kept
// filter lives on a thread of its own.
#include <sys/types.h>

#include <condition_variable>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/environment.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/function/function.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::function {

/// A small process that kills the registered process groups when this process ends, in whatever way. Thread rule:
/// thread-safe.
class GroupGuard {
 public:
  static Result<std::shared_ptr<GroupGuard>> start();
  /// Ends it; the groups that it still knows are killed.
  ~GroupGuard();
  /// For process::ChildOptions::announce_fd: a group is known before its leader runs.
  int fd() const { return to_.get(); }
  /// Unregisters a group, before its leader is reaped: until then the number can't be reused.
  void remove(pid_t group) const;

 private:
  GroupGuard(process::Fd to, pid_t pid) : to_(std::move(to)), pid_(pid) {}
  process::Fd to_;
  pid_t pid_;
};

/// Stops running commands, including filters that wait for a call, and those started until it is cleared: SIGTERM,
/// after a second SIGKILL; calls fail with kCancelled. Thread rule: thread-safe.
class CommandStop {
 public:
  CommandStop();
  void request() const;
  void clear() const;
  int fd() const { return event_.get(); }  // readable from request() to clear(); -1: the system had none

 private:
  process::Fd event_;
};

struct CommandDef {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH, or relative to the directory where it has a slash
  bool keep = false;              // true: a filter that is kept running; else run once per call
  Duration timeout = std::chrono::minutes(5);  // of one call
};

struct CommandPlace {
  std::string directory;  // working directory; empty: this process's own
  Environment environment;
  std::shared_ptr<const GroupGuard> guard;       // shared with other functions; may be null
  std::shared_ptr<const CommandStop> stop = {};  // shared with the caller that stops them; may be null
};

/// Nothing is started before the first call. call(): kCancelled where it was stopped; kInvalidArgument where the
/// command prints something else than results of this signature; kPermissionDenied where it may not be run;
/// kFailedPrecondition where it isn't found, exits with something else than 0, dies or ends early; kDeadlineExceeded;
/// kResourceExhausted where it prints far more than the results need. Each names the command, how it ended and the end
/// of its stderr. After an error a filter is started afresh for the next call.
std::shared_ptr<Function> make_command_function(CommandDef command, CommandPlace place, hlo::Signature signature);

/// The output of a command as a stream; the command is run by a thread of this object's own. Its stdin is empty.
/// Thread rule: lives on one thread at a time.
class CommandOutput {
 public:
  /// Starts nothing before the first read(). The timeout is ignored. `stop` stops the command, as the place's does.
  CommandOutput(CommandDef command, CommandPlace place, std::stop_token stop = {});
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;
  /// Stops the command if it runs: SIGTERM, after a second SIGKILL.
  ~CommandOutput();

  /// Waits for output and returns how many bytes it read; 0 once the command has exited with 0. kFailedPrecondition
  /// where it isn't found, exits with something else, or dies; kCancelled where it was stopped; kPermissionDenied where
  /// it may not be run. The message names the command, how it ended and the end of its stderr; the calls after it
  /// return it again.
  Result<std::size_t> read(std::span<char> out);

 private:
  void run(const std::stop_token& stop);
  Result<void> print(const std::stop_token& stop);

  const CommandDef command_;
  CommandPlace place_;
  const std::stop_token stop_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::string printed_ TFD_GUARDED_BY(mutex_);  // and not read yet
  bool has_ended_ TFD_GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ TFD_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it ends before the rest goes
};

}  // namespace tfd::function
