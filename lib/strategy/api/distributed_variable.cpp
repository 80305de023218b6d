// SPDX-License-Identifier: Apache-2.0
#include "tfd/strategy/distributed_variable.hpp"

#include "device/variable_host.hpp"
#include "replica_group.hpp"
#include "tfd/function/resident.hpp"
#include "tfd/strategy/strategy.hpp"

namespace tfd::strategy {
namespace {

using tensor::Tensor;
using variable::Aggregation;
using variable::ReplicatedVariable;
using variable::Synchronization;
using variable::WriteOp;

}  // namespace

DistributedVariable::DistributedVariable(Strategy& strategy, VariableHost& host, std::string name,
                                         tensor::TensorSpec spec, variable::ReplicationKind kind,
                                         std::vector<std::string> entries)
    : strategy_(strategy),
      host_(host),
      name_(std::move(name)),
      spec_(std::move(spec)),
      kind_(kind),
      entries_(std::move(entries)) {}

bool DistributedVariable::is_shared() const { return entries_.size() == 1 && strategy_.local_replicas() > 1; }

Result<ReplicatedVariable> DistributedVariable::load() const {
  std::vector<Tensor> copies;
  {
    const MutexLock lock(strategy_.variables_mutex_);
    copies = TFD_TRY(host_.read(entries_));
  }
  copies.resize(strategy_.local_replicas(), copies.front());
  return ReplicatedVariable(kind_, std::move(copies));
}

Result<void> DistributedVariable::store(const ReplicatedVariable& changed) {
  const MutexLock lock(strategy_.variables_mutex_);
  for (std::size_t i = 0; i < entries_.size(); ++i) TFD_TRY(host_.assign(entries_[i], changed.copies()[i]));
  return {};
}

Result<Tensor> DistributedVariable::read_on(std::size_t replica) const {
  const std::vector<std::string> entry{entries_[is_shared() ? 0 : replica]};
  const MutexLock lock(strategy_.variables_mutex_);
  const auto values = TFD_TRY(host_.read(entry), fmt::format("variable '{}'", name_));
  // An object of its own: one object on all replicas would count as made outside of them.
  return function::alias_of(values.front());
}

Result<Tensor> DistributedVariable::read() const {
  TFD_TRY(strategy_.check_here("reading a variable"));
  if (const ReplicaContext* replica = current_replica()) return read_on(replica->place());
  const std::string where = fmt::format("variable '{}'", name_);
  const ReplicatedVariable now = TFD_TRY(load(), where);
  return TFD_TRY(strategy_.group_->read_across(where, now), where);
}

Result<DistributedValue> DistributedVariable::copies() const {
  ReplicatedVariable now = TFD_TRY(load(), name_);
  if (kind_.synchronization == Synchronization::kOnRead) return DistributedValue::per_replica(now.copies());
  return DistributedValue::mirrored(now.copies());
}

Result<void> DistributedVariable::write_own(std::size_t replica, WriteOp op, const Tensor& value) {
  if (is_shared())
    return fail(Code::kInvalidArgument,
                "all {} replicas have one value: a replica can only write it with an aggregation (sum, mean or "
                "only_first_replica)",
                strategy_.num_replicas_in_sync());
  const std::vector<std::string> entry{entries_[replica]};
  const MutexLock lock(strategy_.variables_mutex_);
  // Its own copy behaves as a variable that each replica writes separately.
  ReplicatedVariable own({kind_.synchronization, Aggregation::kNone, kind_.trainable}, TFD_TRY(host_.read(entry)));
  TFD_TRY(own.write(op, std::vector<Tensor>{value}));
  return host_.assign(entry.front(), own.copies().front());
}

Result<void> DistributedVariable::write_merged(WriteOp op, const DistributedValue& value) {
  ReplicatedVariable now = TFD_TRY(load());
  TFD_TRY(strategy_.group_->write(fmt::format("variable '{}'", name_), now, op, value));
  return store(now);
}

Result<void> DistributedVariable::write(WriteOp op, const Tensor& value) {
  TFD_TRY(strategy_.check_here("writing a variable"));
  const std::string where = fmt::format("variable '{}'", name_);
  ReplicaContext* replica = current_replica();
  if (replica == nullptr) {
    ReplicatedVariable now = TFD_TRY(load(), where);
    TFD_TRY(strategy_.group_->write_across(where, now, op, value), where);
    return store(now);
  }
  if (kind_.synchronization == Synchronization::kOnRead || kind_.aggregation == Aggregation::kNone) {
    TFD_TRY(write_own(replica->place(), op, value), where);
    return {};
  }
  TFD_TRY(replica->merge_call(
              [&](Strategy&, const std::vector<DistributedValue>& all) -> Result<std::vector<DistributedValue>> {
                TFD_TRY(write_merged(op, all.front()));
                return std::vector<DistributedValue>{};
              },
              {value}),
          where);
  return {};
}

Result<void> DistributedVariable::update(
    const std::function<Result<Tensor>(std::size_t replica, const Tensor& copy)>& make) {
  TFD_TRY(strategy_.check_outside("update"));
  const std::string where = fmt::format("variable '{}'", name_);
  const ReplicatedVariable now = TFD_TRY(load(), where);
  std::vector<Tensor> made;
  for (std::size_t i = 0; i < now.copies().size(); ++i) {
    if (is_shared() && i > 0) break;  // one copy
    made.push_back(TFD_TRY(make(i, now.copies()[i]), where));
    if (made.back().spec() != spec_)
      return fail(Code::kInvalidArgument, "{} is {}, and its update makes it {}", where, format_spec(spec_),
                  format_spec(made.back().spec()));
  }
  return store(ReplicatedVariable(kind_, std::move(made)));
}

}  // namespace tfd::strategy
