#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The steps of a training in flight: few of them at a time (to avoid stale gradients), counted in their order whatever
// order they end in. Private to the room. Thread rule: the training's thread; steps end on others.
#include <atomic>
#include <deque>
#include <optional>

#include "tfd/base/notifier.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"

namespace tfd::coordinator {

class Steps {
 public:
  /// Makes the steps; `notifier` wakes wait().
  Steps(const program::TrainDef& train, Notifier& notifier) : train_(train), notifier_(notifier) {}
  /// Sets the coordinator; the first step is `first`.
  void begin(ClusterCoordinator& coordinator, std::int64_t first) {
    coordinator_ = &coordinator;
    first_ = scheduled_ = counted_ = first;
  }

  /// Sets the number of elements in all epochs, one per replica and step: the last step takes the rest.
  void share(std::int64_t elements, int replicas) {
    elements_ = elements;
    replicas_ = replicas;
  }

  std::int64_t scheduled() const { return scheduled_; }
  /// Number of counted steps, including those before `first`.
  std::int64_t counted() const { return counted_; }
  /// True if no step is in flight.
  bool idle() const { return steps_.empty(); }
  /// True if one has ended with an error.
  bool failed() const { return failed_; }

  /// Schedules unfinished steps of an adopted run, under their own numbers, before any others.
  Result<void> finish(const std::vector<AdoptedRun::Unfinished>& unfinished);
  /// Schedules as many steps as the workers can take, up to this one.
  Result<void> schedule_until(std::int64_t boundary);
  /// Takes the next step in order and counts it, if it has succeeded.
  std::optional<RemoteValue> take_next();
  /// Waits for the notifier, `until`, or steps that have ended: one, or several if they follow each other closely.
  void wait(Deadline until);
  /// Stops scheduling, cancels steps that no worker has (including lost workers'), and waits for the others.
  /// kDeadlineExceeded names the workers.
  Result<void> settle(Deadline deadline);
  /// Result once no step is in flight, after settle() or a failure: the succeeded steps in any order, counted, and the
  /// first error.
  struct Rest {
    std::vector<RemoteValue> done;
    std::optional<Error> error;
  };
  Rest take_rest();

 private:
  Result<bool> schedule(std::int64_t step, std::optional<std::uint64_t> sequence = {});
  void has_ended(const RemoteValue& step);
  std::int64_t outstanding() const { return scheduled_ - first_ - ended_; }

  const program::TrainDef& train_;
  Notifier& notifier_;
  ClusterCoordinator* coordinator_ = nullptr;
  std::deque<RemoteValue> steps_;  // scheduled steps that aren't counted, in order
  std::int64_t first_ = 0;
  std::int64_t scheduled_ = 0;
  std::int64_t counted_ = 0;
  std::atomic<std::int64_t> ended_ = 0;  // these two are set on the I/O thread
  std::atomic<bool> failed_ = false;
  std::int64_t seen_ = 0;                 // of those that have ended: when wait() last returned
  std::atomic<std::int64_t> enough_ = 0;  // ended steps that wake a waiting thread
  std::int64_t elements_ = 0;             // 0: unlimited
  int replicas_ = 1;
};

}  // namespace tfd::coordinator
