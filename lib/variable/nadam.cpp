// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/nadam.py, 3.x; Dozat, 2015. Keras keeps the product of the momentum schedule in a
// variable of the optimizer; here it is computed from the number of the update, as every variable has its own.
#include <algorithm>
#include <cmath>

#include "optimizers.hpp"

namespace tfd::variable {
namespace {

constexpr double kDecay = 0.96;

struct Nadam {
  Nadam(double b1, double b2, double small) : beta_1(b1), beta_2(b2), epsilon(small) {
    // The factors 1 - 0.96^i / 2 are 1 in double from here on.
    double product = 1, power = 1;
    while (power > 1e-17) {
      factors.push_back(product);
      power *= kDecay;
      product *= 1 - 0.5 * power;
    }
  }
  std::vector<Slot> slots() const { return {{"momentum"}, {"velocity"}}; }

  double momentum_at(std::int64_t step) const {
    return beta_1 * (1 - 0.5 * std::pow(kDecay, static_cast<double>(step)));
  }
  double product_until(std::int64_t step) const {
    const std::size_t at = std::min(static_cast<std::size_t>(step), factors.size() - 1);
    return std::pow(beta_1, static_cast<double>(step)) * factors[at];
  }

  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& moment) const {
    const T u = static_cast<T>(momentum_at(moment.step)), u_next = static_cast<T>(momentum_at(moment.step + 1));
    const T product = static_cast<T>(product_until(moment.step)), product_next = product * u_next;
    const T left_2 = 1 - std::pow(static_cast<T>(beta_2), static_cast<T>(moment.step));
    const T take_1 = 1 - static_cast<T>(beta_1), take_2 = 1 - static_cast<T>(beta_2), small = static_cast<T>(epsilon);
    const T rate = moment.rate, rest = 1 - u, left_next = 1 - product_next, left = 1 - product;
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
      const T mean_hat = u_next * mean / left_next + rest * g[i] / left;
      w_out[i] = w[i] - (mean_hat * rate) / (std::sqrt(square / left_2) + small);
    }
  }

  double beta_1, beta_2, epsilon;
  std::vector<double> factors;  // [t]: the product of 1 - 0.96^i / 2 up to i = t
};

constexpr Setting kNadamSettings[]{number("beta_1", 0.9, kBelowOne), number("beta_2", 0.999, kBelowOne),
                                   number("epsilon", 1e-7, kNotNegative)};
constexpr std::string_view kNadamSlots[]{"momentum", "velocity"};

std::unique_ptr<const Rule> make_nadam(const Values& values) {
  return std::make_unique<RuleOf<Nadam>>(Nadam{values["beta_1"], values["beta_2"], values["epsilon"]});
}

}  // namespace

const OptimizerInfo kNadam{"nadam",          false, "nadam",   0.001, kNadamSettings, kNadamSlots,
                           OtherRows::kMove, 0,     make_nadam};

}  // namespace tfd::variable
