#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Counts the versions of a variable that are kept alive by answers still being sent. An update of a value in use goes
// into a new buffer, so each slow reader could keep a copy of the model: this counts them and notifies when one is
// released. Thread rule: a Pin ends on any thread (the wire's, mostly); Versions lives on the endpoint's I/O thread.
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::task {

/// Observer of released pins.
class PinWatch {
 public:
  /// `released` is called from any thread, once after each arm().
  explicit PinWatch(std::function<void()> released) : released_(std::move(released)) {}
  /// Arms the notification; called before checking which pins are held.
  void arm();
  /// Stops notifications.
  void close();
  void released();

 private:
  Mutex mutex_;
  std::function<void()> released_ TFD_GUARDED_BY(mutex_);
  bool is_armed_ TFD_GUARDED_BY(mutex_) = false;
};

/// One version of one variable, as long as an answer with it exists.
class Pin {
 public:
  explicit Pin(std::shared_ptr<PinWatch> watch) : watch_(std::move(watch)) {}
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin() { watch_->released(); }

 private:
  std::shared_ptr<PinWatch> watch_;  // the pin may outlive the service
};

/// Returns the same value; the pin lasts as long as any Tensor with its buffer. Null pin: nothing is pinned.
tensor::Tensor pinned(tensor::Tensor value, std::shared_ptr<Pin> pin);

/// Versions of one variable, counted as requests are admitted, so that a version may not exist yet.
class Versions {
 public:
  void changed() { ++current_; }
  /// The pin of the current version, if it is held.
  std::shared_ptr<Pin> find() const;
  /// Number of versions held, including the current one.
  std::size_t held();
  std::shared_ptr<Pin> pin(const std::shared_ptr<PinWatch>& watch);

 private:
  struct Held {
    std::uint64_t version = 0;
    std::weak_ptr<Pin> pin;
  };
  std::uint64_t current_ = 0;
  std::vector<Held> held_;  // a few
};

}  // namespace tfd::task
