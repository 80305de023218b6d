#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which versions of a variable are kept alive by answers that are still being sent. An update of a value that somebody
// holds goes into a new buffer, so each slow reader could keep a copy of the model: here it is counted how many there
// are, and told when one is let go.
// Thread rule: a Pin ends on any thread (the wire's, mostly); Versions lives on the endpoint's I/O thread.
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tfd/tensor/tensor.hpp"

namespace tfd::task {

/// Who wants to know that a pin was let go.
class PinWatch {
 public:
  /// `released` is called from any thread, once after each arm().
  explicit PinWatch(std::function<void()> released) : released_(std::move(released)) {}
  /// Before one looks for what is held: what is let go from now on is told.
  void arm();
  /// Nothing is told any more.
  void close();
  void released();

 private:
  std::mutex mutex_;
  std::function<void()> released_;
  bool is_armed_ = false;
};

/// One version of one variable, as long as an answer with it exists.
class Pin {
 public:
  explicit Pin(std::shared_ptr<PinWatch> watch) : watch_(std::move(watch)) {}
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin() { watch_->released(); }

 private:
  std::shared_ptr<PinWatch> watch_;  // which may outlive the service
};

/// The same value; while a Tensor with its buffer exists, the pin does. Null: nothing is pinned.
tensor::Tensor pinned(tensor::Tensor value, std::shared_ptr<Pin> pin);

/// Of one variable. Versions are counted as requests are admitted, so a version may still have to be made.
class Versions {
 public:
  void changed() { ++current_; }
  /// The pin of the current version, if somebody has it.
  std::shared_ptr<Pin> find() const;
  /// How many are held, the current one among them.
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
