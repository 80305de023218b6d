#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Everything that an I/O thread waits for: the descriptors of its wires, and its waker, in one epoll set. Thread rule:
// lives on the I/O thread; made on another.
#include <poll.h>
#include <sys/epoll.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/base/error.hpp"
#include "tfd/process/fd.hpp"
#include "waker.hpp"

namespace tfd::transport {

/// poll(2) to a point in time, to the nanosecond.
void poll_until(pollfd* fds, nfds_t count, Clock::time_point until);

class Poller {
 public:
  class Watcher {
   public:
    /// A descriptor is ready for `events`. May add and remove others.
    virtual void on_ready(std::uint64_t whose, std::uint32_t events) = 0;

   protected:
    ~Watcher() = default;
  };

  /// kSystem, kResourceExhausted.
  static Result<std::shared_ptr<Poller>> make(std::shared_ptr<Waker> waker);
  const std::shared_ptr<Waker>& waker() const { return waker_; }

  /// Has `watcher` told, with `whose`, when `fd` is ready for `events` (EPOLLIN and so on); without one wait() only
  /// ends. A descriptor may be closed without remove(). kSystem, kResourceExhausted.
  Result<void> add(int fd, std::uint32_t events, Watcher* watcher = nullptr, std::uint64_t whose = 0);
  void change(int fd, std::uint32_t events);
  void remove(int fd);

  /// Waits for the first of them, for the waker, or for `until`, and notifies the sources with ready descriptors. Call
  /// Waker::prepare_to_sleep() first.
  void wait(Clock::time_point until);

 private:
  /// One for each descriptor. An event carries its source's number: a closed source's number isn't reused.
  struct Source {
    Watcher* watcher = nullptr;
    std::uint64_t whose = 0;
    std::uint32_t number = 0;
  };
  Poller(process::Fd epoll, std::shared_ptr<Waker> waker) : epoll_(std::move(epoll)), waker_(std::move(waker)) {}
  int control(int operation, int fd, std::uint32_t events);
  int wait_for(epoll_event* events, int most, Clock::time_point until);

  process::Fd epoll_;
  std::shared_ptr<Waker> waker_;  // with the core and its mailbox
  std::vector<Source> sources_;
  bool is_exact_ = true;  // false: the kernel's epoll waits for whole milliseconds only
};

}  // namespace tfd::transport
