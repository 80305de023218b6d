#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A one-bit event: carries no data, only wakes the waiting thread. A notification that comes before the wait isn't
// lost. Thread rule: thread-safe; one thread waits.
#include <condition_variable>
#include <mutex>

#include "tfd/base/deadline.hpp"

namespace tfd {

class Notifier {
 public:
  void notify() {
    const std::scoped_lock lock(mutex_);
    notified_ = true;
    changed_.notify_all();
  }
  /// Blocks until notified since the last wait, or until the deadline.
  void wait(Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto notified = [this] { return notified_; };
    if (deadline.is_never())
      changed_.wait(lock, notified);
    else
      changed_.wait_until(lock, deadline.when(), notified);
    notified_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool notified_ = false;
};

}  // namespace tfd
