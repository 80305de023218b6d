#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Values as they are seen from outside of the replicas, and what is made of them. Thread rule: plain values, pure
// functions. Source: tf.distribute.Strategy.reduce, gather, experimental_local_results, ReplicaContext.all_reduce and
// all_gather; tensorflow/python/distribute/distribute_lib.py, 2.21.
//
//   const DistributedValue losses = DistributedValue::per_replica({on_first, on_second});
//   const Tensor mean = TFD_TRY(reduce(program::Reduce::kMean, losses, std::nullopt, 2));
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/program/program.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::strategy {

class DistributedValue {
 public:
  /// The same for everybody, and not a replica's.
  DistributedValue(tensor::Tensor plain) : components_{std::move(plain)} {}  // NOLINT: a tensor is a value
  /// One for each replica, at least one.
  static DistributedValue per_replica(std::vector<tensor::Tensor> components) {
    return {Kind::kPerReplica, std::move(components)};
  }
  /// A variable's copies, which are equal.
  static DistributedValue mirrored(std::vector<tensor::Tensor> copies) { return {Kind::kMirrored, std::move(copies)}; }

  bool is_plain() const { return kind_ == Kind::kPlain; }
  bool is_mirrored() const { return kind_ == Kind::kMirrored; }
  const std::vector<tensor::Tensor>& components() const { return components_; }
  /// What the replica sees.
  const tensor::Tensor& on(std::size_t replica) const { return is_plain() ? components_[0] : components_[replica]; }

 private:
  enum class Kind { kPlain, kPerReplica, kMirrored };
  DistributedValue(Kind kind, std::vector<tensor::Tensor> components)
      : kind_(kind), components_(std::move(components)) {}
  Kind kind_ = Kind::kPlain;
  std::vector<tensor::Tensor> components_;
};

/// What replicas returned, results[replica][i], as one value for each result. Every replica returned as many. What is
/// the same object on all of `num_replicas` (a tensor that was made outside of them) is plain; not where only some of
/// them ran. Source: tensorflow/python/distribute/distribute_utils.py, regroup, 2.21.
std::vector<DistributedValue> regroup(const std::vector<std::vector<tensor::Tensor>>& results,
                                      std::size_t num_replicas);

/// "sum" or "mean", in upper or lower case. kInvalidArgument.
Result<program::Reduce> parse_reduce(std::string_view name);

/// Without axes: element by element, in the order of the replicas; the mean of integers is a fraction (f64, of 8 and 16
/// bits f32). With axes (from the end where they are negative): over these of each replica first, and the mean counts
/// elements, so that replicas with more of them weigh more; of none at all it is NaN. A plain value and a variable are
/// their own mean. kInvalidArgument: shapes differ, an axis that isn't there, bool, the sum of a variable or, of
/// several replicas, of a plain value.
Result<tensor::Tensor> reduce(program::Reduce how, const DistributedValue& value,
                              const std::optional<std::vector<std::int64_t>>& axes, std::size_t num_replicas);

/// One after the other along `axis`, in the order of the replicas; a plain value as it is. kInvalidArgument: dtypes, or
/// shapes but for this axis, differ; there is no such axis: a scalar has none, and none is counted from the end.
Result<tensor::Tensor> gather(const DistributedValue& value, std::int64_t axis);

/// What is there, as a list; of a plain value that one.
std::vector<tensor::Tensor> local_results(const DistributedValue& value);
/// One list for each replica, in which plain values are repeated; where all are plain the one that it is.
std::vector<std::vector<tensor::Tensor>> local_results(const std::vector<DistributedValue>& values);

}  // namespace tfd::strategy
