#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The steps of a training that are under way: few of them at a time (stale gradients help nobody), counted in their
// order whatever order they end in. Private to the room. Thread rule: the training's thread; steps end on others.
#include <atomic>
#include <deque>
#include <optional>

#include "tfd/base/notifier.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"

namespace tfd::coordinator {

class Steps {
 public:
  /// `notifier` is told whenever one has ended.
  Steps(const program::TrainDef& train, Notifier& notifier) : train_(train), notifier_(notifier) {}
  /// The first one is step `first`, of this coordinator.
  void begin(ClusterCoordinator& coordinator, std::int64_t first) {
    coordinator_ = &coordinator;
    first_ = scheduled_ = counted_ = first;
  }

  /// So many elements are all there are of the epochs, one for each replica of a step: the last takes what is left.
  void share(std::int64_t elements, int replicas) {
    elements_ = elements;
    replicas_ = replicas;
  }

  std::int64_t scheduled() const { return scheduled_; }
  /// Those before `first` included.
  std::int64_t counted() const { return counted_; }
  /// Nothing is under way.
  bool idle() const { return steps_.empty(); }
  /// One has ended with an error.
  bool failed() const { return failed_; }

  /// Steps of an adopted run, under their own numbers, before any others.
  Result<void> finish(const std::vector<AdoptedRun::Unfinished>& unfinished);
  /// As many as the workers can take, up to this one.
  Result<void> schedule_until(std::int64_t boundary);
  /// The next in order, where it has ended well: counted now.
  std::optional<RemoteValue> take_next();
  /// Schedules nothing more, takes back what no worker has (what lost workers had, too), and waits for what they have.
  /// kDeadlineExceeded names the workers.
  Result<void> settle(Deadline deadline);
  /// Once nothing is under way, by settle() or since one has failed: those that ended well in any order, counted, and
  /// the first error.
  struct Rest {
    std::vector<RemoteValue> done;
    std::optional<Error> error;
  };
  Rest take_rest();

 private:
  Result<bool> schedule(std::int64_t step, std::optional<std::uint64_t> sequence = {});
  std::int64_t outstanding() const { return scheduled_ - first_ - ended_; }

  const program::TrainDef& train_;
  Notifier& notifier_;
  ClusterCoordinator* coordinator_ = nullptr;
  std::deque<RemoteValue> steps_;  // scheduled and not counted, in order
  std::int64_t first_ = 0;
  std::int64_t scheduled_ = 0;
  std::int64_t counted_ = 0;
  std::atomic<std::int64_t> ended_ = 0;  // these two on the I/O thread
  std::atomic<bool> failed_ = false;
  std::int64_t elements_ = 0;  // 0: as many as there are
  int replicas_ = 1;
};

}  // namespace tfd::coordinator
