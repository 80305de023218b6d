#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Modules that this process is compiling, so that status reports can name them: a compiler can't be asked
// to stop. Thread rule: thread-safe.
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tfd/base/thread_annotations.hpp"

namespace tfd::function {

class Compiling {
 public:
  /// A compiler begins with a module, and is done when the returned token goes, which is before this object does.
  std::shared_ptr<void> begin(const std::string& module) {
    std::function<void()> action;
    std::list<std::string>::iterator own;
    {
      const MutexLock lock(mutex_);
      own = running_.insert(running_.end(), module);
      action = action_;
    }
    if (action) action();
    return {this, [own](Compiling* compiling) {
              const MutexLock lock(compiling->mutex_);
              compiling->running_.erase(own);
            }};
  }
  /// The module that was begun first, of those that are being compiled; nullopt: none is.
  std::optional<std::string> module() const {
    const MutexLock lock(mutex_);
    return running_.empty() ? std::nullopt : std::optional(running_.front());
  }
  /// Sets an action that is called whenever a compiler is about to begin, on its thread.
  void on_begin(std::function<void()> action) {
    const MutexLock lock(mutex_);
    action_ = std::move(action);
  }

 private:
  mutable Mutex mutex_;
  std::list<std::string> running_ TFD_GUARDED_BY(mutex_);  // in the order of their beginnings
  std::function<void()> action_ TFD_GUARDED_BY(mutex_);
};

}  // namespace tfd::function
