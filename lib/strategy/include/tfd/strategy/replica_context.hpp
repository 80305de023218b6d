#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a replica knows while Strategy::run() runs it, and how it meets the others. Whatever is a rendezvous must be
// called by every replica, in the same order: one that returns, or calls something else, while others wait makes it an
// error of all (kFailedPrecondition), as does one that fails (kAborted, and run() gives the error that it failed with).
// Thread rule: of its replica's thread. Source: tf.distribute.ReplicaContext, distribute_lib.py, 2.21.
#include <functional>
#include <string_view>
#include <vector>

#include "tfd/strategy/values.hpp"

namespace tfd::strategy {

class Rendezvous;
class Strategy;

/// Called once, outside of replicas, with what they passed; each replica gets its component of what it returns.
using MergeFunction =
    std::function<Result<std::vector<DistributedValue>>(Strategy&, const std::vector<DistributedValue>&)>;

class ReplicaContext {
 public:
  ReplicaContext(Strategy& strategy, Rendezvous& rendezvous, std::size_t replica, std::size_t replicas)
      : strategy_(strategy), rendezvous_(rendezvous), replica_(replica), replicas_(replicas) {}
  ReplicaContext(const ReplicaContext&) = delete;
  ReplicaContext& operator=(const ReplicaContext&) = delete;

  Strategy& strategy() const { return strategy_; }
  int replica_id_in_sync_group() const { return static_cast<int>(replica_); }
  int num_replicas_in_sync() const { return static_cast<int>(replicas_); }

  /// The function of replica 0, once all have come. kFailedPrecondition outside of this replica; errors of it.
  Result<std::vector<tensor::Tensor>> merge_call(const MergeFunction& merge, std::vector<tensor::Tensor> args = {});
  /// The sum or mean of all replicas' values, element by element. Errors as reduce().
  Result<tensor::Tensor> all_reduce(program::Reduce how, const tensor::Tensor& value);
  /// Their concatenation. Errors as gather().
  Result<tensor::Tensor> all_gather(const tensor::Tensor& value, std::int64_t axis);

 private:
  Result<std::vector<tensor::Tensor>> meet(std::string_view what, std::vector<tensor::Tensor> values,
                                           const MergeFunction& merge);

  Strategy& strategy_;
  Rendezvous& rendezvous_;
  const std::size_t replica_;
  const std::size_t replicas_;
};

/// Where this thread is: the strategy whose scope it is in, or null; and the replica of it that it runs, or null
/// outside of replicas. Source: tf.distribute.get_strategy, get_replica_context.
Strategy* current_strategy();
ReplicaContext* current_replica();

}  // namespace tfd::strategy
