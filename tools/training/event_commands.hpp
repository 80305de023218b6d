#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// --on EVENT[,…] COMMAND: runs a command for each event of these kinds, with the event as a line of JSON on its stdin.
// The training doesn't wait for it. Commands that share a kind of event run one after another, in the order of the
// events; others run beside them. A command that fails is a line on stderr, no more. Thread rule: one thread calls;
// each queue has a thread of its own.
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/cli/tool.hpp"
#include "tfd/process/fd.hpp"
#include "tfd/process/group_guard.hpp"
#include "tfd/train/training.hpp"

namespace tfd::training {

cli::Option on_option(std::vector<std::string>& target);

class EventCommands {
 public:
  /// `asked`: events, command, events, command, … Null if it is empty. `interrupts`: of the training. `io` outlives it.
  /// kUsage: there is no such event.
  static Result<std::shared_ptr<EventCommands>> start(const std::vector<std::string>& asked, std::string tool,
                                                      std::shared_ptr<train::Interrupts> interrupts, cli::Io& io);
  ~EventCommands() { finish(); }
  EventCommands(const EventCommands&) = delete;
  EventCommands& operator=(const EventCommands&) = delete;

  /// Queues the commands of this event, a line of JSON. Doesn't block.
  void add(std::string_view event);
  /// Waits for the commands, up to a minute, or ten seconds if the training was interrupted. Then it ends the one that
  /// runs (SIGTERM, two seconds later SIGKILL, for its whole process group), and says what wasn't run.
  void finish();

 private:
  struct Command {
    std::vector<std::string> events;
    std::string text;
  };
  /// Commands that run one after another, and the events that they have yet to get.
  struct Queue {
    std::vector<Command> commands;
    std::deque<std::string> lines = {};
    bool is_running = false;
    std::jthread thread = {};

    bool takes(std::string_view event) const;
  };

  EventCommands(std::string tool, std::shared_ptr<train::Interrupts> interrupts, process::Pipe ending,
                std::shared_ptr<process::GroupGuard> guard, cli::Io& io)
      : tool_(std::move(tool)),
        interrupts_(std::move(interrupts)),
        ending_(std::move(ending)),
        guard_(std::move(guard)),
        io_(io) {}
  void enqueue(Command command);
  void serve(Queue& queue);
  void run(const Command& command, const std::string& line);
  std::size_t count_left() const TFD_REQUIRES(mutex_);
  void say(const std::string& line);

  const std::string tool_;
  const std::shared_ptr<train::Interrupts> interrupts_;  // with the training
  process::Pipe ending_;                                 // its writer is closed when the running commands are to end
  const std::shared_ptr<process::GroupGuard> guard_;     // kills the commands if this process dies
  cli::Io& io_;
  Mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Queue>> queues_;  // none comes after start(); lines and is_running are under the mutex
  bool is_ending_ TFD_GUARDED_BY(mutex_) = false;
  bool is_finished_ = false;
};

}  // namespace tfd::training
