#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Values in cross-replica context, and operations on them. Thread rule: plain values, pure functions. Source:
// tf.distribute.Strategy.reduce, gather, experimental_local_results, ReplicaContext.all_reduce and all_gather;
// tensorflow/python/distribute/distribute_lib.py, 2.21.
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
  /// A plain value, the same for all replicas.
  DistributedValue(tensor::Tensor plain) : components_{std::move(plain)} {}  // NOLINT: a tensor is a value
  /// A value with a component for each replica, at least one.
  static DistributedValue per_replica(std::vector<tensor::Tensor> components) {
    return {Kind::kPerReplica, std::move(components)};
  }
  /// A variable's copies, which are equal.
  static DistributedValue mirrored(std::vector<tensor::Tensor> copies) { return {Kind::kMirrored, std::move(copies)}; }

  bool is_plain() const { return kind_ == Kind::kPlain; }
  bool is_mirrored() const { return kind_ == Kind::kMirrored; }
  const std::vector<tensor::Tensor>& components() const { return components_; }
  /// The replica's component.
  const tensor::Tensor& on(std::size_t replica) const { return is_plain() ? components_[0] : components_[replica]; }

 private:
  enum class Kind { kPlain, kPerReplica, kMirrored };
  DistributedValue(Kind kind, std::vector<tensor::Tensor> components)
      : kind_(kind), components_(std::move(components)) {}
  Kind kind_ = Kind::kPlain;
  std::vector<tensor::Tensor> components_;
};

/// Rows of a tensor of `dense_shape`: row indices[i] has values[i]. An index may be there several times, and its rows
/// are meant to be added. Source: tf.IndexedSlices.
struct IndexedSlices {
  tensor::Tensor values;
  tensor::Tensor indices;  // of integers, one for each row
  tensor::Shape dense_shape = {};
};

/// Regroups results[replica][i] to one value for each result. All replicas returned the same number. An object that is
/// the same on all of `num_replicas` (a tensor made outside of them) becomes plain, unless only some of them ran.
/// Source: tensorflow/python/distribute/distribute_utils.py, regroup, 2.21.
std::vector<DistributedValue> regroup(const std::vector<std::vector<tensor::Tensor>>& results,
                                      std::size_t num_replicas);

/// Parses "sum" or "mean", in upper or lower case. kInvalidArgument.
Result<program::Reduce> parse_reduce(std::string_view name);

/// Reduces a value. Without axes: element by element, in the order of the replicas; the mean of integers is a fraction
/// (f64; f32 for 8 and 16 bits). With axes (negative ones count from the end): each replica is first reduced over
/// these, and the mean is weighted by the number of elements; without elements it is NaN. A plain value and a variable
/// are their own mean. kInvalidArgument: shapes differ, an axis out of range, bool, the sum of a variable or, with
/// several replicas, of a plain value.
Result<tensor::Tensor> reduce(program::Reduce how, const DistributedValue& value,
                              const std::optional<std::vector<std::int64_t>>& axes, std::size_t num_replicas);

/// Concatenates along `axis`, in the order of the replicas; a plain value is returned unchanged. kInvalidArgument:
/// dtypes, or shapes apart from this axis, differ; the axis is out of range: a scalar has none, and negative ones
/// aren't allowed.
Result<tensor::Tensor> gather(const DistributedValue& value, std::int64_t axis);

/// The local components as a list; a plain value as its only element.
std::vector<tensor::Tensor> local_results(const DistributedValue& value);
/// One list per replica, in which plain values are repeated; a single list if all are plain.
std::vector<std::vector<tensor::Tensor>> local_results(const std::vector<DistributedValue>& values);

}  // namespace tfd::strategy
