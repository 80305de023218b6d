#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Running commands, which programs name: their processes, and what stops and kills them. Every command gets a process
// group of its own, which is killed with all its processes when the command ends; a process::GroupGuard does that even
// if this process is killed.
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
#include "tfd/base/error.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/process/group_guard.hpp"

namespace tfd::command {

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
  std::shared_ptr<const process::GroupGuard> guard;  // shared with other functions; may be null
  std::shared_ptr<const CommandStop> stop = {};      // shared with the caller that stops them; may be null
};

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

}  // namespace tfd::command
