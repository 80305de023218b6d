// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/replica_context.hpp"

#include "rendezvous.hpp"
#include "strategy_context.hpp"

namespace tfd::strategy {

using tensor::Tensor;

ThreadContext& current_context() {
  thread_local ThreadContext context;
  return context;
}

Strategy* current_strategy() { return current_context().strategy; }
ReplicaContext* current_replica() { return current_context().replica; }

Result<std::vector<Tensor>> ReplicaContext::meet(std::string_view what, std::vector<Tensor> values,
                                                 const MergeFunction& merge) {
  if (current_replica() != this)
    return fail(Code::kFailedPrecondition, "{} of replica {} is only called by that replica, while it runs: not {}",
                what, replica_, current_replica() == nullptr ? "outside of replicas" : "by another one");
  return rendezvous_.meet(replica_, what, std::move(values), [&](const std::vector<DistributedValue>& all) {
    const ContextGuard outside({&strategy_, nullptr});
    return merge(strategy_, all);
  });
}

Result<std::vector<Tensor>> ReplicaContext::merge_call(const MergeFunction& merge, std::vector<Tensor> args) {
  return meet("merge_call", std::move(args), merge);
}

namespace {

/// Converts to per-replica components, even if they are the same object.
DistributedValue of_each(const DistributedValue& value, std::size_t replicas) {
  return value.is_plain() ? DistributedValue::per_replica({replicas, value.components().front()}) : value;
}

/// Returns the only result of a merge function.
Result<Tensor> only(Result<std::vector<Tensor>> merged) {
  if (!merged) return fail(std::move(merged).error());
  return std::move(merged->front());
}

}  // namespace

Result<Tensor> ReplicaContext::all_reduce(program::Reduce how, const Tensor& value) {
  return only(meet("all_reduce", {value},
                   [&](Strategy&, const std::vector<DistributedValue>& all) -> Result<std::vector<DistributedValue>> {
                     return std::vector<DistributedValue>{
                         TFD_TRY(reduce(how, of_each(all.front(), replicas_), std::nullopt, replicas_))};
                   }));
}

Result<Tensor> ReplicaContext::all_gather(const Tensor& value, std::int64_t axis) {
  return only(meet("all_gather", {value},
                   [&](Strategy&, const std::vector<DistributedValue>& all) -> Result<std::vector<DistributedValue>> {
                     return std::vector<DistributedValue>{TFD_TRY(gather(of_each(all.front(), replicas_), axis))};
                   }));
}

}  // namespace tfd::strategy
