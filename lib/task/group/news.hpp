#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Wakes a thread that waits for what others do. Private to the room. Thread rule: tell() is for any thread, await() for
// one.
#include <condition_variable>

#include "tfd/base/deadline.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd::task {

class News {
 public:
  /// Something has changed.
  void tell() {
    const MutexLock lock(mutex_);
    is_there_ = true;
    changed_.notify_all();
  }
  /// Returns once something has changed since the last call, and after `most` at the latest.
  void await(Duration most) {
    MutexLock lock(mutex_);
    lock.wait(changed_, Deadline::after(most), [this]() TFD_REQUIRES(mutex_) { return is_there_; });
    is_there_ = false;
  }

 private:
  Mutex mutex_;
  std::condition_variable changed_;
  bool is_there_ TFD_GUARDED_BY(mutex_) = false;
};

}  // namespace tfd::task
