#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rendezvous of the replicas of a run: once all have arrived with their values, the last one merges them for all.
// Nobody waits for a replica that has returned or failed. Private to the room. Thread rule: thread-safe.
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/strategy/values.hpp"

namespace tfd::strategy {

class Rendezvous {
 public:
  explicit Rendezvous(std::size_t replicas) : arrivals_(replicas) {}

  using Merge = std::function<Result<std::vector<DistributedValue>>(const std::vector<DistributedValue>&)>;
  /// Returns this replica's components of the result of replica 0's merge function on all values. `what` is the
  /// replica's operation, "all_reduce". kFailedPrecondition: the others are in another operation, or one has returned;
  /// kAborted: one has failed; kInvalidArgument: different numbers of values; the merge function's errors, which all
  /// get.
  Result<std::vector<tensor::Tensor>> meet(std::size_t replica, std::string_view what,
                                           std::vector<tensor::Tensor> values, const Merge& merge);
  /// Records that the replica has returned or failed.
  void leave(std::size_t replica, bool has_failed);

 private:
  struct Arrival {
    std::string_view what;
    std::vector<tensor::Tensor> values;
    const Merge* merge = nullptr;
  };
  struct Left {
    std::size_t replica = 0;
    bool has_failed = false;
  };
  /// Merges all arrivals, which are complete. Unchecked: the other replicas wait, so that nobody else uses them.
  Result<std::vector<DistributedValue>> merge_all() TFD_UNCHECKED_THREADS;
  tl::unexpected<Error> why_broken(std::string_view what) const TFD_REQUIRES(mutex_);

  Mutex mutex_;
  std::condition_variable changed_;
  std::vector<Arrival> arrivals_ TFD_GUARDED_BY(mutex_);  // by replica
  std::size_t arrived_ TFD_GUARDED_BY(mutex_) = 0;
  std::uint64_t round_ TFD_GUARDED_BY(mutex_) = 0;
  /// Outcome of the previous round: each replica reads it before it arrives again.
  Result<std::vector<DistributedValue>> outcome_ TFD_GUARDED_BY(mutex_);
  std::optional<Left> left_ TFD_GUARDED_BY(mutex_);  // the first replica that left, or one that failed
};

}  // namespace tfd::strategy
