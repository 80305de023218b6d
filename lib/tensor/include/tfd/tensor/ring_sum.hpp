#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Sums over replicas in the order of TensorFlow's ring all-reduce on CPUs, which depends on an element's place among
// all that are reduced together; tree_sum.hpp has the order that is tfd's own. Source: RingReducer,
// tensorflow/core/common_runtime/ring_reducer.cc, 2.21, measured bit by bit. Thread rule: pure functions.
#include <cstdint>
#include <span>

#include "tfd/tensor/tensor.hpp"

namespace tfd::tensor {

/// Elements of one of the chunks, as many as there are replicas, that a ring cuts `total` elements into: equal parts,
/// rounded up to the next multiple of 64 bytes, which what is a multiple already isn't itself. So the last chunks may
/// have nothing.
std::int64_t ring_chunk(std::int64_t total, std::int64_t replicas, DType dtype);

/// Sum of the values by replica, whose elements are the ones from `first` on of `total`: chunk c is added up from
/// replica c on, around the ring, in the values' own dtype. An absent value counts as zeros. kInvalidArgument: all
/// are absent; different specs; bool.
Result<Tensor> ring_sum(std::span<const Tensor> values, std::int64_t first, std::int64_t total);

}  // namespace tfd::tensor
