#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Elements of floating-point tensors as numbers: those of f16 and bf16 are read and written as float. Private to the
// room. Thread rule: free functions on their arguments.
#include <cstdint>

#include "tfd/tensor/tensor.hpp"

namespace tfd::runtime {

/// Calls visit(T(), read, write): how elements are stored, and how they are read and written as numbers. Nothing for
/// integers and bool.
template <class Visit>
void as_numbers(tensor::DType dtype, Visit visit) {
  switch (dtype) {
    case tensor::DType::kF32:
      return visit(
          float(), [](float x) { return x; }, [](float x) { return x; });
    case tensor::DType::kF64:
      return visit(
          double(), [](double x) { return x; }, [](double x) { return x; });
    case tensor::DType::kF16:
      return visit(std::uint16_t(), tensor::half_to_float, tensor::float_to_half);
    case tensor::DType::kBF16:
      return visit(std::uint16_t(), tensor::bfloat16_to_float, tensor::float_to_bfloat16);
    default:
      return;
  }
}

}  // namespace tfd::runtime
