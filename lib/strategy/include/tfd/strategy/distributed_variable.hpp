#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A variable of a strategy: a value on each of its replicas. The meaning of reads and writes depends on the context:
// within a replica (a function that Strategy::run() runs), or cross-replica. The rules are those of
// tfd/variable/replicated.hpp. A strategy of several processes has one variable: copies here are this process's, but
// aggregates are of all replicas, so that all processes make the same writes, and reads of values synchronized
// on read; outside of replicas the chief's value is written. Thread rule: thread-safe; replicas that write together
// wait for each other. Source: tensorflow/python/distribute/values.py, DistributedVariable, 2.21.
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
  /// `entries`: the host's names of the replicas' values; a single one if all share one value. Both references are
  /// borrowed.
  DistributedVariable(Strategy& strategy, VariableHost& host, std::string name, tensor::TensorSpec spec,
                      variable::ReplicationKind kind, std::vector<std::string> entries);

  const std::string& name() const { return name_; }
  const tensor::TensorSpec& spec() const { return spec_; }
  const variable::ReplicationKind& kind() const { return kind_; }
  const Strategy& strategy() const { return strategy_; }
  /// Names of the copies: "v", "v/replica_1", …; "v" alone if all replicas share one value.
  const std::vector<std::string>& copy_names() const { return entries_; }

  /// Reads the variable. In a replica: its own copy. Outside: the first copy, or, if synchronized on read, all of them
  /// aggregated. kInvalidArgument if that has no aggregation; kFailedPrecondition in the scope of another strategy.
  Result<tensor::Tensor> read() const;
  /// The value that this replica reads: an object of its own, even if copies share memory.
  Result<tensor::Tensor> read_on(std::size_t replica) const;
  /// Assigns the variable. In a replica, if synchronized on write with an aggregation: all replicas' values are
  /// aggregated and written to every copy, so that all of them must write (it is a merge_call()); a tensor made outside
  /// of replicas is the same for all and can't be summed. Otherwise each replica writes its own copy. Outside: every
  /// copy is written; if synchronized on read with a sum, the value is divided among them, and nothing can be added.
  /// kInvalidArgument: another dtype or shape, a write that the aggregation doesn't allow, or a replica's write without
  /// an aggregation if all share one value.
  Result<void> assign(const tensor::Tensor& value) { return write(variable::WriteOp::kAssign, value); }
  Result<void> assign_add(const tensor::Tensor& value) { return write(variable::WriteOp::kAdd, value); }
  Result<void> assign_sub(const tensor::Tensor& value) { return write(variable::WriteOp::kSubtract, value); }

  /// Every copy: mirrored ones, or per replica if synchronized on read.
  Result<DistributedValue> copies() const;
  /// Outside of replicas: replaces each copy by the result of `make`. Errors as assign().
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
