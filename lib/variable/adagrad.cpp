// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/adagrad.py, 3.x; v1: training_ops.cc, ApplyAdagrad (no epsilon).
#include <cmath>

#include "optimizers.hpp"

namespace tfd::variable {
namespace {

struct Adagrad {
  double start, epsilon;
  std::vector<Slot> slots() const { return {{"accumulator", start}}; }
  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& m) const {
    const auto [w, w_out] = e.value;
    const auto [a, a_out] = e.slots[0];
    const T* g = e.gradient;
    const T rate = m.rate, small = static_cast<T>(epsilon);
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) {
      const T sum = a[i] + g[i] * g[i];
      a_out[i] = sum;
      w_out[i] = w[i] - rate * g[i] / std::sqrt(sum + small);
    }
  }
};

constexpr Setting kAdagradSettings[]{number("initial_accumulator_value", 0.1, kNotNegative),
                                     number("epsilon", 1e-7, kNotNegative)};
constexpr Setting kAdagradSettingsV1[]{number("initial_accumulator_value", 0.1, kPositive)};
constexpr std::string_view kAdagradSlots[]{"accumulator"};

std::unique_ptr<const Rule> make_adagrad(const Values& values) {
  return std::make_unique<RuleOf<Adagrad>>(Adagrad{values["initial_accumulator_value"], values["epsilon"]});
}
std::unique_ptr<const Rule> make_adagrad_v1(const Values& values) {
  return std::make_unique<RuleOf<Adagrad>>(Adagrad{values["initial_accumulator_value"], 0});
}

}  // namespace

const OptimizerInfo kAdagrad{"adagrad",        false, "adagrad",   0.001, kAdagradSettings, kAdagradSlots,
                             OtherRows::kRest, 0,     make_adagrad};
const OptimizerInfo kAdagradV1{"adagrad",        true, "adagrad_v1",   -1, kAdagradSettingsV1, kAdagradSlots,
                               OtherRows::kRest, 0,    make_adagrad_v1};

}  // namespace tfd::variable
