#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A step's sums, begun one by one while later values are still being computed, so that the network is busy meanwhile.
// All members begin them in one order, whenever each has the values: values that come sooner wait here. Private to the
// room. Thread rule: replicas' programs call it from threads of their own; the rest is one thread's.
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tfd/base/thread_annotations.hpp"
#include "tfd/function/value_watch.hpp"
#include "tfd/step/replica_exchange.hpp"

namespace tfd::strategy {

class EarlySums {
 public:
  /// A variable's change, and where it lies in the sum, in bytes.
  struct Part {
    std::size_t variable = 0, first = 0, size = 0;
  };
  struct What {
    tensor::TensorSpec spec = {};  // of a replica's value; between the parts it is zero
    /// The sum, without values; errors are left for reduce() to report.
    std::function<Result<step::ReplicaSum>(const step::ReplicaWeights&)> make = {};
    std::vector<Part> parts = {};  // which programs show by the variable's number
  };
  /// `sums`: in the order in which all members begin them. The exchange is borrowed.
  EarlySums(step::ReplicaExchange& exchange, std::int64_t step, std::vector<What> sums);
  ~EarlySums();
  /// The watch to which the program of a replica of this process shows its values.
  function::ValueWatch* watch(std::size_t replica);

 private:
  class Watch;
  /// A replica's value of a sum.
  struct Value {
    tensor::Tensor tensor = {};
    std::size_t shown = 0;  // parts
  };
  void computed(std::size_t replica, std::size_t variable, const std::byte* data);
  void begin_ready() TFD_REQUIRES(mutex_);

  step::ReplicaExchange& exchange_;
  const std::int64_t step_;
  const std::vector<What> sums_;
  std::vector<std::unique_ptr<Watch>> watches_;  // by replica of this process
  Mutex mutex_;
  std::optional<step::ReplicaWeights> weights_ TFD_GUARDED_BY(mutex_);
  std::vector<std::vector<Value>> values_ TFD_GUARDED_BY(mutex_);  // by sum and replica
  std::size_t next_ TFD_GUARDED_BY(mutex_) = 0;                    // sum to be begun
};

}  // namespace tfd::strategy
