#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The rules of ClusterCoordinator's queue as a pure state machine: no lock, clock or socket. Source:
// tensorflow/python/distribute/coordinator/cluster_coordinator.py (_CoordinatedClosureQueue), 2.21: one FIFO; the first
// error wins and cancels closures that haven't run; a closure put back goes to the end; raising the error resets the
// queue. Thread rule: thread-compatible.
//
//   queue.put(7);  queue.take() == 7;  queue.failed(7, error);
//   queue.raise(&cancelled)->message == error.message;  queue.raise(&cancelled) == std::nullopt;
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "tfd/base/by_number.hpp"
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
  /// Takes the next closure into flight; nullopt if there is none. Also while an error is pending: callers that don't
  /// want to start more check has_error() first, as the coordinator does.
  std::optional<ClosureId> take();
  /// The closure that take() would return.
  std::optional<ClosureId> next() const { return queued_.empty() ? std::nullopt : std::optional(queued_.front()); }

  // Requests that create the resources of one worker (its iterators): a separate unbounded queue, served first, never
  // in flight, and neither canceled nor held back by an error.
  void put_for(std::size_t worker, ClosureId resource) { tagged_[worker].push_back(resource); }
  std::optional<ClosureId> take_for(std::size_t worker);
  /// Takes the worker's next request: from its own queue, then from the common one.
  std::optional<ClosureId> take(std::size_t worker);
  /// Clears a worker's own queue, when it is lost or recreates everything.
  void forget(std::size_t worker) { tagged_.erase(worker); }

  bool is_in_flight(ClosureId closure) const { return in_flight_.contains(closure); }
  /// Finishes a closure. False, without effect, if it isn't in flight, since the answer was late.
  bool finished(ClosureId closure);
  /// Fails a closure: the first error is kept, later ones are dropped; with keep_going it only counts as finished.
  /// False as finished().
  bool failed(ClosureId closure, Error error);
  /// Puts a closure at the end of the queue; while an error is pending it is canceled instead, and true is returned.
  bool put_back(ClosureId closure);

  bool has_error() const { return error_.has_value(); }
  const std::optional<Error>& error() const { return error_; }  // that is pending
  bool idle() const { return queued_.empty() && in_flight_.empty(); }
  std::size_t queued() const { return queued_.size(); }
  std::size_t in_flight() const { return in_flight_.size(); }
  /// If an error is pending and nothing is in flight: cancels everything queued (returned in `cancelled`), returns the
  /// error once, and resets the queue.
  std::optional<Error> raise(std::vector<ClosureId>* cancelled);
  /// Removes and returns everything, queued closures first, when a parameter server is lost.
  std::vector<ClosureId> clear();

 private:
  std::size_t capacity_;
  bool keep_going_;
  std::deque<ClosureId> queued_;
  NumberSet in_flight_;
  std::map<std::size_t, std::deque<ClosureId>> tagged_;  // by worker
  std::optional<Error> error_;
};

}  // namespace tfd::coordinator
