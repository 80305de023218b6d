#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A replica's context while Strategy::run() runs it, and its synchronization with the others. Synchronizing calls must
// be made by every replica, in the same order: if one returns, or calls something else, while others wait, all get
// kFailedPrecondition; if one fails, the others get kAborted, and run() returns its error. Thread rule: of its
// replica's thread. Source: tf.distribute.ReplicaContext, distribute_lib.py, 2.21.
#include <functional>
#include <string_view>
#include <vector>

#include "tfd/strategy/values.hpp"

namespace tfd::strategy {

class Rendezvous;
class Strategy;

/// Called once, in cross-replica context, with the values that the replicas passed; each replica gets its component of
/// the result.
using MergeFunction =
    std::function<Result<std::vector<DistributedValue>>(Strategy&, const std::vector<DistributedValue>&)>;

class ReplicaContext {
 public:
  /// `place`: among this process's replicas; `replica`: of all `replicas` in sync.
  ReplicaContext(Strategy& strategy, Rendezvous& rendezvous, std::size_t place, int replica, int replicas)
      : strategy_(strategy), rendezvous_(rendezvous), place_(place), replica_(replica), replicas_(replicas) {}
  ReplicaContext(const ReplicaContext&) = delete;
  ReplicaContext& operator=(const ReplicaContext&) = delete;

  Strategy& strategy() const { return strategy_; }
  int replica_id_in_sync_group() const { return replica_; }
  int num_replicas_in_sync() const { return replicas_; }
  /// Its place among this process's replicas, from 0: which component of a DistributedValue is its own.
  std::size_t place() const { return place_; }

  /// Calls the first one's function once all replicas of this process have arrived, with their values.
  /// kFailedPrecondition outside of this replica; errors of the function.
  Result<std::vector<tensor::Tensor>> merge_call(const MergeFunction& merge, std::vector<tensor::Tensor> args = {});
  /// Sums or averages all replicas' values, element by element. `name`: of the call, as in Strategy::reduce(). Errors
  /// as reduce().
  Result<tensor::Tensor> all_reduce(program::Reduce how, const tensor::Tensor& value, std::string_view name = {});
  /// Concatenates all replicas' slices, in their order; nothing is added up. A mean divides the values by the number of
  /// replicas. Errors as gather(); kInvalidArgument: other numbers of indices than of rows. Source: 2.21, all_reduce.
  Result<IndexedSlices> all_reduce(program::Reduce how, const IndexedSlices& value, std::string_view name = {});
  /// Concatenates all replicas' values. Errors as gather().
  Result<tensor::Tensor> all_gather(const tensor::Tensor& value, std::int64_t axis, std::string_view name = {});

 private:
  Result<std::vector<tensor::Tensor>> meet(std::string_view what, std::vector<tensor::Tensor> values,
                                           const MergeFunction& merge);

  Strategy& strategy_;
  Rendezvous& rendezvous_;
  const std::size_t place_;
  const int replica_;
  const int replicas_;
};

/// The thread's context: the strategy whose scope it is in, or null; and the replica that it runs, or null in
/// cross-replica context. Source: tf.distribute.get_strategy, get_replica_context.
Strategy* current_strategy();
ReplicaContext* current_replica();

}  // namespace tfd::strategy
