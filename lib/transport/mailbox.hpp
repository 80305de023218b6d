#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Queue of items from other threads to the one that does the I/O. Thread rule: thread-safe; the lock is held for a push
// or a swap only.
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/transport/endpoint.hpp"
#include "waker.hpp"
#include "wire.hpp"

namespace tfd::transport {

struct RequestItem {
  PeerId peer{};
  Message message;
  Deadline deadline = Deadline::never();
  ReplyCallback callback;
};
struct ReplyItem {
  LinkId link{};
  std::uint64_t id = 0;
  Result<Message> answer;
  std::uint64_t promised = 0;  // bytes that the link counts for it
};
struct ActionItem {
  std::function<void()> action;
  bool is_user = false;  // a post(): dropped at the end
};
using MailItem = std::variant<RequestItem, ReplyItem, ActionItem>;

class Mailbox {
 public:
  explicit Mailbox(std::shared_ptr<Waker> waker) : waker_(std::move(waker)) {}
  /// Adds an item; after close() it is dropped.
  void push(MailItem item) {
    {
      const MutexLock lock(mutex_);
      if (closed_) return;  // `item` dies after the lock
      items_.push_back(std::move(item));
    }
    waker_->wake();
  }
  /// Swaps all items into the empty `into`.
  void take(std::vector<MailItem>& into) {
    const MutexLock lock(mutex_);
    items_.swap(into);
  }
  bool is_empty() const {
    const MutexLock lock(mutex_);
    return items_.empty();
  }
  /// The thread that does the I/O now; none between two.
  void set_reader(std::thread::id reader) { reader_.store(reader, std::memory_order_relaxed); }
  bool is_reader() const { return reader_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  /// False if there are items left to take first.
  bool close_if_empty() {
    const MutexLock lock(mutex_);
    if (!items_.empty()) return false;
    closed_ = true;
    return true;
  }
  bool is_closed() const {
    const MutexLock lock(mutex_);
    return closed_;
  }

 private:
  std::shared_ptr<Waker> waker_;  // also the wire's and, for inproc, other endpoints'
  std::atomic<std::thread::id> reader_;
  mutable Mutex mutex_;
  std::vector<MailItem> items_ TFD_GUARDED_BY(mutex_);
  bool closed_ TFD_GUARDED_BY(mutex_) = false;
};

}  // namespace tfd::transport
