#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A wait that others end: what they want to say is elsewhere, this only wakes whoever looks there. A notification that
// comes before the wait isn't lost. Thread rule: thread-safe; one thread waits.
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
  /// Until something was notified since the last wait, or the deadline.
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
