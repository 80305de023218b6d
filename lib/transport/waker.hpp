#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How other threads wake an I/O thread: an eventfd, written only while the thread sleeps or is about to.
// Thread rule: wake() from any thread; the rest is for the I/O thread.
//
// Sleeping: prepare_to_sleep(), then look once more for work, then poll the descriptor, then awake(). Whoever brings work
// puts it where the I/O thread looks and calls wake() afterwards: it is either seen by that look, or ends the poll.
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
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
    [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);  // can't fail but when already written
  }
  void prepare_to_sleep() { sleeping_.store(true); }
  void awake() {
    sleeping_.store(false);
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = read(fd_, &count, sizeof count);
  }

 private:
  int fd_;
  std::atomic<bool> sleeping_{false};
};

}  // namespace tfd::transport
