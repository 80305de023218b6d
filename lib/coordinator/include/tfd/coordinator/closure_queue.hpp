#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The rules of ClusterCoordinator's queue as a pure state machine: no lock, clock or socket.
// Source: tensorflow/python/distribute/coordinator/cluster_coordinator.py (_CoordinatedClosureQueue), 2.21: one FIFO,
// the first error wins and cancels what has not run, a function put back goes to the end, after the raise it is clean
// again.
// Thread rule: thread-compatible.
//
//   queue.put(7);  queue.take() == 7;  queue.failed(7, error);
//   queue.raise(&cancelled)->message == error.message;  queue.raise(&cancelled) == std::nullopt;
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::coordinator {

using ClosureId = std::uint64_t;

class ClosureQueue {
 public:
  static constexpr std::size_t kDefaultCapacity = std::size_t{256} * 1024;  // TensorFlow's
  /// capacity 0: unbounded.
  explicit ClosureQueue(std::size_t capacity = kDefaultCapacity, bool keep_going = false)
      : capacity_(capacity), keep_going_(keep_going) {}

  bool full() const { return capacity_ > 0 && queued_.size() >= capacity_; }
  void put(ClosureId closure) { queued_.push_back(closure); }
  /// The next to run, now in flight; nullopt when there is none. Also while an error is pending: whoever would rather
  /// start nothing more asks has_error() first, as the coordinator does.
  std::optional<ClosureId> take();
  /// The one that take() would give.
  std::optional<ClosureId> next() const { return queued_.empty() ? std::nullopt : std::optional(queued_.front()); }

  // What makes the resources of one worker (its iterators): a queue of its own without a bound, served first, never in
  // flight, and neither cancelled nor held back by an error.
  void put_for(std::size_t worker, ClosureId resource) { tagged_[worker].push_back(resource); }
  std::optional<ClosureId> take_for(std::size_t worker);
  /// What the worker does next: its own, then the next of all.
  std::optional<ClosureId> take(std::size_t worker);
  /// The worker is gone, or gets them all anew.
  void forget(std::size_t worker) { tagged_.erase(worker); }

  bool is_in_flight(ClosureId closure) const { return in_flight_.contains(closure); }
  /// False, and nothing changes, for a closure that isn't in flight: an answer that came too late.
  bool finished(ClosureId closure);
  /// The first error is kept, later ones are dropped; with keep_going it only counts as finished. False as finished().
  bool failed(ClosureId closure, Error error);
  /// To the end of the queue; cancelled instead (returned true) while an error is pending.
  bool put_back(ClosureId closure);

  bool has_error() const { return error_.has_value(); }
  const std::optional<Error>& error() const { return error_; }  // that is pending
  bool idle() const { return queued_.empty() && in_flight_.empty(); }
  std::size_t queued() const { return queued_.size(); }
  std::size_t in_flight() const { return in_flight_.size(); }
  /// When an error is pending and nothing is in flight: everything queued is cancelled (returned in `cancelled`), the
  /// error is returned once, and the queue is clean.
  std::optional<Error> raise(std::vector<ClosureId>* cancelled);
  /// Everything, queued first: what a lost parameter server ends. Afterwards the queue is empty.
  std::vector<ClosureId> clear();

 private:
  std::size_t capacity_;
  bool keep_going_;
  std::deque<ClosureId> queued_;
  std::unordered_set<ClosureId> in_flight_;
  std::map<std::size_t, std::deque<ClosureId>> tagged_;  // by worker
  std::optional<Error> error_;
};

}  // namespace tfd::coordinator
