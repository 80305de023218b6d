#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// State that a RemoteValue shares with the coordinator that fills it. Private to the room. Thread rule: thread-safe;
// everything but `state` is written once, before `state`.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/coordinator/cluster_coordinator.hpp"

namespace tfd::coordinator {

/// Synchronization of one coordinator's fetches: shared by all its values, since a condition variable for each would
/// dominate the memory of small closures.
struct CoordinatorLink {
  Mutex mutex;
  std::condition_variable changed;
  std::atomic<int> waiting{0};
  Mutex describe_mutex;  // never taken by threads that fill values
  /// Describes the coordinator's waits; empty after its end.
  std::function<std::string()> describe TFD_GUARDED_BY(describe_mutex);
  std::shared_mutex read_mutex;  // guards what follows, unannotated: reads share it, which a Mutex can't be
  /// Reads a worker's own variable; empty after the coordinator's end.
  std::function<Result<task::ClosureOutcome>(std::size_t worker, const std::string& variable, Deadline)> read;
  Mutex drop_mutex;  // also taken under the coordinator's lock: a closure may hold the last reference to a dataset
  /// Drops iterators that are no longer usable; empty after the coordinator's end.
  std::function<void(std::uint64_t number)> drop TFD_GUARDED_BY(drop_mutex);
};

/// A resource on a worker, whose value isn't kept here.
struct OnWorker {
  std::size_t worker = 0;
  std::string variable;  // empty: an iterator, which has no value
};

struct RemoteValue::Shared {
  Shared(ClosureId closure, std::shared_ptr<CoordinatorLink> coordinator_link)
      : id(closure), link(std::move(coordinator_link)) {}

  void set_outcome(task::ClosureOutcome value);
  void set_error(Error value);
  void set_cancelled(const Error& because, std::optional<ClosureId> closure);
  /// Sets the state of a worker's resource, kReady or kAborted; its error was set when it was made.
  void become(ClosureState now) { publish(now); }

  const ClosureId id;
  const std::shared_ptr<CoordinatorLink> link;  // shared with the coordinator and its other values
  std::atomic<ClosureState> state{ClosureState::kNotReady};
  std::atomic<bool> fetched = false;  // the first value that was fetched is kept, even if the resource is recreated
  task::ClosureOutcome outcome;
  Error error;
  std::optional<ClosureId> cause;
  std::unique_ptr<const OnWorker> place;

 private:
  void publish(ClosureState value);
};

}  // namespace tfd::coordinator
