#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sums of gradients with the bits of TensorFlow's MultiWorkerMirroredStrategy: all gradients of a dtype are one pack, the
// last variable's first, and each element is added up in the order of its place there (tensor/ring_sum.hpp). Private to
// the room. Thread rule: immutable.
#include <map>
#include <vector>

#include "device_layout.hpp"

namespace tfd::strategy {

class RingOrder {
 public:
  RingOrder() = default;
  explicit RingOrder(const program::Program& program);
  /// The sum of a pack of gradients, of each replica's (absent: it has no data).
  Result<tensor::Tensor> sum(const program::Program& program, const Pack& pack,
                             const std::vector<tensor::Tensor>& by_replica) const;

 private:
  std::map<std::size_t, std::int64_t> first_;       // element, by variable
  std::map<tensor::DType, std::int64_t> elements_;  // of all
};

}  // namespace tfd::strategy
