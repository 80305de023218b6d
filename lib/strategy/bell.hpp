#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Waits that an interruption ends. Private to the room. Thread rule: thread-safe.
#include <condition_variable>
#include <mutex>
#include <utility>

#include "tfd/base/deadline.hpp"

namespace tfd::strategy {

class Bell {
 public:
  void ring() {
    const std::scoped_lock lock(mutex_);
    rung_ = true;
    rang_.notify_all();
  }
  /// Until ring() or the deadline.
  void wait(Deadline deadline) {
    std::unique_lock lock(mutex_);
    rang_.wait_until(lock, deadline.when(), [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable rang_;
  bool rung_ = false;
};

}  // namespace tfd::strategy
