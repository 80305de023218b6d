// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/adam.py, 3.x; Kingma and Ba, 2014, the form with alpha before section 2.1. The order of
// operations is Keras': 1 - beta is taken in double and then rounded, the powers are taken in the variable's own type.
#include <cmath>

#include "optimizers.hpp"
#include "slots.hpp"

namespace tfd::variable {
namespace {

struct AdamSettings {
  double rate, beta_1, beta_2, epsilon;
};

template <class T>
void descend(VariableState& state, std::size_t momentum, std::size_t velocity, const tensor::Tensor& gradient,
             const AdamSettings& settings) {
  const T t = static_cast<T>(state.updates + 1);
  const T power_1 = std::pow(static_cast<T>(settings.beta_1), t);
  const T power_2 = std::pow(static_cast<T>(settings.beta_2), t);
  const T alpha = static_cast<T>(settings.rate) * std::sqrt(1 - power_2) / (1 - power_1);
  const T keep_1 = static_cast<T>(1 - settings.beta_1);
  const T keep_2 = static_cast<T>(1 - settings.beta_2);
  const T epsilon = static_cast<T>(settings.epsilon);

  Rewrite<T> w(state.value), m(state.slots[momentum].second), v(state.slots[velocity].second);
  const T* g = gradient.as<T>().data();
  const std::int64_t count = state.value.size();
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const T mean = m.in[i] + (g[i] - m.in[i]) * keep_1;
    const T square = v.in[i] + (g[i] * g[i] - v.in[i]) * keep_2;
    m.out[i] = mean;
    v.out[i] = square;
    w.out[i] = w.in[i] - (mean * alpha) / (std::sqrt(square) + epsilon);
  }
  w.commit();
  m.commit();
  v.commit();
}

class Adam final : public Optimizer {
 public:
  explicit Adam(AdamSettings settings) : settings_(settings) {}

  void prepare(VariableState& state) const override {
    ensure_slot(state, "momentum");
    ensure_slot(state, "velocity");
  }
  Result<void> apply(VariableState& state, const tensor::Tensor& gradient) const override {
    TFD_TRY(check_gradient(state.name, state.value.spec(), gradient.spec()));
    const std::size_t momentum = ensure_slot(state, "momentum");
    const std::size_t velocity = ensure_slot(state, "velocity");
    if (state.value.dtype() == tensor::DType::kF32)
      descend<float>(state, momentum, velocity, gradient, settings_);
    else
      descend<double>(state, momentum, velocity, gradient, settings_);
    ++state.updates;
    return {};
  }
  double learning_rate() const override { return settings_.rate; }

 private:
  AdamSettings settings_;
};

}  // namespace

std::shared_ptr<const Optimizer> make_adam(Settings& settings) {
  AdamSettings adam{};
  adam.rate = settings.number("learning_rate", 0.001, kNotNegative);
  adam.beta_1 = settings.number("beta_1", 0.9, kBelowOne);  // 1 would divide by zero
  adam.beta_2 = settings.number("beta_2", 0.999, kBelowOne);
  adam.epsilon = settings.number("epsilon", 1e-7, kNotNegative);
  return std::make_shared<Adam>(adam);
}

}  // namespace tfd::variable
