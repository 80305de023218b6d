#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One thread that waits for many things: descriptors (children, pipes, signals, readers that go) and points in time.
// It does not own the descriptors. Thread rule: lives on one thread; callbacks run in turn() and may watch and forget.
//
//   EventLoop loop;
//   loop.watch(signals.fd(), POLLIN, [&](short) { … });
//   while (!done) TFD_TRY(loop.turn());
#include <cstdint>
#include <functional>
#include <map>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"

namespace tfd::process {

class EventLoop {
 public:
  /// `events` as poll(2): POLLIN, POLLOUT, or 0 for POLLERR and POLLHUP alone. Replaces what was watched on `fd`.
  void watch(int fd, short events, std::function<void(short revents)> callback);
  /// Stops watching `fd`; called before it is closed. Harmless if it isn't watched.
  void forget(int fd);

  using TimerId = std::uint64_t;
  TimerId at(Clock::time_point when, std::function<void()> action);
  void cancel(TimerId timer);

  /// Waits until something is due or `deadline`, and does it. kSystem when poll(2) fails.
  Result<void> turn(Deadline deadline = Deadline::never());

 private:
  struct Watch {
    short events;
    std::uint64_t generation;  // tells a new watch from an old one on the same number
    std::function<void(short)> callback;
  };
  std::map<int, Watch> watches_;
  std::map<std::pair<Clock::time_point, TimerId>, std::function<void()>> timers_;
  std::uint64_t next_ = 1;
};

}  // namespace tfd::process
