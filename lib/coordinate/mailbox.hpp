#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the I/O thread and the signal thread tell the training thread. Private to the room. Thread rule: thread-safe;
// one thread waits.
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "tfd/coordinate/cluster_coordinator.hpp"

namespace tfd::coordinate {

class Mailbox {
 public:
  void worker_changed(const WorkerChange& change) {
    const std::scoped_lock lock(mutex_);
    changes_.push_back(change);
    ring();
  }
  void step_done(bool failed) {
    const std::scoped_lock lock(mutex_);
    ++done_;
    failed_ = failed_ || failed;
    ring();
  }
  void wake() {
    const std::scoped_lock lock(mutex_);
    ring();
  }
  /// Until something was told since the last wait.
  void wait(Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto rung = [this] { return rung_; };
    if (deadline.is_never())
      rang_.wait(lock, rung);
    else
      rang_.wait_until(lock, deadline.when(), rung);
    rung_ = false;
  }
  std::vector<WorkerChange> take_changes() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(changes_, {});
  }
  std::int64_t done() const {
    const std::scoped_lock lock(mutex_);
    return done_;
  }
  bool failed() const {
    const std::scoped_lock lock(mutex_);
    return failed_;
  }

 private:
  void ring() {
    rung_ = true;
    rang_.notify_one();
  }
  mutable std::mutex mutex_;
  std::condition_variable rang_;
  bool rung_ = false;
  std::vector<WorkerChange> changes_;
  std::int64_t done_ = 0;
  bool failed_ = false;
};

}  // namespace tfd::coordinate
