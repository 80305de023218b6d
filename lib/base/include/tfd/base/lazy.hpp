#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A value that is made when it is first asked for. Thread rule: thread-safe.
#include <atomic>
#include <optional>

#include "tfd/base/error.hpp"
#include "tfd/base/thread_annotations.hpp"

namespace tfd {

template <class T>
class Lazy {
 public:
  /// Returns the value, made by `make` (which returns a Result<T>) on the first thread to ask; the others wait. An
  /// error is kept, too. The pointer is borrowed from this.
  template <class Make>
  Result<const T*> get(const Make& make) {
    if (!is_made()) {
      const MutexLock lock(mutex_);
      if (!made_) made_.emplace(make());
      is_made_.store(true, std::memory_order_release);
    }
    const Result<T>& value = made();
    if (!value) return fail(value.error());
    return &*value;
  }
  bool is_made() const { return is_made_.load(std::memory_order_acquire); }

 private:
  /// The value or the error; unchecked, since a made value never changes.
  const Result<T>& made() const TFD_UNCHECKED_THREADS { return *made_; }

  Mutex mutex_;
  std::atomic<bool> is_made_ = false;
  std::optional<Result<T>> made_ TFD_GUARDED_BY(mutex_);
};

}  // namespace tfd
