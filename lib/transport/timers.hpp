#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A heap of points in time. There is no removal: most requests are answered long before their deadline, so stale timers
// stay in the heap and are swept when they are more than half of it. Thread rule: lives on one thread.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"

namespace tfd::transport {

template <class T>
class Timers {
 public:
  void add(Clock::time_point when, T value) {
    heap_.push_back({when, next_++, std::move(value)});
    std::push_heap(heap_.begin(), heap_.end());
  }
  /// The earliest time; time_point::max() if there is none.
  Clock::time_point next() const { return heap_.empty() ? Clock::time_point::max() : heap_.front().when; }
  /// The earliest one, if it is due; equal times in the order they were added.
  std::optional<T> take_due(Clock::time_point now) {
    if (heap_.empty() || heap_.front().when > now) return std::nullopt;
    std::pop_heap(heap_.begin(), heap_.end());
    T value = std::move(heap_.back().value);
    heap_.pop_back();
    return value;
  }
  /// Drops timers that `is_live` no longer wants, when the heap is much larger than `live`. Amortized O(1) per add().
  template <class IsLive>
  void sweep(std::size_t live, IsLive is_live) {
    if (heap_.size() < 1024 || heap_.size() < 2 * live) return;
    std::erase_if(heap_, [&](const Entry& entry) { return !is_live(entry.value); });
    std::make_heap(heap_.begin(), heap_.end());
  }
  std::size_t size() const { return heap_.size(); }

 private:
  struct Entry {
    Clock::time_point when;
    std::uint64_t order;
    T value;
    bool operator<(const Entry& other) const { return when != other.when ? when > other.when : order > other.order; }
  };
  std::vector<Entry> heap_;
  std::uint64_t next_ = 0;
};

}  // namespace tfd::transport
