#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reduces a step's values over all replicas of a training: those of this process, and those of other processes where
// several share a training. Each process decides from the same numbers which values are reduced and how; moving
// bytes between processes is an implementation's business. Thread rule: one thread calls.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/program/program.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/variable/replicated.hpp"

namespace tfd::step {

/// A process's replicas, [first, first + count), of all that a training has.
struct ReplicaRange {
  int all = 1;
  int first = 0;
  int count = 1;

  static ReplicaRange whole(int replicas) { return {replicas, 0, replicas}; }
  bool is_whole() const { return count == all; }
  friend bool operator==(const ReplicaRange&, const ReplicaRange&) = default;
};

/// Numbers of examples of a step, by replica of the training. kNoData: the replica has no data in this step.
using ReplicaWeights = std::vector<double>;
inline constexpr double kNoData = -1;

/// A value of each replica, and what becomes of them: their sum over the replicas that take part, scaled and divided.
struct ReplicaSum {
  std::string name;
  tensor::TensorSpec spec;
  std::vector<bool> takes_part = {};        // by replica of the training
  std::vector<double> scales = {};          // by replica of the training; empty: 1
  std::int64_t divisor = 1;                 // of the sum
  std::vector<tensor::Tensor> values = {};  // by replica of this process; ignored where it doesn't take part
};

/// A gradient: the sum, or the mean weighted by the replicas' examples. Half types are added in f32 and rounded once.
/// With equal weights the mean is TensorFlow's, the sum divided; replicas without examples don't count in others.
/// kInvalidArgument: a mean of integers.
Result<ReplicaSum> sum_of_gradients(std::string name, const tensor::TensorSpec& spec, program::Reduce reduce,
                                    const ReplicaWeights& weights);
/// Values that the replicas assign, or add, by the variable's aggregation. kInvalidArgument: none; a sum of bool, a
/// mean of integers.
Result<ReplicaSum> sum_of_values(std::string name, const tensor::TensorSpec& spec, variable::Aggregation aggregation,
                                 const ReplicaWeights& weights);

class ReplicaExchange {
 public:
  virtual ~ReplicaExchange() = default;
  const ReplicaRange& range() const { return range_; }
  /// Weights of all replicas in a step, which has some data. `own`: of this process's.
  virtual Result<ReplicaWeights> weights(std::int64_t step, const std::vector<double>& own) = 0;
  /// Reduces; all processes state the same sums in the same order. The values of those that begin() had aren't looked
  /// at. kInvalidArgument: the replicas' values differ in their specs.
  virtual Result<std::vector<tensor::Tensor>> reduce(std::int64_t step, std::vector<ReplicaSum> sums) = 0;

  // The next ones are for a step whose values aren't all computed yet; any thread may call them, one at a time.
  /// True if it pays to begin sums of `bytes` in all early: they wait for a network, one after the other.
  virtual bool begins_early(std::int64_t /*bytes*/) const { return false; }
  /// Bytes of which a sum is made of several small values, the same in all processes; 0: of any number of them.
  virtual std::int64_t bucket_bytes() const { return 0; }
  /// The step's weights, if they are known by now, and the step is sure to be made. Doesn't wait.
  virtual std::optional<ReplicaWeights> find_weights() { return std::nullopt; }
  /// Begins the next of the sums that reduce() is called with. Errors are reduce()'s.
  virtual void begin(std::int64_t /*step*/, ReplicaSum /*sum*/) {}
  /// Advances transfers under way, as far as possible without waiting.
  virtual void move_on() {}

 protected:
  explicit ReplicaExchange(ReplicaRange range) : range_(range) {}

 private:
  const ReplicaRange range_;
};

/// All replicas are in this process.
std::unique_ptr<ReplicaExchange> make_local_exchange(int replicas);

}  // namespace tfd::step
