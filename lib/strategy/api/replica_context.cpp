// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/replica_context.hpp"

#include "rendezvous.hpp"
#include "replica_group.hpp"
#include "strategy_context.hpp"
#include "tfd/strategy/strategy.hpp"
#include "tfd/variable/reduction.hpp"

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
  return rendezvous_.meet(place_, what, std::move(values), [&](const std::vector<DistributedValue>& all) {
    const ContextGuard outside({&strategy_, nullptr});
    return merge(strategy_, all);
  });
}

Result<std::vector<Tensor>> ReplicaContext::merge_call(const MergeFunction& merge, std::vector<Tensor> args) {
  return meet("merge_call", std::move(args), merge);
}

namespace {

/// Every replica's value is its own here, even if they are the same object.
DistributedValue of_each(const DistributedValue& value, std::size_t replicas) {
  return value.is_plain() ? DistributedValue::per_replica({replicas, value.components().front()}) : value;
}

/// Returns the only result of a merge function.
Result<Tensor> only(Result<std::vector<Tensor>> merged) {
  if (!merged) return fail(std::move(merged).error());
  return std::move(merged->front());
}

}  // namespace

Result<Tensor> ReplicaContext::all_reduce(program::Reduce how, const Tensor& value, std::string_view name) {
  return only(
      meet("all_reduce", {value},
           [&](Strategy& in, const std::vector<DistributedValue>& all) -> Result<std::vector<DistributedValue>> {
             const auto each = of_each(all.front(), in.local_replicas());
             return std::vector<DistributedValue>{TFD_TRY(in.group_->reduce(how, each, std::nullopt, name))};
           }));
}

Result<IndexedSlices> ReplicaContext::all_reduce(program::Reduce how, const IndexedSlices& value,
                                                 std::string_view name) {
  const tensor::Shape& shape = value.values.shape();
  if (shape.empty() || value.indices.shape() != tensor::Shape{shape.front()})
    return fail(Code::kInvalidArgument, "slices of {} have indices of {}, not one for each row",
                format_spec(value.values.spec()), format_spec(value.indices.spec()));
  IndexedSlices out{TFD_TRY(all_gather(value.values, 0, name)), TFD_TRY(all_gather(value.indices, 0, name)),
                    value.dense_shape};
  if (how == program::Reduce::kMean) out.values = TFD_TRY(variable::quotient(out.values, replicas_));
  return out;
}

Result<Tensor> ReplicaContext::all_gather(const Tensor& value, std::int64_t axis, std::string_view name) {
  return only(
      meet("all_gather", {value},
           [&](Strategy& in, const std::vector<DistributedValue>& all) -> Result<std::vector<DistributedValue>> {
             const auto each = of_each(all.front(), in.local_replicas());
             return std::vector<DistributedValue>{TFD_TRY(in.group_->gather(each, axis, name))};
           }));
}

}  // namespace tfd::strategy
