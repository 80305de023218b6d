// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/lion.py, 3.x; Chen et al., 2023.
#include "optimizers.hpp"

namespace tfd::variable {
namespace {

struct Lion {
  double beta_1, beta_2;
  std::vector<Slot> slots() const { return {{"momentum"}}; }
  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& moment) const {
    const T rate = moment.rate;
    const T keep_1 = static_cast<T>(beta_1), take_1 = 1 - keep_1;
    const T keep_2 = static_cast<T>(beta_2), take_2 = 1 - keep_2;
    const auto [w, w_out] = e.value;
    const auto [m, m_out] = e.slots[0];
    const T* g = e.gradient;
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) {
      const T mixed = m[i] * keep_1 + g[i] * take_1;
      const T sign = static_cast<T>(mixed > 0) - static_cast<T>(mixed < 0);
      w_out[i] = w[i] - rate * sign;
      m_out[i] = m[i] * keep_2 + g[i] * take_2;
    }
  }
};

// beta_1 is within (0, 1] in Keras.
constexpr NumberRange kAboveZero{0x1p-1074, 1, "within (0, 1]"};
constexpr Setting kLionSettings[]{number("beta_1", 0.9, kAboveZero), number("beta_2", 0.99, kUnitInterval)};
constexpr std::string_view kLionSlots[]{"momentum"};

std::unique_ptr<const Rule> make_lion(const Values& values) {
  return std::make_unique<RuleOf<Lion>>(Lion{values["beta_1"], values["beta_2"]});
}

}  // namespace

const OptimizerInfo kLion{"lion", false, "lion", 0.001, kLionSettings, kLionSlots, OtherRows::kMove, 0, make_lion};

}  // namespace tfd::variable
