#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A gate that holds others up until a test opens it. Thread rule: thread-safe.
#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tfd::test {

/// Whoever passes waits at it while it is closed; a test waits until some do, and lets them go.
class Gate {
 public:
  void close() { set(false); }
  void open() { set(true); }
  void let_one_pass() {
    const std::scoped_lock lock(mutex_);
    ++passes_;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_ || passes_ > 0; });
    if (!open_) --passes_;
    --waiting_;
    changed_.notify_all();
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return waiting_ >= count; }));
  }

 private:
  void set(bool open) {
    const std::scoped_lock lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int waiting_ = 0;
  int passes_ = 0;
};

}  // namespace tfd::test
