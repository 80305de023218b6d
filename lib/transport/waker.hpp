#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How other threads wake an I/O thread: an eventfd, written only while the thread sleeps or is about to.
// Thread rule: wake() from any thread; the rest is for the I/O thread.
//
// Sleeping: prepare_to_sleep(), then look once more for work, then poll the descriptor, then awake(). Other threads
// queue work where the I/O thread looks, then call wake(): the work is either seen by that look, or the poll ends.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <system_error>

#include "tfd/base/deadline.hpp"

namespace tfd::transport {

/// poll(2) to a point in time, to the nanosecond.
inline void poll_until(pollfd* fds, nfds_t count, Clock::time_point until) {
  if (until == Clock::time_point::max()) {
    ppoll(fds, count, nullptr, nullptr);
    return;
  }
  const auto left = std::max(Duration::zero(), Duration(until - Clock::now()));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec timeout{static_cast<time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
  ppoll(fds, count, &timeout, nullptr);
}

class Waker {
 public:
  Waker() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;
  ~Waker() { close(fd_); }

  int fd() const { return fd_; }
  void wake() {
    if (!sleeping_.exchange(false)) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);  // fails only when it is already readable
  }
  void prepare_to_sleep() { sleeping_.store(true); }
  void awake() {
    sleeping_.store(false);
    // The counter is always read: a wake() may write after we were woken by something else, and would then end every
    // poll.
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = read(fd_, &count, sizeof count);
  }

 private:
  int fd_;
  std::atomic<bool> sleeping_{false};
};

}  // namespace tfd::transport
