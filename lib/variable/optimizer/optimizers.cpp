// SPDX-License-Identifier: Apache-2.0
#include "optimizers.hpp"

#include <algorithm>

namespace tfd::variable {
namespace {

using tensor::kAnyNumber;
using tensor::kBelowOne;
using tensor::kNotNegative;
using tensor::kNotPositive;
using tensor::kPositive;
using tensor::kUnitInterval;
using tensor::NumberRange;

constexpr Setting number(std::string_view name, double initial, NumberRange range) { return {name, initial, range}; }
constexpr Setting flag(std::string_view name) { return {name, 0, kAnyNumber, true}; }

template <bool kV1>
Rule make_sgd(const Values& values) {
  const double momentum = values["momentum"];
  if (momentum == 0) return {formulas::Sgd(), {}};  // whatever nesterov says, as in Keras
  if (values[kV1 ? "use_nesterov" : "nesterov"] != 0) return {formulas::Momentum<true, kV1>{momentum}, values.slots(1)};
  return {formulas::Momentum<false, kV1>{momentum}, values.slots(1)};
}
constexpr Setting kSgd[]{number("momentum", 0, kUnitInterval), flag("nesterov")};
constexpr Setting kSgdV1[]{number("momentum", 0, kNotNegative), flag("use_nesterov")};
constexpr std::string_view kSgdSlots[]{"momentum"};

template <bool kV1>
Rule make_adagrad(const Values& values) {
  return {formulas::Adagrad{kV1 ? 0 : values["epsilon"]}, values.slots(1, values["initial_accumulator_value"])};
}
constexpr Setting kAdagrad[]{number("initial_accumulator_value", 0.1, kNotNegative),
                             number("epsilon", 1e-7, kNotNegative)};
constexpr Setting kAdagradV1[]{number("initial_accumulator_value", 0.1, kPositive)};
constexpr std::string_view kAdagradSlots[]{"accumulator"};

template <bool kV1>
Rule make_adadelta(const Values& values) {
  return {formulas::Adadelta<kV1>{values["rho"], values["epsilon"]}, values.slots(2)};
}
constexpr Setting kAdadelta[]{number("rho", 0.95, kUnitInterval), number("epsilon", 1e-7, kNotNegative)};
constexpr Setting kAdadeltaV1[]{number("rho", 0.95, kUnitInterval), number("epsilon", 1e-8, kNotNegative)};
constexpr std::string_view kAdadeltaSlots[]{"accumulated_grad", "accumulated_delta_var"};
constexpr std::string_view kAdadeltaSlotsV1[]{"accum", "accum_update"};

Rule make_adam(const Values& values) {
  const double beta_1 = values["beta_1"], beta_2 = values["beta_2"], epsilon = values["epsilon"];
  const bool corrected = values["corrected_epsilon"] != 0;
  if (values["amsgrad"] != 0) return {formulas::Adam<true>{beta_1, beta_2, epsilon, false, corrected}, values.slots(3)};
  return {formulas::Adam<false>{beta_1, beta_2, epsilon, false, corrected}, values.slots(2)};
}
Rule make_adam_v1(const Values& values) {
  return {formulas::Adam<false>{values["beta1"], values["beta2"], values["epsilon"], true, false}, values.slots(2)};
}
// A beta_1 of 1 would divide by zero.
constexpr Setting kAdam[]{number("beta_1", 0.9, kBelowOne), number("beta_2", 0.999, kBelowOne),
                          number("epsilon", 1e-7, kNotNegative), flag("amsgrad"), flag("corrected_epsilon")};
constexpr Setting kAdamV1[]{number("beta1", 0.9, kBelowOne), number("beta2", 0.999, kBelowOne),
                            number("epsilon", 1e-8, kNotNegative)};
constexpr std::string_view kAdamSlots[]{"momentum", "velocity", "velocity_hat"};
constexpr std::string_view kAdamSlotsV1[]{"m", "v"};

template <class F>
Rule make_of_betas(const Values& values) {
  return {F{values["beta_1"], values["beta_2"], values["epsilon"]}, values.slots(2)};
}
constexpr std::span kBetas = std::span(kAdam).first(3);
constexpr std::string_view kAdamaxSlots[]{"momentum", "norm"};
constexpr std::string_view kNadamSlots[]{"momentum", "velocity"};

/// The slots that Keras keeps depend on its settings.
Rule make_rmsprop(const Values& values) {
  const double rho = values["rho"], momentum = values["momentum"], epsilon = values["epsilon"];
  std::vector<Slot> slots = values.slots(values["centered"] != 0 ? 3 : 2);
  if (momentum > 0 && values["centered"] != 0)
    return {formulas::Rmsprop<true, true, false>{rho, momentum, epsilon}, slots};
  if (momentum > 0) return {formulas::Rmsprop<true, false, false>{rho, momentum, epsilon}, slots};
  slots.erase(slots.begin() + 1);
  if (values["centered"] != 0) return {formulas::Rmsprop<false, true, false>{rho, momentum, epsilon}, slots};
  return {formulas::Rmsprop<false, false, false>{rho, momentum, epsilon}, slots};
}
/// The mean of squares starts at one.
Rule make_rmsprop_v1(const Values& values) {
  const double decay = values["decay"], momentum = values["momentum"], epsilon = values["epsilon"];
  if (values["centered"] != 0)
    return {formulas::Rmsprop<true, true, true>{decay, momentum, epsilon}, values.slots(3, 1)};
  return {formulas::Rmsprop<true, false, true>{decay, momentum, epsilon}, values.slots(2, 1)};
}
constexpr Setting kRmsprop[]{number("rho", 0.9, kUnitInterval), number("momentum", 0, kUnitInterval),
                             number("epsilon", 1e-7, kNotNegative), flag("centered")};
constexpr Setting kRmspropV1[]{number("decay", 0.9, kUnitInterval), number("momentum", 0, kNotNegative),
                               number("epsilon", 1e-10, kNotNegative), flag("centered")};
constexpr std::string_view kRmspropSlots[]{"velocity", "momentum", "average_gradient"};
constexpr std::string_view kRmspropSlotsV1[]{"rms", "momentum", "mg"};

Rule make_ftrl(const Values& values) {
  const auto make = [&]<class F>(F) -> Rule {
    return {F{values["learning_rate_power"], values["l1_regularization_strength"], values["l2_regularization_strength"],
              values["l2_shrinkage_regularization_strength"], values["beta"]},
            values.slots(2, values["initial_accumulator_value"])};
  };
  return values["learning_rate_power"] == -0.5 ? make(formulas::Ftrl<true>()) : make(formulas::Ftrl<false>());
}
constexpr Setting kFtrl[]{number("learning_rate_power", -0.5, kNotPositive),
                          number("initial_accumulator_value", 0.1, kNotNegative),
                          number("l1_regularization_strength", 0, kNotNegative),
                          number("l2_regularization_strength", 0, kNotNegative),
                          number("l2_shrinkage_regularization_strength", 0, kNotNegative),
                          number("beta", 0, kAnyNumber)};
constexpr std::string_view kFtrlSlots[]{"accumulator", "linear"};
constexpr std::string_view kFtrlSlotsV1[]{"accum", "linear"};

Rule make_lion(const Values& values) { return {formulas::Lion{values["beta_1"], values["beta_2"]}, values.slots(1)}; }
// beta_1 is within (0, 1] in Keras.
constexpr NumberRange kAboveZero{0x1p-1074, 1, "within (0, 1]"};
constexpr Setting kLion[]{number("beta_1", 0.9, kAboveZero), number("beta_2", 0.99, kUnitInterval)};
constexpr std::string_view kLionSlots[]{"momentum"};

template <class T, class F, std::size_t... kSlot>
void update_of(const F& formula, const Elements<T>& e, const Iteration<T>& now, std::index_sequence<kSlot...>) {
  for_elements(e.count, [e, scalars = formula.scalars(now)](std::int64_t i) {
    T w = e.value.in[i];
    std::array<T, sizeof...(kSlot)> slots{e.slots[kSlot].in[i]...};
    F::step(w, e.gradient[i], slots, scalars);
    e.value.out[i] = w;
    ((e.slots[kSlot].out[i] = slots[kSlot]), ...);
  });
}

}  // namespace

template <class T>
void update(const Formula& formula, const Elements<T>& elements, const Iteration<T>& now) {
  std::visit([&]<class F>(const F& chosen) { update_of(chosen, elements, now, std::make_index_sequence<F::kSlots>()); },
             formula);
}
template void update(const Formula&, const Elements<float>&, const Iteration<float>&);
template void update(const Formula&, const Elements<double>&, const Iteration<double>&);

double Values::operator[](std::string_view name) const {
  const auto found = std::ranges::find(info_->settings, name, &Setting::name);
  return numbers_[static_cast<std::size_t>(found - info_->settings.begin())];
}

std::vector<Slot> Values::slots(std::size_t count, double initial) const {
  std::vector<Slot> out;
  for (const std::string_view name : info_->slots.first(count)) out.push_back({name, out.empty() ? initial : 0});
  return out;
}

// clang-format off
constexpr auto kTable = std::to_array<OptimizerInfo>({
    {"sgd", false, "sgd", 0.01, kSgd, kSgdSlots, OtherRows::kMove, 0, make_sgd<false>},
    {"sgd", true, "sgd_v1", -1, kSgdV1, kSgdSlots, OtherRows::kRest, 0, make_sgd<true>},
    {"adagrad", false, "adagrad", 0.001, kAdagrad, kAdagradSlots, OtherRows::kRest, 0, make_adagrad<false>},
    {"adagrad", true, "adagrad_v1", -1, kAdagradV1, kAdagradSlots, OtherRows::kRest, 0, make_adagrad<true>},
    {"adadelta", false, "adadelta", 0.001, kAdadelta, kAdadeltaSlots, OtherRows::kMove, 0, make_adadelta<false>},
    {"adadelta", true, "adadelta_v1", 0.001, kAdadeltaV1, kAdadeltaSlotsV1, OtherRows::kRest, 0, make_adadelta<true>},
    {"adam", false, "adam", 0.001, kAdam, kAdamSlots, OtherRows::kMove, 0, make_adam},
    {"adam", true, "adam_v1", 0.001, kAdamV1, kAdamSlotsV1, OtherRows::kMove, 0, make_adam_v1},
    {"adamw", false, "adam", 0.001, kAdam, kAdamSlots, OtherRows::kMove, 0.004, make_adam},
    {"adamax", false, "adamax", 0.001, kBetas, kAdamaxSlots, OtherRows::kMove, 0, make_of_betas<formulas::Adamax>},
    {"nadam", false, "nadam", 0.001, kBetas, kNadamSlots, OtherRows::kMove, 0, make_of_betas<formulas::Nadam>},
    {"rmsprop", false, "rmsprop", 0.001, kRmsprop, kRmspropSlots, OtherRows::kMove, 0, make_rmsprop},
    {"rmsprop", true, "rmsprop_v1", -1, kRmspropV1, kRmspropSlotsV1, OtherRows::kRest, 0, make_rmsprop_v1},
    {"ftrl", false, "ftrl", 0.001, kFtrl, kFtrlSlots, OtherRows::kMove, 0, make_ftrl},
    {"ftrl", true, "ftrl_v1", -1, kFtrl, kFtrlSlotsV1, OtherRows::kRest, 0, make_ftrl},
    {"lion", false, "lion", 0.001, kLion, kLionSlots, OtherRows::kMove, 0, make_lion},
});
// clang-format on
constinit const std::span<const OptimizerInfo> kOptimizers(kTable);

}  // namespace tfd::variable
