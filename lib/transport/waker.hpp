#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How other threads wake an I/O thread: an eventfd, written only while the thread sleeps or is about to, and never
// read: a Poller sees each write. Thread rule: wake() from any thread; the rest is for the I/O thread.
//
// Sleeping: prepare_to_sleep(), then look once more for work, then wait with the Poller, then awake(). Other threads
// queue work where the I/O thread looks, then call wake(): the work is either seen by that look, or the wait ends. A
// wake() after something else has ended it ends the next one, too.
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace tfd::transport {

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
    [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);  // fails only after 2^64 of them
  }
  void prepare_to_sleep() { sleeping_.store(true); }
  void awake() { sleeping_.store(false); }

 private:
  int fd_;
  std::atomic<bool> sleeping_{false};
};

}  // namespace tfd::transport
