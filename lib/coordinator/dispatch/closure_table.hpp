#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The closures of one coordinator: queued and in flight (ClosureQueue), their sequence numbers, and the fences and
// drops that are due once one has failed, or was tried before. A pure state machine: no lock, clock or socket; its
// owner sends the messages of take_fences(), take_aborts() and take_drop(). Private to the room. Thread rule:
// thread-compatible; the coordinator's lock guards it.
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "dispatch/closure.hpp"
#include "servers/adoption.hpp"

namespace tfd::coordinator {

class ClosureTable {
 public:
  ClosureTable(std::size_t capacity, bool keep_going) : queue_(capacity, keep_going) {}
  /// Sets the number of parameter servers that acknowledge each fence; called before the first closure.
  void set_servers(std::size_t count) { servers_ = count; }
  /// Has put_back() abort the attempt, whose worker may have staged its updates; called before the first closure.
  void set_staging() { is_staging_ = true; }

  // State of all closures.
  std::size_t queued() const { return queue_.queued(); }
  std::size_t in_flight() const { return queue_.in_flight(); }
  bool full() const { return queue_.full(); }
  bool idle() const { return queue_.idle(); }
  bool has_error() const { return queue_.has_error(); }
  const std::optional<Error>& error() const { return queue_.error(); }  // that is pending
  /// True if tasks may still be executing something: closures, or updates that aren't fenced yet.
  bool is_executing() const { return queue_.in_flight() != 0 || fences_ != 0; }
  /// True if nothing is executing or will be: nothing is queued, or an error waits to be raised.
  bool is_over() const { return !is_executing() && (queue_.queued() == 0 || queue_.has_error()); }
  const Closure& at(ClosureId id) const { return *closures_.find(id); }
  const ClosurePtr& find(ClosureId id) const { return closures_.find(id); }

  // Life of one closure.
  /// Queues it with the next id.
  void add(const ClosurePtr& closure);
  /// The next to run; null if none is queued, or an error is pending.
  const Closure* next() const;
  /// Takes next(), which must exist, into flight, with a sequence number and a new turn.
  const ClosurePtr& take();
  void complete(const ClosurePtr& closure, task::ClosureOutcome outcome);
  /// Fails a closure; the first error becomes the pending one.
  void fail(const ClosurePtr& closure, Error error);
  /// Puts it at the end of the queue, for another attempt. While an error is pending it is canceled by `why`, and
  /// returned.
  ClosurePtr put_back(ClosureId id, const Error& why);
  /// Cancels queued closures, except those that an error cancels, and returns them.
  ClosurePtrs drop_queued();

  // End of several closures.
  struct Raised {
    Error error;
    ClosurePtrs cancelled;  // closures that were queued
  };
  /// Returns the pending error, once, when nothing is in flight.
  std::optional<Raised> raise();
  /// Ends all of them with this error.
  ClosurePtrs end(const Error& error);
  /// Fails the values that callers still hold, when the coordinator has ended.
  void abandon(const Error& error);

  // Messages to tasks after an error.
  bool has_messages() const { return !unsent_fences_.empty() || !unsent_aborts_.empty() || drop_is_due_; }
  /// Takes the attempts to abort, which nobody waits for.
  std::vector<variable::Attempt> take_aborts() { return std::exchange(unsent_aborts_, {}); }
  /// Takes the sequence numbers to fence; each parameter server acknowledges each one.
  std::vector<std::uint64_t> take_fences() { return std::exchange(unsent_fences_, {}); }
  void fence_acknowledged() { --fences_; }
  /// Upper bounds, exclusive, of sequence numbers that workers drop: of closures with updates, and of others.
  struct DropBelow {
    std::uint64_t updates, others;
  };
  std::optional<DropBelow> take_drop();
  /// Numbers below `below` are settled at all workers; `unused` of them are void.
  struct Over {
    std::uint64_t below, unused;
  };
  Over over();
  /// Continues another coordinator's sequence numbers; called before the first closure.
  void go_on(const Continuation& from);

  // Queue of requests that create the resources of one worker: see ClosureQueue.
  void put_for(std::size_t worker, ClosureId resource) { queue_.put_for(worker, resource); }
  std::optional<ClosureId> take_for(std::size_t worker) { return queue_.take_for(worker); }
  void forget(std::size_t worker) { queue_.forget(worker); }

 private:
  void raise_fence(const Closure& closure);
  void came_to_nothing(const Closure& closure);

  ClosureQueue queue_;
  NumberMap<ClosurePtr> closures_;
  ClosureId next_id_ = 1;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t next_turn_ = 0;
  std::size_t servers_ = 0;
  bool is_staging_ = false;
  std::unordered_set<ClosureId> returned_;    // queued again: a disconnected worker may have started them
  std::optional<ClosureId> failed_id_;        // the closure whose error is pending
  bool drop_is_due_ = false;                  // after an error: closures waiting at workers mustn't start
  variable::AppliedSet over_;                 // settled sequence numbers, which no worker will use
  std::vector<std::uint64_t> unused_;         // void ones among them, since the last over()
  std::uint64_t unused_below_ = 0;            // number of void ones before that
  std::vector<std::uint64_t> unsent_fences_;  // sequence numbers to fence
  std::vector<variable::Attempt> unsent_aborts_;
  std::size_t fences_ = 0;  // not yet acknowledged
};

}  // namespace tfd::coordinator
