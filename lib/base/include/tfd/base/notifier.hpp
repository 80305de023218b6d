#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A one-bit event: carries no data, only wakes the waiting thread. A notification that comes before the wait isn't
// lost. Thread rule: thread-safe; one thread waits.
#include <condition_variable>

#include "tfd/base/deadline.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd {

class Notifier {
 public:
  void notify() {
    const MutexLock lock(mutex_);
    notified_ = true;
    changed_.notify_all();
  }
  /// Blocks until notified since the last wait, or until the deadline.
  void wait(Deadline deadline) {
    MutexLock lock(mutex_);
    lock.wait(changed_, deadline, [this]() TFD_REQUIRES(mutex_) { return notified_; });
    notified_ = false;
  }

 private:
  Mutex mutex_;
  std::condition_variable changed_;
  bool notified_ TFD_GUARDED_BY(mutex_) = false;
};

}  // namespace tfd
