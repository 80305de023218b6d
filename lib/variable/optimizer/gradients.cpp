// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/base_optimizer.py, 3.15: _clip_gradients, _clip_by_norm, clip_by_global_norm. Squares
// are summed in double.
#include "gradients.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>

#include "../elements.hpp"
#include "formulas.hpp"
#include "tfd/variable/optimizer.hpp"

namespace tfd::variable {

using tensor::Tensor;

double square_sum(const Tensor& gradient) {
  const Tensor numbers = widened(gradient);
  const auto sum_of = [&]<class T>(const T* g) {
    const double sum = sum_elements(numbers.size(), [g](std::int64_t i) { return static_cast<double>(g[i] * g[i]); });
    return static_cast<double>(static_cast<T>(sum));
  };
  return numbers.dtype() == tensor::DType::kF32 ? sum_of(numbers.as<float>().data())
                                                : sum_of(numbers.as<double>().data());
}

Result<void> check_gradient(std::string_view name, const tensor::TensorSpec& value,
                            const tensor::TensorSpec& gradient) {
  if (!tensor::is_floating(value.dtype))
    return fail(Code::kInvalidArgument, "variable '{}' is {}: an optimizer updates floating-point numbers only", name,
                format_spec(value));
  if (gradient == value) return {};
  return fail(Code::kInvalidArgument, "the gradient of '{}' is {}, but the variable is {}", name, format_spec(gradient),
              format_spec(value));
}

void clip_by_value(Tensor& gradient, double limit) {
  rewrite(gradient, [=]<std::floating_point T>(T) {
    return [most = static_cast<T>(limit)](T g) { return formulas::clipped(g, most); };
  });
}

void clip_by_norm(Tensor& gradient, double norm, double square_sum) {
  rewrite(gradient, [=]<std::floating_point T>(T) {
    const T wanted = static_cast<T>(norm), above = formulas::norm_above(static_cast<T>(square_sum), wanted);
    return [=](T g) { return formulas::clipped_by_norm(g, wanted, above); };
  });
}

void clip_by_global_norm(Tensor& gradient, double norm, double square_sum) {
  rewrite(gradient, [=]<std::floating_point T>(T) {
    const T scale = formulas::global_clip_scale(static_cast<T>(square_sum), static_cast<T>(norm));
    return [=](T g) { return g * scale; };
  });
}

void move_loss_scale(VariableState& scale, bool is_finite, std::int64_t growth_steps) {
  if (growth_steps == 0 || (is_finite && ++scale.updates < growth_steps)) return;
  const float now = scale.value.as<float>()[0];
  scale.value = Tensor::scalar(tensor::DType::kF32, is_finite ? now * 2 : now / 2);
  scale.updates = 0;
}

void unscale(Tensor& gradient, double scale) {
  rewrite(gradient, [=]<std::floating_point T>(T) {
    return [by = static_cast<T>(scale)](T g) { return formulas::unscaled(g, by); };
  });
}

bool is_finite(const Tensor& gradient) {
  bool finite = true;
  with_elements(gradient.dtype(), [&]<class E>(E) {
    if constexpr (std::floating_point<typename E::Number>)
      finite = std::ranges::all_of(gradient.as<typename E::Stored>(), [](auto x) { return std::isfinite(E::load(x)); });
  });
  return finite;
}

}  // namespace tfd::variable
