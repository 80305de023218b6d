#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Limits concurrency to N; the rest start in FIFO order. Thread rule: thread-safe; waiting work starts on the thread
// that ends a turn.
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "tfd/base/thread_annotations.hpp"

namespace tfd::task {

class ConcurrencyLimit : public std::enable_shared_from_this<ConcurrencyLimit> {
 public:
  /// A turn, which ends once: by end(), or with its last pointer.
  class Turn {
   public:
    explicit Turn(std::shared_ptr<ConcurrencyLimit> turns) : turns_(std::move(turns)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { end(); }
    void end() {
      if (!has_ended_.exchange(true)) turns_->ended();
    }

   private:
    std::shared_ptr<ConcurrencyLimit> turns_;  // shared with all other turns
    std::atomic<bool> has_ended_{false};
  };
  using Begin = std::function<void(std::shared_ptr<Turn>)>;

  explicit ConcurrencyLimit(std::size_t at_once) : free_(at_once) {}

  void ask(Begin begin) {
    {
      const MutexLock lock(mutex_);
      if (free_ == 0) return waiting_.push_back(std::move(begin));
      --free_;
    }
    begin(std::make_shared<Turn>(shared_from_this()));
  }

 private:
  void ended() {
    Begin next;
    {
      const MutexLock lock(mutex_);
      if (waiting_.empty()) {
        ++free_;
        return;
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    next(std::make_shared<Turn>(shared_from_this()));
  }

  Mutex mutex_;
  std::size_t free_ TFD_GUARDED_BY(mutex_);
  std::deque<Begin> waiting_ TFD_GUARDED_BY(mutex_);
};

}  // namespace tfd::task
