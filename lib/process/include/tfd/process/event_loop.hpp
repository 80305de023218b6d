#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One thread that waits for many things: descriptors (children, pipes, signals, readers that go) and points in time.
// It does not own the descriptors. Thread rule: lives on one thread, but for post(); callbacks run in turn() and may
// watch and forget.
//
//   EventLoop loop;
//   loop.watch(signals.fd(), POLLIN, [&](short) { … });
//   while (!done) TFD_TRY(loop.turn());
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::process {

class EventLoop {
 public:
  EventLoop() = default;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// `events` as poll(2): POLLIN, POLLOUT, or 0 for POLLERR and POLLHUP alone. Replaces what was watched on `fd`.
  void watch(int fd, short events, std::function<void(short revents)> callback);
  /// Stops watching `fd`; called before it is closed. Harmless if it isn't watched.
  void forget(int fd);

  using TimerId = std::uint64_t;
  TimerId at(Clock::time_point when, std::function<void()> action);
  void cancel(TimerId timer);

  /// Called once before other threads post(); a second call is harmless. kResourceExhausted where no descriptor is
  /// left.
  Result<void> accept_posts();
  /// Wakes the loop, which does `work` in a turn(), after earlier posts. Thread-safe; never blocks. `work` is
  /// dropped if the loop ends before that turn: if it is destroyed, or nobody calls turn() again.
  void post(std::function<void()> work);

  /// Waits until something is due or `deadline`, and does it. kSystem when poll(2) fails.
  Result<void> turn(Deadline deadline = Deadline::never());

 private:
  struct Watch {
    short events;
    std::uint64_t generation;  // tells a new watch from an old one on the same number
    std::function<void(short)> callback;
  };
  void do_posted();

  std::map<int, Watch> watches_;
  std::map<std::pair<Clock::time_point, TimerId>, std::function<void()>> timers_;
  std::uint64_t next_ = 1;
  Fd wake_;  // an eventfd, readable once something was posted
  Mutex mutex_;
  std::vector<std::function<void()>> posted_ TFD_GUARDED_BY(mutex_);
};

}  // namespace tfd::process
