#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Items in their order, made ahead by several threads: one at a time takes the next, then works on it while the next
// thread takes. And what stops the input of such threads, which can't be joined while they wait for a command that says
// nothing. Thread rule: an InOrder lives on one thread at a time; its threads end with it. An InputStop is thread-safe.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/base/thread_annotations.hpp"
#include "tfd/data/dataset.hpp"

namespace tfd::data {

template <class Item>
class InOrder {
 public:
  struct Work {
    std::function<Item()> take;                                                                  // one thread at a time
    std::function<void(Item&)> make;                                                             // any thread
    std::function<bool(const Item&)> is_last;                                                    // once it is taken
    std::function<std::size_t(const Item&)> bytes = [](const Item&) { return std::size_t{0}; };  // likewise
  };
  struct Limits {
    std::size_t threads = 1;
    std::size_t bytes = 0;                // ahead, and one item at most; 0: only as many items as below
    std::size_t items = 0;                // ahead; 0: as many as the threads keep busy
    std::optional<std::size_t> low = {};  // how many are left when threads that have made all go on; none: all but one
  };

  InOrder(Work work, Limits limits) : work_(std::move(work)), limits_(limits) {
    if (limits_.items == 0) limits_.items = 2 * limits_.threads + 2;
    if (!limits_.low) limits_.low = limits_.items - 1;
    if (limits_.bytes == 0) limits_.bytes = std::numeric_limits<std::size_t>::max();
  }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  /// Waits for items that are being taken and made.
  ~InOrder() { stop_.request_stop(); }

  bool has_begun() const { return !threads_.empty(); }
  /// The next item. The first call starts the threads; it must not be called again after the last item.
  Item next() {
    for (std::size_t i = threads_.size(); i < limits_.threads; ++i) threads_.emplace_back([this] { run(); });
    MutexLock lock(mutex_);
    made_.wait(lock, [this]() TFD_REQUIRES(mutex_) { return !slots_.empty() && slots_.front().item; });
    Item item = *std::move(slots_.front().item);
    bytes_ahead_ -= slots_.front().bytes;
    slots_.pop_front();
    ++taken_;
    const bool is_low = has_room(*limits_.low + 1);
    lock.unlock();
    if (is_low) room_.notify_all();
    return item;
  }
  /// Skips `count` items, or all that are left, and returns their number. Items that were taken already go to `pass`,
  /// which says whether more follow them; then `skip`, instead of take(), skips as many as it is told.
  template <class Pass, class Skip>
  Result<std::int64_t> skip(std::int64_t count, const Pass& pass, const Skip& skip) {
    if (!has_begun()) return skip(count);
    const Pause pause(*this);
    std::int64_t done = 0;
    for (auto ahead = static_cast<std::int64_t>(pause.ahead); done < std::min(count, ahead); ++done)
      if (!pass(next())) return done;
    return done == count ? Result<std::int64_t>(done) : done + TFD_TRY(skip(count - done));
  }

 private:
  /// Nothing is taken meanwhile.
  struct Pause {
    explicit Pause(InOrder& paused) : of(paused) {
      MutexLock lock(of.mutex_);
      of.is_paused_ = true;
      of.made_.wait(lock, [this]() TFD_REQUIRES(of.mutex_) { return !of.is_taking_; });
      ahead = of.slots_.size();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause() {
      {
        const MutexLock lock(of.mutex_);
        of.is_paused_ = false;
      }
      of.room_.notify_all();
    }
    InOrder& of;
    std::size_t ahead = 0;
  };

  struct Slot {
    std::optional<Item> item = {};  // once it is made
    std::size_t bytes = 0;
  };

  void run() {
    while (true) {
      MutexLock taking(taking_);
      if (is_over_) return;
      const auto slot = wait_for_room();
      if (!slot) return;
      Item item = work_.take();
      is_over_ = work_.is_last(item);
      {
        const MutexLock lock(mutex_);
        bytes_ahead_ += slots_[*slot - taken_].bytes = work_.bytes(item);
        is_taking_ = false;
        if (is_paused_) made_.notify_all();
      }
      taking.unlock();
      work_.make(item);
      {
        const MutexLock lock(mutex_);
        slots_[*slot - taken_].item = std::move(item);
      }
      made_.notify_all();
    }
  }

  /// A slot for the next item, and its number; nullopt where no more is to be taken.
  std::optional<std::size_t> wait_for_room() TFD_REQUIRES(taking_) {
    const std::stop_token stop = stop_.get_token();
    MutexLock lock(mutex_);
    const auto may_take = [&]() TFD_REQUIRES(mutex_) { return !is_paused_ && has_room(limits_.items); };
    if (!room_.wait(lock, stop, may_take) || stop.stop_requested()) return std::nullopt;
    slots_.emplace_back();
    is_taking_ = true;
    return taken_ + slots_.size() - 1;
  }

  bool has_room(std::size_t items) const TFD_REQUIRES(mutex_) {
    return slots_.empty() || (slots_.size() < items && bytes_ahead_ < limits_.bytes);
  }

  const Work work_;
  Limits limits_;

  Mutex taking_;                                  // guards what work_.take() uses, too
  bool is_over_ TFD_GUARDED_BY(taking_) = false;  // nothing is left to be taken

  Mutex mutex_;
  std::condition_variable_any made_;  // an item, or one is no longer being taken
  std::condition_variable_any room_;  // for more of them
  std::deque<Slot> slots_ TFD_GUARDED_BY(mutex_);
  std::size_t taken_ TFD_GUARDED_BY(mutex_) = 0;  // slots before slots_.front()
  std::size_t bytes_ahead_ TFD_GUARDED_BY(mutex_) = 0;
  bool is_paused_ TFD_GUARDED_BY(mutex_) = false;
  bool is_taking_ TFD_GUARDED_BY(mutex_) = false;

  std::stop_source stop_;              // of all of them: a wait ends only once everything that it waits for is stopped
  std::vector<std::jthread> threads_;  // last: stopped and joined before the rest goes
};

/// Stops whatever the input waits for: at the end of its stream, and when its reader is stopped.
class InputStop {
 public:
  explicit InputStop(const Order& order)
      : on_reader_(order.stop, [source = source_]() mutable { source.request_stop(); }) {}
  InputStop(const InputStop&) = delete;
  InputStop& operator=(const InputStop&) = delete;
  /// The order by which the input is read.
  Order below(Order order) const {
    order.stop = source_.get_token();
    return order;
  }
  /// Stops the input: the stream's destructor calls it before its threads are joined.
  void request() { source_.request_stop(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> on_reader_;
};
using InputStopPtr = std::unique_ptr<InputStop>;

}  // namespace tfd::data
