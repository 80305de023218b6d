// SPDX-License-Identifier: Apache-2.0
#include "rendezvous.hpp"

#include <algorithm>

namespace tfd::strategy {

using tensor::Tensor;

tl::unexpected<Error> Rendezvous::why_broken(std::string_view what) const {
  if (left_->has_failed) return fail(Code::kAborted, "{}: replica {} has failed", what, left_->replica);
  return fail(Code::kFailedPrecondition,
              "{}: replica {} has returned without it: every replica must make the same calls of merge_call, "
              "all_reduce and all_gather",
              what, left_->replica);
}

Result<std::vector<DistributedValue>> Rendezvous::merge_all() {
  const Arrival& first = arrivals_.front();
  std::vector<std::vector<Tensor>> values;
  for (std::size_t replica = 0; replica < arrivals_.size(); ++replica) {
    Arrival& one = arrivals_[replica];
    if (one.what != first.what)
      return fail(Code::kFailedPrecondition, "replica 0 calls {} while replica {} calls {}: the order must be the same",
                  first.what, replica, one.what);
    values.push_back(std::move(one.values));
    if (values.back().size() != values.front().size())
      return fail(Code::kInvalidArgument, "{}: replica 0 passes {} values, replica {} passes {}", first.what,
                  values.front().size(), replica, values.back().size());
  }
  auto merged = TFD_TRY((*first.merge)(regroup(values, values.size())));
  for (const DistributedValue& value : merged)
    if (!value.is_plain() && value.components().size() != values.size())
      return fail(Code::kInvalidArgument, "{}: a value with {} components for {} replicas", first.what,
                  value.components().size(), values.size());
  return merged;
}

Result<std::vector<Tensor>> Rendezvous::meet(std::size_t replica, std::string_view what, std::vector<Tensor> values,
                                             const Merge& merge) {
  MutexLock lock(mutex_);
  if (left_) return why_broken(what);
  arrivals_[replica] = {what, std::move(values), &merge};
  if (++arrived_ < arrivals_.size()) {
    const std::uint64_t round = round_;
    lock.wait(changed_, Deadline::never(), [&]() TFD_REQUIRES(mutex_) { return round_ != round || left_; });
    if (round_ == round) return why_broken(what);
  } else {
    lock.unlock();  // all others wait
    auto outcome = merge_all();
    lock.lock();
    outcome_ = std::move(outcome);
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
  }
  std::vector<Tensor> out;
  for (const DistributedValue& value : TFD_TRY(Result<std::vector<DistributedValue>>(outcome_)))
    out.push_back(value.on(replica));
  return out;
}

void Rendezvous::leave(std::size_t replica, bool has_failed) {
  const MutexLock lock(mutex_);
  if (!left_ || (has_failed && !left_->has_failed)) left_ = {replica, has_failed};
  changed_.notify_all();
}

}  // namespace tfd::strategy
