#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Decides which worker gets which closure, and what becomes of it: answered, put back, lost with its worker, or
// returned to be run by an idle one. A state machine over ClosureTable and WorkerPool, which it changes: no lock, clock
// or socket; its owner sends the results. Private to the room. Thread rule: thread-compatible; the coordinator's
// lock guards it.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/closure_table.hpp"
#include "evaluation.hpp"
#include "workers/worker_pool.hpp"

namespace tfd::coordinator {

class Dispatcher {
 public:
  struct Rules {
    int max_losses = 0;        // as CoordinatorOptions::max_losses
    Duration balance_after{};  // as CoordinatorOptions::balance_after
  };
  Dispatcher(ClosureTable& closures, WorkerPool& workers, Rules rules)
      : closures_(closures), workers_(workers), rules_(rules) {}

  /// A closure at a worker, which is to be sent there.
  struct Assignment {
    std::size_t worker;
    std::uint64_t generation;  // the worker's
    ClosurePtr closure;
    Clock::time_point sent = {};  // set if a listener needs it
  };
  /// Assigns queued closures to workers that have room. Idle workers come first: a closure sent behind another one
  /// waits for that, however long it takes.
  std::vector<Assignment> assign(Clock::time_point now);
  /// True while the worker holds the closure. Else it has migrated, and its answer is late.
  bool holds(const Assignment& one) const;
  /// Ends a closure with its outcome. False, without effect, if the answer is late.
  bool finish(const Assignment& one, Result<task::ClosureOutcome> outcome, Clock::time_point now);
  /// Takes a closure from its worker, which has staged its updates: it stays in flight until it is committed. False, as
  /// finish().
  bool staged(const Assignment& one, Duration ran, Clock::time_point now);
  /// Queues a closure again for another attempt; while an error is pending it is canceled by `why` and returned. Does
  /// nothing if it is late.
  ClosurePtr put_back(const Assignment& one, const Error& why);
  /// The same for one that its worker hasn't started and returns, since another closure failed or workers are idle.
  /// nullopt: it is late.
  std::optional<ClosurePtr> returned(const Assignment& one, Clock::time_point now);

  struct Loss {
    ClosurePtrs ended;                    // failed or canceled
    ClosurePtrs moved;                    // queued again, with a listener
    std::size_t migrated = 0;             // number of all that are queued again
    std::vector<std::string> suspicions;  // lines for the log: closures that may have killed their workers
  };
  /// Takes a worker's closures from it. If it died, closures that it had certainly started and not finished count a
  /// loss, and one that has too many fails with kAborted; those that it may have started are run alone next.
  Loss lose(std::size_t worker, bool died);

  // Rebalancing. A worker holds more closures than it runs, so that it never idles. If these take long after all, and
  // the queue is empty, it returns closures that haven't started, for idle workers.

  /// True if rebalance() is to be called after Rules::balance_after; not again until it was.
  bool schedule_rebalance();
  struct Request {
    std::size_t worker;
    std::uint64_t generation;
    std::size_t count;  // of closures to return
  };
  struct Rebalance {
    std::vector<Request> requests;
    bool must_wait = false;  // some workers answered not long ago
  };
  /// `evaluation` may be null.
  Rebalance rebalance(const Evaluation* evaluation, Clock::time_point now);
  /// Records that the worker has returned what was asked for; the closures are answered themselves.
  void request_answered(const Request& request);

 private:
  void assign(WorkerPool::Share share, Clock::time_point now, std::vector<Assignment>& taken);
  std::optional<Error> count_loss(Closure& closure, const std::string& worker,
                                  std::vector<std::string>& suspicions) const;

  ClosureTable& closures_;
  WorkerPool& workers_;
  const Rules rules_;
  bool is_rebalance_due_ = false;
};

}  // namespace tfd::coordinator
