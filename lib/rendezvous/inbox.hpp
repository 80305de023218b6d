#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Hands work from an endpoint's thread to the thread of an EventLoop. Thread rule: post() is for any thread, the rest
// for the loop's.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/process/event_loop.hpp"
#include "tfd/process/fd.hpp"

namespace tfd::rendezvous {

class Inbox {
 public:
  /// kResourceExhausted where no descriptor is left.
  static Result<std::unique_ptr<Inbox>> make(process::EventLoop& loop) {
    process::Fd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!fd) return fail_errno(errno, "cannot make an event descriptor");
    return std::unique_ptr<Inbox>(new Inbox(loop, std::move(fd)));
  }
  ~Inbox() { loop_.forget(fd_.get()); }
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// The loop's thread does it, in turn.
  void post(std::function<void()> work) {
    {
      const MutexLock lock(mutex_);
      work_.push_back(std::move(work));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);  // full: the loop is woken anyway
  }

 private:
  Inbox(process::EventLoop& loop, process::Fd fd) : loop_(loop), fd_(std::move(fd)) {
    loop_.watch(fd_.get(), POLLIN, [this](short) { work(); });
  }
  void work() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(fd_.get(), &count, sizeof count);
    std::vector<std::function<void()>> now;
    {
      const MutexLock lock(mutex_);
      now.swap(work_);
    }
    for (const auto& one : now) one();
  }

  process::EventLoop& loop_;
  process::Fd fd_;
  Mutex mutex_;
  std::vector<std::function<void()>> work_ TFD_GUARDED_BY(mutex_);
};

}  // namespace tfd::rendezvous
