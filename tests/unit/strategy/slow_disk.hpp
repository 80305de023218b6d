#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A disk that holds up whoever syncs a file, until it is let go. The process's fsync() asks it (slow_disk.cpp). Thread
// rule: thread-safe; one at a time.
#include <condition_variable>
#include <mutex>

namespace tfd::strategy::test {

class SlowDisk {
 public:
  SlowDisk() { current() = this; }
  ~SlowDisk() {
    let_go();
    current() = nullptr;
  }
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;

  void hold() { set(true); }
  void let_go() { set(false); }
  /// Until somebody is held up.
  void await_somebody() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_somebody_; });
  }

  /// What fsync() does.
  static void pass() {
    SlowDisk* const disk = current();
    if (disk == nullptr) return;
    std::unique_lock lock(disk->mutex_);
    disk->has_somebody_ = disk->is_held_;
    disk->changed_.notify_all();
    disk->changed_.wait(lock, [&] { return !disk->is_held_; });
  }

 private:
  static SlowDisk*& current() {
    static SlowDisk* disk = nullptr;
    return disk;
  }
  void set(bool is_held) {
    const std::scoped_lock lock(mutex_);
    is_held_ = is_held;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false, has_somebody_ = false;
};

}  // namespace tfd::strategy::test
