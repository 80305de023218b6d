// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/{adam,adamw}.py, 3.x; v1: training_ops.cc, ApplyAdam. Kingma and Ba, 2014, the form with
// alpha before section 2.1. Keras takes 1 - beta in double and then rounds, v1 in the variable's own type; the powers
// are taken in the variable's own type.
#include <algorithm>
#include <cmath>

#include "optimizers.hpp"

namespace tfd::variable {
namespace {

template <class T>
T alpha_of(const Moment<T>& m, double beta_1, double beta_2) {
  const T t = static_cast<T>(m.step);
  return m.rate * std::sqrt(1 - std::pow(static_cast<T>(beta_2), t)) / (1 - std::pow(static_cast<T>(beta_1), t));
}

template <class T>
void descend(const Elements<T>& e, T alpha, T take_1, T take_2, T small) {
  const auto [w, w_out] = e.value;
  const auto [m, m_out] = e.slots[0];
  const auto [v, v_out] = e.slots[1];
  const T* g = e.gradient;
#pragma omp simd
  for (std::int64_t i = 0; i < e.count; ++i) {
    const T mean = m[i] + (g[i] - m[i]) * take_1;
    const T square = v[i] + (g[i] * g[i] - v[i]) * take_2;
    m_out[i] = mean;
    v_out[i] = square;
    w_out[i] = w[i] - (mean * alpha) / (std::sqrt(square) + small);
  }
}

struct Adam {
  double beta_1, beta_2, epsilon;
  std::vector<Slot> slots() const { return {{"momentum"}, {"velocity"}}; }
  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& m) const {
    descend<T>(e, alpha_of(m, beta_1, beta_2), static_cast<T>(1 - beta_1), static_cast<T>(1 - beta_2),
               static_cast<T>(epsilon));
  }
};

struct AdamV1 {
  double beta_1, beta_2, epsilon;
  std::vector<Slot> slots() const { return {{"m"}, {"v"}}; }
  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& m) const {
    descend<T>(e, alpha_of(m, beta_1, beta_2), 1 - static_cast<T>(beta_1), 1 - static_cast<T>(beta_2),
               static_cast<T>(epsilon));
  }
};

struct Amsgrad {
  double beta_1, beta_2, epsilon;
  std::vector<Slot> slots() const { return {{"momentum"}, {"velocity"}, {"velocity_hat"}}; }
  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& moment) const {
    const T alpha = alpha_of(moment, beta_1, beta_2);
    const T take_1 = static_cast<T>(1 - beta_1), take_2 = static_cast<T>(1 - beta_2), small = static_cast<T>(epsilon);
    const auto [w, w_out] = e.value;
    const auto [m, m_out] = e.slots[0];
    const auto [v, v_out] = e.slots[1];
    const auto [h, h_out] = e.slots[2];
    const T* g = e.gradient;
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) {
      const T mean = m[i] + (g[i] - m[i]) * take_1;
      const T square = v[i] + (g[i] * g[i] - v[i]) * take_2;
      const T most = h[i] < square ? square : h[i];
      m_out[i] = mean;
      v_out[i] = square;
      h_out[i] = most;
      w_out[i] = w[i] - (mean * alpha) / (std::sqrt(most) + small);
    }
  }
};

// A beta_1 of 1 would divide by zero.
constexpr Setting kAdamSettings[]{number("beta_1", 0.9, kBelowOne), number("beta_2", 0.999, kBelowOne),
                                  number("epsilon", 1e-7, kNotNegative), flag("amsgrad")};
constexpr Setting kAdamSettingsV1[]{number("beta1", 0.9, kBelowOne), number("beta2", 0.999, kBelowOne),
                                    number("epsilon", 1e-8, kNotNegative)};
constexpr std::string_view kAdamSlots[]{"momentum", "velocity", "velocity_hat"};
constexpr std::string_view kAdamSlotsV1[]{"m", "v"};

std::unique_ptr<const Rule> make_adam(const Values& values) {
  const double beta_1 = values["beta_1"], beta_2 = values["beta_2"], epsilon = values["epsilon"];
  if (values.flag("amsgrad")) return std::make_unique<RuleOf<Amsgrad>>(Amsgrad{beta_1, beta_2, epsilon});
  return std::make_unique<RuleOf<Adam>>(Adam{beta_1, beta_2, epsilon});
}
std::unique_ptr<const Rule> make_adam_v1(const Values& values) {
  return std::make_unique<RuleOf<AdamV1>>(AdamV1{values["beta1"], values["beta2"], values["epsilon"]});
}

}  // namespace

const OptimizerInfo kAdam{"adam", false, "adam", 0.001, kAdamSettings, kAdamSlots, OtherRows::kMove, 0, make_adam};
const OptimizerInfo kAdamW{"adamw",          false, "adam",   0.001, kAdamSettings, kAdamSlots,
                           OtherRows::kMove, 0.004, make_adam};
const OptimizerInfo kAdamV1{"adam",           true, "adam_v1",   0.001, kAdamSettingsV1, kAdamSlotsV1,
                            OtherRows::kMove, 0,    make_adam_v1};

}  // namespace tfd::variable
