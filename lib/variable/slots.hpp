#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What every optimizer needs around its formula: the gradient checked, slots made and found, and where the result of an
// element-wise update is written: in place for the sole owner, else into a fresh buffer that becomes the tensor's.
// Thread rule: free functions on their arguments.
#include <string_view>

#include "tfd/base/error.hpp"
#include "tfd/variable/optimizer.hpp"

namespace tfd::variable {

/// The gradient has the value's shape and dtype, and that is a floating-point one. kInvalidArgument names the variable.
Result<void> check_gradient(std::string_view name, const tensor::TensorSpec& value, const tensor::TensorSpec& gradient);

/// Index of a slot, filled with `initial` where it is missing. An index, for the next one may move them. Those of f16
/// and bf16 variables are f32: in eight bits a moment would stand still where beta is near 1.
std::size_t ensure_slot(VariableState& state, std::string_view slot, double initial = 0);

/// One tensor that an element-wise loop reads and writes. `in` and `out` are the same buffer, or don't overlap at all.
template <class T>
class Rewrite {
 public:
  explicit Rewrite(tensor::Tensor& tensor)
      : target_(&tensor),
        fresh_(tensor.is_sole_owner() ? tensor::Tensor()
                                      : tensor::Tensor::uninitialized(tensor.dtype(), tensor.shape())) {
    in = reinterpret_cast<const T*>(target_->data());
    out = fresh_.has_value() ? fresh_.mutable_as<T>() : target_->mutable_as<T>();
  }
  /// After the loop: the tensor is what was written.
  void commit() {
    if (fresh_.has_value()) *target_ = std::move(fresh_);
  }

  const T* in;
  T* out;

 private:
  tensor::Tensor* target_;
  tensor::Tensor fresh_;
};

}  // namespace tfd::variable
