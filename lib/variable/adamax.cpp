// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/adamax.py, 3.x; Kingma and Ba, 2014, section 7.
#include <cmath>

#include "optimizers.hpp"

namespace tfd::variable {
namespace {

struct Adamax {
  double beta_1, beta_2, epsilon;
  std::vector<Slot> slots() const { return {{"momentum"}, {"norm"}}; }
  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& moment) const {
    const T rate = moment.rate, take = static_cast<T>(1 - beta_1), keep = static_cast<T>(beta_2);
    const T small = static_cast<T>(epsilon);
    const T left = 1 - std::pow(static_cast<T>(beta_1), static_cast<T>(moment.step));
    const auto [w, w_out] = e.value;
    const auto [m, m_out] = e.slots[0];
    const auto [u, u_out] = e.slots[1];
    const T* g = e.gradient;
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) {
      const T mean = m[i] + (g[i] - m[i]) * take;
      const T decayed = keep * u[i], size = std::abs(g[i]);
      const T norm = decayed < size ? size : decayed;
      m_out[i] = mean;
      u_out[i] = norm;
      w_out[i] = w[i] - (rate * mean) / (left * (norm + small));
    }
  }
};

constexpr Setting kAdamaxSettings[]{number("beta_1", 0.9, kBelowOne), number("beta_2", 0.999, kBelowOne),
                                    number("epsilon", 1e-7, kNotNegative)};
constexpr std::string_view kAdamaxSlots[]{"momentum", "norm"};

std::unique_ptr<const Rule> make_adamax(const Values& values) {
  return std::make_unique<RuleOf<Adamax>>(Adamax{values["beta_1"], values["beta_2"], values["epsilon"]});
}

}  // namespace

const OptimizerInfo kAdamax{"adamax",         false, "adamax",   0.001, kAdamaxSettings, kAdamaxSlots,
                            OtherRows::kMove, 0,     make_adamax};

}  // namespace tfd::variable
