// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/adadelta.py, 3.x; v1: training_ops.cc, ApplyAdadelta. Zeiler, 2012.
#include <cmath>

#include "optimizers.hpp"

namespace tfd::variable {
namespace {

struct Adadelta {
  double rho, epsilon;
  std::vector<Slot> slots() const { return {{"accumulated_grad"}, {"accumulated_delta_var"}}; }
  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& m) const {
    const auto [w, w_out] = e.value;
    const auto [a, a_out] = e.slots[0];
    const auto [d, d_out] = e.slots[1];
    const T* g = e.gradient;
    const T rate = m.rate, keep = static_cast<T>(rho), take = static_cast<T>(1 - rho), small = static_cast<T>(epsilon);
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) {
      const T square = keep * a[i] + take * (g[i] * g[i]);
      const T change = -(std::sqrt(d[i] + small) * g[i] / std::sqrt(square + small));
      a_out[i] = square;
      d_out[i] = keep * d[i] + take * (change * change);
      w_out[i] = w[i] + rate * change;
    }
  }
};

struct AdadeltaV1 {
  double rho, epsilon;
  std::vector<Slot> slots() const { return {{"accum"}, {"accum_update"}}; }
  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& m) const {
    const auto [w, w_out] = e.value;
    const auto [a, a_out] = e.slots[0];
    const auto [d, d_out] = e.slots[1];
    const T* g = e.gradient;
    const T rate = m.rate, keep = static_cast<T>(rho), take = T(1) - keep, small = static_cast<T>(epsilon);
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) {
      const T square = a[i] * keep + g[i] * g[i] * take;
      const T change = std::sqrt(d[i] + small) * (T(1) / std::sqrt(square + small)) * g[i];
      a_out[i] = square;
      d_out[i] = d[i] * keep + change * change * take;
      w_out[i] = w[i] - change * rate;
    }
  }
};

constexpr Setting kAdadeltaSettings[]{number("rho", 0.95, kUnitInterval), number("epsilon", 1e-7, kNotNegative)};
constexpr Setting kAdadeltaSettingsV1[]{number("rho", 0.95, kUnitInterval), number("epsilon", 1e-8, kNotNegative)};
constexpr std::string_view kAdadeltaSlots[]{"accumulated_grad", "accumulated_delta_var"};
constexpr std::string_view kAdadeltaSlotsV1[]{"accum", "accum_update"};

std::unique_ptr<const Rule> make_adadelta(const Values& values) {
  return std::make_unique<RuleOf<Adadelta>>(Adadelta{values["rho"], values["epsilon"]});
}
std::unique_ptr<const Rule> make_adadelta_v1(const Values& values) {
  return std::make_unique<RuleOf<AdadeltaV1>>(AdadeltaV1{values["rho"], values["epsilon"]});
}

}  // namespace

const OptimizerInfo kAdadelta{"adadelta",       false, "adadelta",   0.001, kAdadeltaSettings, kAdadeltaSlots,
                              OtherRows::kMove, 0,     make_adadelta};
const OptimizerInfo kAdadeltaV1{"adadelta",       true, "adadelta_v1",   0.001, kAdadeltaSettingsV1, kAdadeltaSlotsV1,
                                OtherRows::kRest, 0,    make_adadelta_v1};

}  // namespace tfd::variable
