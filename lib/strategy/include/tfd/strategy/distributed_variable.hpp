#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A variable of a strategy: a value on each of its replicas. What reading and writing it means depends on where it is
// done: within a replica (a function that Strategy::run() runs), or outside of all. The rules are those of
// tfd/variable/replicated.hpp.
// Thread rule: thread-safe; of what several replicas write together they wait for each other.
// Source: tensorflow/python/distribute/values.py, DistributedVariable, 2.21.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tfd/strategy/values.hpp"
#include "tfd/variable/replicated.hpp"

namespace tfd::strategy {

class Strategy;
class VariableHost;

class DistributedVariable {
 public:
  /// `entries`: what the host calls the value of each replica; one where all have the same. Both are borrowed.
  DistributedVariable(Strategy& strategy, VariableHost& host, std::string name, tensor::TensorSpec spec,
                      variable::ReplicationKind kind, std::vector<std::string> entries);

  const std::string& name() const { return name_; }
  const tensor::TensorSpec& spec() const { return spec_; }
  const variable::ReplicationKind& kind() const { return kind_; }
  const Strategy& strategy() const { return strategy_; }
  /// "v", "v/replica_1", …; "v" alone where all replicas have one value.
  const std::vector<std::string>& copy_names() const { return entries_; }

  /// In a replica: its own copy. Outside: the first copy, or, synchronized on read, all of them aggregated.
  /// kInvalidArgument where that has no aggregation; kFailedPrecondition in the scope of another strategy.
  Result<tensor::Tensor> read() const;
  /// What this replica reads of it: a tensor of its own, also where copies share their memory.
  Result<tensor::Tensor> read_on(std::size_t replica) const;
  /// In a replica, synchronized on write with an aggregation: what all replicas write is aggregated and goes to every
  /// copy, so that all of them must write (it is a merge_call()); a tensor that was made outside of replicas is the
  /// same for all and has no sum. Else each replica writes to its own copy. Outside: to every copy; synchronized on
  /// read with a sum, what is assigned is divided among them, and nothing can be added. kInvalidArgument: another dtype
  /// or shape, what the aggregation can't do, or a replica that writes without one where all have one value.
  Result<void> assign(const tensor::Tensor& value) { return write(variable::WriteOp::kAssign, value); }
  Result<void> assign_add(const tensor::Tensor& value) { return write(variable::WriteOp::kAdd, value); }
  Result<void> assign_sub(const tensor::Tensor& value) { return write(variable::WriteOp::kSubtract, value); }

  /// Every copy: mirrored ones, or, synchronized on read, those of the replicas.
  Result<DistributedValue> copies() const;
  /// Outside of replicas: each copy becomes what `make` gives for it. As assign().
  Result<void> update(
      const std::function<Result<tensor::Tensor>(std::size_t replica, const tensor::Tensor& copy)>& make);

 private:
  Result<void> write(variable::WriteOp op, const tensor::Tensor& value);
  Result<void> write_merged(variable::WriteOp op, const DistributedValue& value);
  Result<void> write_own(std::size_t replica, variable::WriteOp op, const tensor::Tensor& value);
  Result<variable::ReplicatedVariable> load() const;
  Result<void> store(const variable::ReplicatedVariable& changed);
  bool is_shared() const;  // one value for several replicas

  Strategy& strategy_;
  VariableHost& host_;
  std::string name_;
  tensor::TensorSpec spec_;
  variable::ReplicationKind kind_;
  std::vector<std::string> entries_;
};

}  // namespace tfd::strategy
