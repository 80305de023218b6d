#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Elements that are made while others are used. Private to the room.
// Thread rule: one thread calls next(); a thread of its own has the inner iterator.
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "tfd/data/dataset.hpp"

namespace tfd::runtime {

/// As tf.data's prefetch(buffer).
class AheadIterator final : public data::Iterator {
 public:
  AheadIterator(std::unique_ptr<data::Iterator> inner, std::size_t buffer)
      : inner_(std::move(inner)), buffer_(buffer), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  Result<std::optional<data::Element>> next() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !made_.empty(); });
    if (ended_ && made_.size() == 1) return made_.front();  // the last word, as often as it is asked for
    auto element = std::move(made_.front());
    made_.pop_front();
    changed_.notify_all();
    return element;
  }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      auto element = inner_->next();
      std::unique_lock lock(mutex_);
      ended_ = !element || !*element;
      made_.push_back(std::move(element));
      changed_.notify_all();
      if (ended_ || !changed_.wait(lock, stop, [this] { return made_.size() < buffer_; })) return;
    }
  }

  const std::unique_ptr<data::Iterator> inner_;
  const std::size_t buffer_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Result<std::optional<data::Element>>> made_;
  bool ended_ = false;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace tfd::runtime
