#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A variable with a copy on each replica: how it is synchronized and aggregated. Pure rules over tensors; moving them
// between replicas is the strategy's business. Thread rule: plain values.
// Source: tensorflow/python/distribute/values.py and values_util.py, 2.21.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::variable {

enum class Synchronization : std::uint8_t { kAuto, kNone, kOnWrite, kOnRead };
enum class Aggregation : std::uint8_t { kNone, kSum, kMean, kOnlyFirstReplica };

/// "auto", "none", "on_write", "on_read"; "none", "sum", "mean", "only_first_replica".
std::string_view name_of(Synchronization synchronization);
std::string_view name_of(Aggregation aggregation);
/// kInvalidArgument names the nearest one. Upper case, as TensorFlow writes them, is understood.
Result<Synchronization> parse_synchronization(std::string_view name);
Result<Aggregation> parse_aggregation(std::string_view name);

/// How a variable is synchronized and aggregated, with "auto" resolved.
struct ReplicationKind {
  Synchronization synchronization = Synchronization::kOnWrite;  // kOnWrite or kOnRead
  Aggregation aggregation = Aggregation::kNone;
  bool trainable = true;
};
/// Auto means on write; a variable synchronized on read isn't trainable unless it is stated. kInvalidArgument: not
/// synchronized at all, the mean of numbers that aren't floating-point.
Result<ReplicationKind> resolve_kind(tensor::DType dtype, Synchronization synchronization, Aggregation aggregation,
                                     std::optional<bool> trainable);
/// The default where a program states no aggregation: the mean of floating-point numbers (batch-norm statistics), the
/// first replica's value of others (counters, seeds).
Aggregation default_aggregation(tensor::DType dtype);

enum class WriteOp : std::uint8_t { kAssign, kAdd, kSubtract };

/// Adds the replicas' values in replica order, in their own dtype; the mean is that sum, divided once by their number.
/// Same spec. kInvalidArgument: none, another spec than the first's, bool, a mean of integers, Aggregation::kNone of
/// several. Source: AddN and RealDiv, which round f16 and bf16 after every addition.
Result<tensor::Tensor> aggregate(Aggregation aggregation, std::span<const tensor::Tensor> values);

/// The tensor that a write outside of replicas writes to each copy: the value; or, synchronized on read with a sum, its
/// share of the assigned value (integers toward zero). kInvalidArgument: nothing can be added to such a sum.
/// Source: SyncOnReadVariable.assign, assign_add.
Result<tensor::Tensor> share_of(const ReplicationKind& kind, WriteOp op, const tensor::Tensor& value, int replicas);

class ReplicatedVariable {
 public:
  /// One for each replica, of the same spec.
  ReplicatedVariable(ReplicationKind kind, std::vector<tensor::Tensor> copies)
      : kind_(kind), copies_(std::move(copies)) {}

  const ReplicationKind& kind() const { return kind_; }
  const std::vector<tensor::Tensor>& copies() const { return copies_; }

  /// The copy that a replica sees: its own.
  const tensor::Tensor& read(int replica) const { return copies_[static_cast<std::size_t>(replica)]; }
  /// The value outside of replicas: the first copy, or, synchronized on read, all of them aggregated. kInvalidArgument
  /// where that has no aggregation.
  Result<tensor::Tensor> read_across() const;

  /// Every replica writes a value of its own, one each. Synchronized on write the values are aggregated and go to every
  /// copy; without aggregation, and synchronized on read, each to its own copy.
  Result<void> write(WriteOp op, std::span<const tensor::Tensor> values);
  /// All replicas write the same constant: there is no sum of that (kInvalidArgument) but of one replica's, its mean is
  /// itself.
  Result<void> write_same(WriteOp op, const tensor::Tensor& value);
  /// Writes outside of replicas, to every copy. Synchronized on read with a sum, the value is divided among the copies
  /// (integers toward zero), and nothing can be added: kInvalidArgument.
  Result<void> write_across(WriteOp op, const tensor::Tensor& value);

 private:
  Result<void> check(WriteOp op, const tensor::Tensor& value) const;
  void apply(WriteOp op, std::size_t replica, const tensor::Tensor& value);
  void apply_to_all(WriteOp op, const tensor::Tensor& value);

  ReplicationKind kind_;
  std::vector<tensor::Tensor> copies_;  // may share a buffer until one is written
};

}  // namespace tfd::variable
