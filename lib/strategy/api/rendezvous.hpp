#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where the replicas of a run wait for each other: once all have come with their values, the last one makes something
// of them for all. Nobody waits for one that has returned or failed. Private to the room. Thread rule: thread-safe.
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "tfd/strategy/values.hpp"

namespace tfd::strategy {

class Rendezvous {
 public:
  explicit Rendezvous(std::size_t replicas) : arrivals_(replicas) {}

  using Merge = std::function<Result<std::vector<DistributedValue>>(const std::vector<DistributedValue>&)>;
  /// This replica's components of what the merge function of replica 0 makes of all values. `what` is what the replica
  /// is doing, "all_reduce". kFailedPrecondition: the others do something else, or one has returned; kAborted: one has
  /// failed; kInvalidArgument: not as many values; the errors of the merge function, which all get.
  Result<std::vector<tensor::Tensor>> meet(std::size_t replica, std::string_view what,
                                           std::vector<tensor::Tensor> values, const Merge& merge);
  /// The replica comes no more.
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
  Result<std::vector<DistributedValue>> merge_all();
  tl::unexpected<Error> why_broken(std::string_view what) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Arrival> arrivals_;  // by replica
  std::size_t arrived_ = 0;
  std::uint64_t round_ = 0;
  Result<std::vector<DistributedValue>>
      outcome_;               // of the round before this one: everybody reads it before coming again
  std::optional<Left> left_;  // the first that did, or one that failed
};

}  // namespace tfd::strategy
