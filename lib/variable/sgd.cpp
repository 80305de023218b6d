// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/sgd.py, 3.x; the order of operations is Keras', so that float32 results agree.
#include "optimizers.hpp"
#include "slots.hpp"

namespace tfd::variable {
namespace {

template <class T>
void descend(tensor::Tensor& value, const tensor::Tensor& gradient, T rate) {
  Rewrite<T> w(value);
  const T* g = gradient.as<T>().data();
  const std::int64_t count = value.size();
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) w.out[i] = w.in[i] - g[i] * rate;
  w.commit();
}

template <class T>
void descend_with_momentum(tensor::Tensor& value, tensor::Tensor& slot, const tensor::Tensor& gradient, T rate,
                           T momentum, bool nesterov) {
  Rewrite<T> w(value), m(slot);
  const T* g = gradient.as<T>().data();
  const std::int64_t count = value.size();
  if (nesterov) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const T step = g[i] * rate;
      const T velocity = m.in[i] * momentum - step;
      m.out[i] = velocity;
      w.out[i] = w.in[i] + (velocity * momentum - step);
    }
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const T velocity = m.in[i] * momentum - g[i] * rate;
      m.out[i] = velocity;
      w.out[i] = w.in[i] + velocity;
    }
  }
  w.commit();
  m.commit();
}

class Sgd final : public Optimizer {
 public:
  Sgd(double rate, double momentum, bool nesterov) : rate_(rate), momentum_(momentum), nesterov_(nesterov) {}

  void prepare(VariableState& state) const override {
    if (momentum_ != 0) ensure_slot(state, "momentum");
  }
  Result<void> apply(VariableState& state, const tensor::Tensor& gradient) const override {
    TFD_TRY(check_gradient(state.name, state.value.spec(), gradient.spec()));
    if (state.value.dtype() == tensor::DType::kF32)
      apply_as<float>(state, gradient);
    else
      apply_as<double>(state, gradient);
    ++state.updates;
    return {};
  }
  double learning_rate() const override { return rate_; }

 private:
  template <class T>
  void apply_as(VariableState& state, const tensor::Tensor& gradient) const {
    if (momentum_ == 0) return descend<T>(state.value, gradient, static_cast<T>(rate_));
    tensor::Tensor& slot = state.slots[ensure_slot(state, "momentum")].second;
    descend_with_momentum<T>(state.value, slot, gradient, static_cast<T>(rate_), static_cast<T>(momentum_), nesterov_);
  }

  double rate_;
  double momentum_;
  bool nesterov_;  // without momentum it is plain descent, as in Keras
};

}  // namespace

std::shared_ptr<const Optimizer> make_sgd(Settings& settings) {
  const double rate = settings.number("learning_rate", 0.01, kNotNegative);
  const double momentum = settings.number("momentum", 0, kUnitInterval);
  return std::make_shared<Sgd>(rate, momentum, settings.flag("nesterov", false));
}

}  // namespace tfd::variable
