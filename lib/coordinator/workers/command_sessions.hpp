#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sessions of shell commands, one on each worker in place of a program: what a worker is asked for, how many commands
// it holds, and when leases are renewed. No lock, clock or socket. Private to the room. Thread rule: lives on the
// endpoint's I/O thread.
#include <algorithm>

#include "tfd/task/messages.hpp"
#include "workers/worker_pool.hpp"

namespace tfd::coordinator {

class CommandSessions {
 public:
  /// `session` has the part that all workers share; `sends_ahead`: a worker also holds a few commands that wait.
  CommandSessions(task::CommandSession session, bool sends_ahead)
      : session_(std::move(session)), ahead_(sends_ahead ? kAhead : 0) {}

  /// The session of a worker of this generation.
  task::CommandSession at(std::uint64_t generation) const {
    task::CommandSession session = session_;
    session.generation = generation;
    return session;
  }
  /// The window of a worker that runs `slots` commands at a time.
  Window window(int slots) const {
    const auto least = static_cast<std::size_t>(std::max(1, slots));
    return {least + ahead_, least};
  }
  /// True if the leases are to be renewed now, which is well before they end.
  bool is_due(Clock::time_point now) {
    if (now - renewed_ < task::kCommandLease / 5) return false;
    renewed_ = now;
    return true;
  }

 private:
  static constexpr std::size_t kAhead = 8;  // short commands; a long one behind them waits, too

  const task::CommandSession session_;
  const std::size_t ahead_;
  Clock::time_point renewed_{};
};

}  // namespace tfd::coordinator
