#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A value that is made when it is first asked for. Thread rule: thread-safe.
#include <atomic>
#include <mutex>
#include <optional>

#include "tfd/base/error.hpp"

namespace tfd {

template <class T>
class Lazy {
 public:
  /// Returns the value, made by `make` (which returns a Result<T>) on the first thread to ask; the others wait. An
  /// error is kept, too. The pointer is borrowed from this.
  template <class Make>
  Result<const T*> get(const Make& make) {
    if (!is_made()) {
      const std::scoped_lock lock(mutex_);
      if (!made_) made_.emplace(make());
      is_made_.store(true, std::memory_order_release);
    }
    if (!*made_) return fail(made_->error());
    return &**made_;
  }
  bool is_made() const { return is_made_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  std::atomic<bool> is_made_ = false;
  std::optional<Result<T>> made_;
};

}  // namespace tfd
