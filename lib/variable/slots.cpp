// SPDX-License-Identifier: Apache-2.0
#include "slots.hpp"

namespace tfd::variable {

Result<void> check_gradient(std::string_view name, const tensor::TensorSpec& value,
                            const tensor::TensorSpec& gradient) {
  if (value.dtype != tensor::DType::kF32 && value.dtype != tensor::DType::kF64)
    return fail(Code::kInvalidArgument, "variable '{}' is {}: an optimizer updates f32 and f64 only", name,
                format_spec(value));
  if (gradient == value) return {};
  return fail(Code::kInvalidArgument, "the gradient of '{}' is {}, the variable is {}", name, format_spec(gradient),
              format_spec(value));
}

std::size_t ensure_slot(VariableState& state, std::string_view slot) {
  for (std::size_t i = 0; i < state.slots.size(); ++i)
    if (state.slots[i].first == slot) return i;
  state.slots.emplace_back(slot, tensor::Tensor::zeros(state.value.dtype(), state.value.shape()));
  return state.slots.size() - 1;
}

}  // namespace tfd::variable
