#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Modules that compilers of this process are working on, for who wants to know what it does: a compiler can't be asked
// to stop. Thread rule: thread-safe.
//
//   options.on_compile = [compiling](const std::string& module) { return compiling->begin(module); };
#include <functional>
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
    {
      const MutexLock lock(mutex_);
      ++running_;
      module_ = module;
      action = action_;
    }
    if (action) action();
    return {this, [](Compiling* compiling) {
              const MutexLock lock(compiling->mutex_);
              --compiling->running_;
            }};
  }
  /// The module that was begun last, while any is being compiled.
  std::optional<std::string> module() const {
    const MutexLock lock(mutex_);
    return running_ > 0 ? std::optional(module_) : std::nullopt;
  }
  /// Sets an action that is called whenever a compiler is about to begin, on its thread.
  void on_begin(std::function<void()> action) {
    const MutexLock lock(mutex_);
    action_ = std::move(action);
  }

 private:
  mutable Mutex mutex_;
  int running_ TFD_GUARDED_BY(mutex_) = 0;
  std::string module_ TFD_GUARDED_BY(mutex_);
  std::function<void()> action_ TFD_GUARDED_BY(mutex_);
};

}  // namespace tfd::function
