// SPDX-License-Identifier: Apache-2.0
#include "slots.hpp"

#include <algorithm>

#include "elements.hpp"

namespace tfd::variable {

Result<void> check_gradient(std::string_view name, const tensor::TensorSpec& value,
                            const tensor::TensorSpec& gradient) {
  if (!tensor::is_floating(value.dtype))
    return fail(Code::kInvalidArgument, "variable '{}' is {}: an optimizer updates floating-point numbers only", name,
                format_spec(value));
  if (gradient == value) return {};
  return fail(Code::kInvalidArgument, "the gradient of '{}' is {}, but the variable is {}", name, format_spec(gradient),
              format_spec(value));
}

std::size_t ensure_slot(VariableState& state, std::string_view slot, double initial) {
  for (std::size_t i = 0; i < state.slots.size(); ++i)
    if (state.slots[i].first == slot) return i;
  tensor::Tensor made = tensor::Tensor::zeros(number_dtype(state.value.dtype()), state.value.shape());
  if (initial != 0 && made.dtype() == tensor::DType::kF32)
    std::fill_n(made.mutable_as<float>(), made.size(), static_cast<float>(initial));
  else if (initial != 0)
    std::fill_n(made.mutable_as<double>(), made.size(), initial);
  state.slots.emplace_back(slot, std::move(made));
  return state.slots.size() - 1;
}

}  // namespace tfd::variable
