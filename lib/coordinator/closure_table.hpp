#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The closures of one coordinator: which are queued and in flight (ClosureQueue), their numbers, and what is to be said
// to tasks once one has failed, or was tried before. A pure state machine: no lock, clock or socket; whoever owns it
// sends what take_fences() and take_drop() give. Private to the room.
// Thread rule: thread-compatible; the coordinator's lock guards it.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "adoption.hpp"
#include "remote_value.hpp"
#include "tfd/coordinator/closure_queue.hpp"

namespace tfd::coordinator {

/// A scheduled function until its value is there.
struct Closure {
  ClosureId id = 0;
  step::FunctionCall call;
  bool updates = false;    // whether it needs a sequence number of those that parameter servers remember
  bool sequenced = false;  // it has one
  std::shared_ptr<RemoteValue::Shared> value;         // with the caller's RemoteValue
  std::vector<std::shared_ptr<const void>> datasets;  // with the caller's PerWorkerDatasets: its arguments
  std::function<void(const RemoteValue&)> on_done;
  std::optional<task::ShellCommand> command = {};
  std::function<void(const std::string&, const std::string&)> on_moved = {};
  std::string label = {};
  std::uint64_t bytes = 0;                // of its arguments
  std::uint64_t turn = 0;                 // when it was given to the worker that has it
  std::vector<std::string> died_of = {};  // workers that died while they had begun it
  bool runs_alone = false;                // a worker died that may have begun it or another one: see begun_by()
};

using ClosurePtr = std::shared_ptr<Closure>;  // with the table, while it is being sent without the lock
using ClosurePtrs = std::vector<ClosurePtr>;

class ClosureTable {
 public:
  ClosureTable(std::size_t capacity, bool keep_going) : queue_(capacity, keep_going) {}
  /// How many parameter servers acknowledge each fence. Before the first closure.
  void set_servers(std::size_t count) { servers_ = count; }

  // What is known of them all.
  std::size_t queued() const { return queue_.queued(); }
  std::size_t in_flight() const { return queue_.in_flight(); }
  bool full() const { return queue_.full(); }
  bool idle() const { return queue_.idle(); }
  bool has_error() const { return queue_.has_error(); }
  const std::optional<Error>& error() const { return queue_.error(); }  // that is pending
  /// Whether anything may still be done at tasks: closures, or what fences keep out.
  bool is_executing() const { return queue_.in_flight() != 0 || fences_ != 0; }
  /// Nothing is executing, and nothing will be: nothing is queued, or an error waits to be raised.
  bool is_over() const { return !is_executing() && (queue_.queued() == 0 || queue_.has_error()); }
  const Closure& at(ClosureId id) const { return *closures_.at(id); }
  const ClosurePtr& find(ClosureId id) const { return closures_.at(id); }

  // The life of one.
  /// Queues it under the next id, which it gets.
  void add(const ClosurePtr& closure);
  /// The next to run; null where none is queued, or an error is pending.
  const Closure* next() const;
  /// next(), which there has to be, in flight under its sequence number and a new turn.
  const ClosurePtr& take();
  void complete(const ClosurePtr& closure, task::ClosureOutcome outcome);
  /// The first error is the pending one.
  void fail(const ClosurePtr& closure, Error error);
  /// To the end of the queue, for another attempt. While an error is pending it ends cancelled by `why`, and is
  /// returned.
  ClosurePtr put_back(ClosureId id, const Error& why);
  /// All that wait and aren't cancelled by an error: they end cancelled, and are returned.
  ClosurePtrs drop_queued();

  // The end of several.
  struct Raised {
    Error error;
    ClosurePtrs cancelled;  // what was queued
  };
  /// The error that is pending, once, when nothing is in flight.
  std::optional<Raised> raise();
  /// All of them, with this error.
  ClosurePtrs end(const Error& error);
  /// The values that callers still hold, when the coordinator has ended.
  void abandon(const Error& error);

  // What an error makes due at tasks.
  bool has_fences_or_drops() const { return !unsent_fences_.empty() || drop_is_due_; }
  /// Sequence numbers that no parameter server may apply any more; each of them acknowledges each.
  std::vector<std::uint64_t> take_fences() { return std::exchange(unsent_fences_, {}); }
  void fence_acknowledged() { --fences_; }
  /// Numbers of what workers are to drop, exclusive: of closures that update variables, and of others.
  struct DropBelow {
    std::uint64_t updates, others;
  };
  std::optional<DropBelow> take_drop();
  /// Every number below is over at all workers; so many of them came to nothing.
  struct Over {
    std::uint64_t below, unused;
  };
  Over over();
  /// Before the first closure: numbers go on where those of another coordinator ended.
  void go_on(const Continuation& from);

  // The queue of what makes the resources of one worker: ClosureQueue's.
  void put_for(std::size_t worker, ClosureId resource) { queue_.put_for(worker, resource); }
  std::optional<ClosureId> take_for(std::size_t worker) { return queue_.take_for(worker); }
  void forget(std::size_t worker) { queue_.forget(worker); }

 private:
  ClosurePtr remove(ClosureId id);
  void raise_fence(const Closure& closure);
  void came_to_nothing(const Closure& closure);

  ClosureQueue queue_;
  std::unordered_map<ClosureId, ClosurePtr> closures_;
  ClosureId next_id_ = 1;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t next_turn_ = 0;
  std::size_t servers_ = 0;
  std::unordered_set<ClosureId> returned_;    // queued again: a worker that is only cut off may have begun them
  std::optional<ClosureId> failed_id_;        // whose error is pending
  bool drop_is_due_ = false;                  // an error: what waits at workers is not to be begun
  variable::AppliedSet over_;                 // sequence numbers that no worker will use any more
  std::vector<std::uint64_t> unused_;         // of those: that came to nothing, from the last over() on
  std::uint64_t unused_below_ = 0;            // how many more came to nothing before
  std::vector<std::uint64_t> unsent_fences_;  // sequence numbers that no parameter server may apply any more
  std::size_t fences_ = 0;                    // not yet acknowledged
};

}  // namespace tfd::coordinator
