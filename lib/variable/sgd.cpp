// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/sgd.py, 3.x; v1: tensorflow/core/kernels/training_ops.cc (ApplyGradientDescent,
// ApplyMomentum). The order of operations is theirs, so that float32 results agree.
#include "optimizers.hpp"

namespace tfd::variable {
namespace {

struct Plain {
  std::vector<Slot> slots() const { return {}; }
  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& m) const {
    const auto [w, w_out] = e.value;
    const T* g = e.gradient;
    const T rate = m.rate;
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) w_out[i] = w[i] - g[i] * rate;
  }
};

/// Keras scales the gradient before it enters the velocity.
template <bool kNesterov>
struct Momentum {
  double momentum;
  std::vector<Slot> slots() const { return {{"momentum"}}; }
  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& m) const {
    const auto [w, w_out] = e.value;
    const auto [v, v_out] = e.slots[0];
    const T* g = e.gradient;
    const T rate = m.rate, keep = static_cast<T>(momentum);
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) {
      const T step = g[i] * rate;
      const T velocity = v[i] * keep - step;
      v_out[i] = velocity;
      w_out[i] = w[i] + (kNesterov ? velocity * keep - step : velocity);
    }
  }
};

/// TensorFlow 1 scales what has been added up.
template <bool kNesterov>
struct MomentumV1 {
  double momentum;
  std::vector<Slot> slots() const { return {{"momentum"}}; }
  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& m) const {
    const auto [w, w_out] = e.value;
    const auto [a, a_out] = e.slots[0];
    const T* g = e.gradient;
    const T rate = m.rate, keep = static_cast<T>(momentum);
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) {
      const T sum = a[i] * keep + g[i];
      a_out[i] = sum;
      w_out[i] = w[i] - (kNesterov ? g[i] * rate + sum * keep * rate : sum * rate);
    }
  }
};

constexpr Setting kSgdSettings[]{number("momentum", 0, kUnitInterval), flag("nesterov")};
constexpr Setting kSgdSettingsV1[]{number("momentum", 0, kNotNegative), flag("use_nesterov")};
constexpr std::string_view kSgdSlots[]{"momentum"};

template <template <bool> class WithMomentum>
std::unique_ptr<const Rule> make_of(double momentum, bool nesterov) {
  if (momentum == 0) return std::make_unique<RuleOf<Plain>>(Plain{});  // whatever nesterov says, as in Keras
  if (nesterov) return std::make_unique<RuleOf<WithMomentum<true>>>(WithMomentum<true>{momentum});
  return std::make_unique<RuleOf<WithMomentum<false>>>(WithMomentum<false>{momentum});
}

std::unique_ptr<const Rule> make_sgd(const Values& values) {
  return make_of<Momentum>(values["momentum"], values.flag("nesterov"));
}

std::unique_ptr<const Rule> make_sgd_v1(const Values& values) {
  return make_of<MomentumV1>(values["momentum"], values.flag("use_nesterov"));
}

}  // namespace

const OptimizerInfo kSgd{"sgd", false, "sgd", 0.01, kSgdSettings, kSgdSlots, OtherRows::kMove, 0, make_sgd};
const OptimizerInfo kSgdV1{"sgd", true, "sgd_v1", -1, kSgdSettingsV1, kSgdSlots, OtherRows::kRest, 0, make_sgd_v1};

}  // namespace tfd::variable
