#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Passes on what tasks write: whole lines, stdout and stderr apart, the task's name before each. Nothing is dropped: a
// reader that is slow slows the tasks down, as without a launcher, and when it has gone they get SIGPIPE at their next
// write. A terminal that is closed ends nothing: the tasks have something to save. Thread rule: lives on the thread
// that turns its EventLoop.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/process/event_loop.hpp"
#include "tfd/process/relay.hpp"

namespace tfd::launch {

struct OutputRelayOptions {
  int out_fd = 1;
  int err_fd = 2;
  bool prefixed = true;  // "worker:1: " before each line
  bool as_is = false;    // bytes as they come, not lines: for one task without a prefix
  /// The text to pass on instead of a line; nullopt: nothing.
  std::function<std::optional<std::string>(const std::string& task, std::string_view line)> edit = {};
  std::function<void(Error)> on_failure = {};  // once: kResourceExhausted where the disk is full, kSystem
};

class OutputRelay {
 public:
  OutputRelay(process::EventLoop& loop, OutputRelayOptions options);
  ~OutputRelay();
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;

  struct TaskEnds {
    process::Fd out;
    process::Fd err;
  };
  /// The ends that a task writes to; the caller closes them once it has started the task.
  Result<TaskEnds> open(const std::string& task);
  /// Passes on what the task has left in its pipes. Whoever still holds them is left one second after this.
  void task_ended(const std::string& task);
  /// A line of the launcher's own, on stderr.
  void say(std::string_view line);
  /// Everything is passed on, and no task holds a pipe.
  bool is_idle();
  /// The reader of stdout or stderr has gone.
  bool has_lost_reader() const;

 private:
  struct Sink;
  struct Source;
  Result<process::Fd> open_source(const std::string& task, Sink& sink);
  void read(Source& source);
  void pass_on(Source& source, std::string_view fresh);
  void close(Source& source);
  void settle(Sink& sink);
  /// Lets its sources go on if there is room.
  void resume(const Sink& sink);
  void lose(Sink& sink);

  process::EventLoop& loop_;
  OutputRelayOptions options_;
  std::array<std::unique_ptr<Sink>, 2> sinks_;  // stdout's, stderr's
  std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace tfd::launch
