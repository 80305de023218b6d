// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/ftrl.py, 3.x; v1: training_ops.cc, ApplyFtrlV2. McMahan et al., 2013. The value is made
// anew from the slots: the initial one is forgotten at the first update.
#include <cmath>

#include "optimizers.hpp"

namespace tfd::variable {
namespace {

struct Ftrl {
  double power, start, l1, l2, shrinkage, beta;
  bool v1;

  std::vector<Slot> slots() const {
    if (v1) return {{"accum", start}, {"linear"}};
    return {{"accumulator", start}, {"linear"}};
  }

  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& m) const {
    const T exponent = static_cast<T>(-power);
    if (power == -0.5)
      run(e, m, [](T x) { return std::sqrt(x); });
    else
      run(e, m, [exponent](T x) { return std::pow(x, exponent); });
  }

 private:
  template <class T, class Power>
  void run(const Elements<T>& e, const Moment<T>& m, Power raise) const {
    const T rate = m.rate, cut = static_cast<T>(l1), shrink = static_cast<T>(2 * shrinkage);
    const T pull = 2 * (static_cast<T>(l2) + static_cast<T>(beta) / (2 * rate));
    const auto [w, w_out] = e.value;
    const auto [a, a_out] = e.slots[0];
    const auto [z, z_out] = e.slots[1];
    const T* g = e.gradient;
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) {
      const T sum = a[i] + g[i] * g[i];
      const T raised = raise(sum);
      const T linear = z[i] + (g[i] + shrink * w[i] - (raised - raise(a[i])) / rate * w[i]);
      const T below = linear < -cut ? -cut : linear;
      const T clipped = below > cut ? cut : below;
      a_out[i] = sum;
      z_out[i] = linear;
      w_out[i] = (clipped - linear) / (raised / rate + pull);
    }
  }
};

constexpr Setting kFtrlSettings[]{number("learning_rate_power", -0.5, kNotPositive),
                                  number("initial_accumulator_value", 0.1, kNotNegative),
                                  number("l1_regularization_strength", 0, kNotNegative),
                                  number("l2_regularization_strength", 0, kNotNegative),
                                  number("l2_shrinkage_regularization_strength", 0, kNotNegative),
                                  number("beta", 0, kAnyNumber)};
constexpr std::string_view kFtrlSlots[]{"accumulator", "linear"};
constexpr std::string_view kFtrlSlotsV1[]{"accum", "linear"};

std::unique_ptr<const Rule> make_as(const Values& values, bool v1) {
  return std::make_unique<RuleOf<Ftrl>>(Ftrl{values["learning_rate_power"], values["initial_accumulator_value"],
                                             values["l1_regularization_strength"], values["l2_regularization_strength"],
                                             values["l2_shrinkage_regularization_strength"], values["beta"], v1});
}
std::unique_ptr<const Rule> make_ftrl(const Values& values) { return make_as(values, false); }
std::unique_ptr<const Rule> make_ftrl_v1(const Values& values) { return make_as(values, true); }

}  // namespace

const OptimizerInfo kFtrl{"ftrl", false, "ftrl", 0.001, kFtrlSettings, kFtrlSlots, OtherRows::kMove, 0, make_ftrl};
const OptimizerInfo kFtrlV1{"ftrl",           true, "ftrl_v1",   -1, kFtrlSettings, kFtrlSlotsV1,
                            OtherRows::kRest, 0,    make_ftrl_v1};

}  // namespace tfd::variable
