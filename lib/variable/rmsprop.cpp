// SPDX-License-Identifier: Apache-2.0
//
// Source: keras/src/optimizers/rmsprop.py, 3.x; v1: training_ops.cc, ApplyRMSProp and ApplyCenteredRMSProp (the mean of
// squares starts at one). Epsilon is inside the root in both.
#include <cmath>

#include "optimizers.hpp"

namespace tfd::variable {
namespace {

// What Keras keeps depends on its settings; the loops are told apart outside of them.
struct Rmsprop {
  double rho, momentum, epsilon;
  bool centered;

  std::vector<Slot> slots() const {
    std::vector<Slot> all{{"velocity"}};
    if (momentum > 0) all.push_back({"momentum"});
    if (centered) all.push_back({"average_gradient"});
    return all;
  }

  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& m) const {
    if (momentum > 0)
      centered ? run<T, true, true>(e, m) : run<T, true, false>(e, m);
    else
      centered ? run<T, false, true>(e, m) : run<T, false, false>(e, m);
  }

 private:
  template <class T, bool kMomentum, bool kCentered>
  void run(const Elements<T>& e, const Moment<T>& moment) const {
    const T rate = moment.rate, keep = static_cast<T>(rho), take = static_cast<T>(1 - rho);
    const T small = static_cast<T>(epsilon), pull = static_cast<T>(momentum);
    const auto [w, w_out] = e.value;
    const auto [v, v_out] = e.slots[0];
    const auto [m, m_out] = e.slots[1];
    const auto [a, a_out] = e.slots[kMomentum ? 2 : 1];
    const T* g = e.gradient;
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) {
      const T square = keep * v[i] + take * (g[i] * g[i]);
      v_out[i] = square;
      T below = square + small;
      if constexpr (kCentered) {
        const T average = keep * a[i] + take * g[i];
        a_out[i] = average;
        below = square - average * average + small;
      }
      T step = rate * g[i] / std::sqrt(below);
      if constexpr (kMomentum) {
        step = pull * m[i] + step;
        m_out[i] = step;
      }
      w_out[i] = w[i] - step;
    }
  }
};

struct RmspropV1 {
  double decay, momentum, epsilon;
  bool centered;

  std::vector<Slot> slots() const {
    std::vector<Slot> all{{"rms", 1}, {"momentum"}};
    if (centered) all.push_back({"mg"});
    return all;
  }

  template <class T>
  void operator()(const Elements<T>& e, const Moment<T>& m) const {
    centered ? run<T, true>(e, m) : run<T, false>(e, m);
  }

 private:
  template <class T, bool kCentered>
  void run(const Elements<T>& e, const Moment<T>& moment) const {
    const T rate = moment.rate, take = T(1) - static_cast<T>(decay);
    const T small = static_cast<T>(epsilon), pull = static_cast<T>(momentum);
    const auto [w, w_out] = e.value;
    const auto [v, v_out] = e.slots[0];
    const auto [m, m_out] = e.slots[1];
    const auto [a, a_out] = e.slots[2];
    const T* g = e.gradient;
#pragma omp simd
    for (std::int64_t i = 0; i < e.count; ++i) {
      const T square = v[i] + (g[i] * g[i] - v[i]) * take;
      v_out[i] = square;
      T below = square + small;
      if constexpr (kCentered) {
        const T average = a[i] + (g[i] - a[i]) * take;
        a_out[i] = average;
        below = square - average * average + small;
      }
      const T step = m[i] * pull + (g[i] * rate) / std::sqrt(below);
      m_out[i] = step;
      w_out[i] = w[i] - step;
    }
  }
};

constexpr Setting kRmspropSettings[]{number("rho", 0.9, kUnitInterval), number("momentum", 0, kUnitInterval),
                                     number("epsilon", 1e-7, kNotNegative), flag("centered")};
constexpr Setting kRmspropSettingsV1[]{number("decay", 0.9, kUnitInterval), number("momentum", 0, kNotNegative),
                                       number("epsilon", 1e-10, kNotNegative), flag("centered")};
constexpr std::string_view kRmspropSlots[]{"velocity", "momentum", "average_gradient"};
constexpr std::string_view kRmspropSlotsV1[]{"rms", "momentum", "mg"};

std::unique_ptr<const Rule> make_rmsprop(const Values& values) {
  return std::make_unique<RuleOf<Rmsprop>>(
      Rmsprop{values["rho"], values["momentum"], values["epsilon"], values.flag("centered")});
}
std::unique_ptr<const Rule> make_rmsprop_v1(const Values& values) {
  return std::make_unique<RuleOf<RmspropV1>>(
      RmspropV1{values["decay"], values["momentum"], values["epsilon"], values.flag("centered")});
}

}  // namespace

const OptimizerInfo kRmsprop{"rmsprop",        false, "rmsprop",   0.001, kRmspropSettings, kRmspropSlots,
                             OtherRows::kMove, 0,     make_rmsprop};
const OptimizerInfo kRmspropV1{"rmsprop",        true, "rmsprop_v1",   -1, kRmspropSettingsV1, kRmspropSlotsV1,
                               OtherRows::kRest, 0,    make_rmsprop_v1};

}  // namespace tfd::variable
