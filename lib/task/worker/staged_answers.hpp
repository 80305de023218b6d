#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Answers of closures whose updates are staged, numbered in the order in which the closures ran: one may be staged on
// all of its parameter servers before an earlier one is, and must be committed after it. Thread rule: thread-safe.
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tfd/base/thread_annotations.hpp"

namespace tfd::task {

class StagedAnswers {
 public:
  /// Sends an answer; the number is that of answers before it, but for failures.
  using Send = std::function<void(std::uint64_t number)>;
  struct Place {
    std::optional<Send> send = {};  // once it is ready; empty: a failure
  };
  /// The place of a closure that has run, before the next one runs.
  std::shared_ptr<Place> take_place() {
    const MutexLock lock(mutex_);
    places_.push_back(std::make_shared<Place>());  // with whoever fills it
    return places_.back();
  }
  /// Fills a place, and sends the answers that are due.
  void fill(Place& place, Send send) {
    std::vector<std::pair<Send, std::uint64_t>> ready;
    {
      const MutexLock lock(mutex_);
      place.send = std::move(send);
      for (; !places_.empty() && places_.front()->send; places_.pop_front())
        if (*places_.front()->send) ready.emplace_back(std::move(*places_.front()->send), sent_++);
    }
    for (const auto& [one, number] : ready) one(number);
  }

 private:
  Mutex mutex_;
  std::deque<std::shared_ptr<Place>> places_ TFD_GUARDED_BY(mutex_);  // shared with the threads that fill them
  std::uint64_t sent_ TFD_GUARDED_BY(mutex_) = 0;
};

}  // namespace tfd::task
