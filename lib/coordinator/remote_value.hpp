#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a RemoteValue shares with the coordinator that fills it. Private to the room.
// Thread rule: thread-safe; everything but `state` is written once, before `state`.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "tfd/coordinator/cluster_coordinator.hpp"

namespace tfd::coordinator {

/// Where the fetches of one coordinator wait: one for all its values, since a condition variable each would be most of
/// the memory of a small closure.
struct CoordinatorLink {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int> waiting{0};
  std::mutex describe_mutex;              // never taken by those who fill values
  std::function<std::string()> describe;  // whom the coordinator waits for; empty after its end
  std::shared_mutex read_mutex;
  /// Of a worker's own variable; empty after the coordinator's end.
  std::function<Result<task::ClosureOutcome>(std::size_t worker, const std::string& variable, Deadline)> read;
  std::mutex drop_mutex;  // taken under the coordinator's lock too: a closure may be the last that has a dataset
  std::function<void(std::uint64_t number)> drop;  // of iterators that nobody can use any more; empty after its end
};

/// What lives on a worker, and isn't kept here.
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
  /// Of what lives on a worker, whose error was set when it was made: kReady, kAborted.
  void become(ClosureState now) { publish(now); }

  const ClosureId id;
  const std::shared_ptr<CoordinatorLink> link;  // with the coordinator and its other values
  std::atomic<ClosureState> state{ClosureState::kNotReady};
  std::atomic<bool> fetched = false;  // the first value that is fetched stays the value, also when it is made anew
  task::ClosureOutcome outcome;
  Error error;
  std::optional<ClosureId> cause;
  std::unique_ptr<const OnWorker> place;

 private:
  void publish(ClosureState value);
};

}  // namespace tfd::coordinator
