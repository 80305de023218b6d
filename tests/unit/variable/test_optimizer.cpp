// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "keras_cases.hpp"
#include "tensors.hpp"
#include "tfd/variable/optimizer.hpp"

using namespace tfd;
using namespace tfd::variable;
using namespace tfd::variable::test;
using tensor::DType;
using tensor::Tensor;

namespace {

Error error_of(const std::string& text) {
  auto made = make_optimizer(nlohmann::ordered_json::parse(text));
  REQUIRE_FALSE(made.has_value());
  return made.error();
}

// Units in the last place between two finite floats of the same sign.
std::int64_t ulps(float a, float b) {
  return std::abs(static_cast<std::int64_t>(std::bit_cast<std::int32_t>(a)) - std::bit_cast<std::int32_t>(b));
}

}  // namespace

TEST_CASE("optimizer: agrees with Keras within 2 ulp in float32") {
  for (const KerasCase& c : kKerasCases) {
    CAPTURE(c.name);
    const auto optimizer = optimizer_of(c.optimizer);
    std::vector<VariableState> states;
    for (std::size_t p = 0; p < c.parameters.size(); ++p)
      states.push_back({"p" + std::to_string(p), floats(c.parameters[p]), {}, 0});
    for (std::size_t s = 0; s < c.steps.size(); ++s) {
      for (std::size_t p = 0; p < states.size(); ++p) {
        REQUIRE(optimizer->apply(states[p], floats(c.steps[s].gradients[p])));
        CHECK(states[p].updates == static_cast<std::int64_t>(s) + 1);
        for (std::size_t i = 0; i < c.steps[s].bits[p].size(); ++i) {
          const float want = std::bit_cast<float>(c.steps[s].bits[p][i]);
          CAPTURE(s);
          CHECK_MESSAGE(ulps(states[p].value.as<float>()[i], want) <= 2, states[p].value.as<float>()[i], " is not ",
                        want);
        }
      }
    }
    std::size_t slots = 0;
    for (const VariableState& state : states) {
      for (const auto& [name, slot] : state.slots) {
        for (const auto& [wanted, values] : c.slots) {
          if (wanted != state.name + "_" + name) continue;
          ++slots;
          // Slots are sums of terms that nearly cancel: two ulp of the largest term, 0.1.
          for (std::size_t i = 0; i < values.size(); ++i) CHECK(std::abs(slot.as<float>()[i] - values[i]) < 1.5e-8F);
        }
      }
    }
    CHECK(slots == c.slots.size());
  }
}

TEST_CASE("optimizer: updates f64 variables with f64 settings") {
  VariableState state{"w", vector_of<double>(DType::kF64, {1.0}), {}, 0};
  REQUIRE(optimizer_of(R"({"sgd": {"learning_rate": 0.1}})")->apply(state, vector_of<double>(DType::kF64, {0.3})));
  CHECK(state.value.as<double>()[0] == 1.0 - 0.3 * 0.1);
  VariableState adam{"w", vector_of<double>(DType::kF64, {1.0}), {}, 0};
  REQUIRE(optimizer_of(R"({"adam": {"learning_rate": 0.1}})")->apply(adam, vector_of<double>(DType::kF64, {0.3})));
  CHECK(std::abs(adam.value.as<double>()[0] - 0.9) < 1e-5);  // the first step is the learning rate
}

TEST_CASE("optimizer: writes in place for the sole owner, and into fresh buffers where somebody reads") {
  for (const char* text : {R"({"sgd": {}})", R"({"sgd": {"momentum": 0.9}})",
                           R"({"sgd": {"momentum": 0.9, "nesterov": true}})", R"({"adam": {}})"}) {
    CAPTURE(text);
    const auto optimizer = optimizer_of(text);
    VariableState state{"w", floats(std::vector<float>(37, 1.0F)), {}, 0};
    const Tensor gradient = floats(std::vector<float>(37, 0.5F));
    optimizer->prepare(state);
    const std::byte* value = state.value.data();
    std::vector<const std::byte*> slots;
    for (const auto& [name, slot] : state.slots) slots.push_back(slot.data());
    REQUIRE(optimizer->apply(state, gradient));
    CHECK(state.value.data() == value);
    for (std::size_t i = 0; i < slots.size(); ++i) CHECK(state.slots[i].second.data() == slots[i]);

    const VariableState reader = state;
    const std::vector<float> before(reader.value.as<float>().begin(), reader.value.as<float>().end());
    VariableState alone{"w", floats(before), {}, state.updates};
    for (const auto& [name, slot] : state.slots)
      alone.slots.emplace_back(name, floats({slot.as<float>().begin(), slot.as<float>().end()}));
    REQUIRE(optimizer->apply(state, gradient));
    REQUIRE(optimizer->apply(alone, gradient));
    CHECK(state.value.data() != value);
    CHECK(std::equal(before.begin(), before.end(), reader.value.as<float>().begin()));
    CHECK(same_bytes(state.value, alone.value));
    for (std::size_t i = 0; i < slots.size(); ++i) {
      CHECK(state.slots[i].second.data() != slots[i]);
      CHECK(same_bytes(state.slots[i].second, alone.slots[i].second));
    }
  }
}

TEST_CASE("optimizer: refuses a gradient of another dtype or shape, and leaves the variable as it was") {
  const auto optimizer = optimizer_of(R"({"adam": {}})");
  VariableState state{"w", floats({1, 2}), {}, 0};
  auto result = optimizer->apply(state, floats({1, 2, 3}));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Code::kInvalidArgument);
  CHECK(result.error().message == "the gradient of 'w' is f32[3], but the variable is f32[2]");
  CHECK_FALSE(optimizer->apply(state, vector_of<double>(DType::kF64, {1, 2})));
  CHECK(state.updates == 0);
  CHECK(state.slots.empty());
  VariableState count{"n", vector_of<std::int32_t>(DType::kS32, {1}), {}, 0};
  result = optimizer->apply(count, vector_of<std::int32_t>(DType::kS32, {1}));
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "variable 'n' is s32[1]: an optimizer updates floating-point numbers only");
}

TEST_CASE("optimizer: an empty variable is fine") {
  VariableState state{"w", Tensor::zeros(DType::kF32, {0, 3}), {}, 0};
  REQUIRE(optimizer_of(R"({"adam": {}})")->apply(state, Tensor::zeros(DType::kF32, {0, 3})));
  CHECK(state.updates == 1);
}

TEST_CASE("optimizer: reads its settings, and names what is wrong with them") {
  CHECK(optimizer_of(R"({"sgd": {}})")->learning_rate() == 0.01);
  CHECK(optimizer_of(R"({"adam": {}})")->learning_rate() == 0.001);
  CHECK(optimizer_of(R"({"adam": {"learning_rate": 0}})")->learning_rate() == 0);
  CHECK(error_of(R"({"adam": {"beta_3": 0.9}})").message == "adam.beta_3: unknown key, did you mean 'beta_1'?");
  CHECK(error_of(R"({"sgd": {"momentum": 1.5}})").message == "sgd.momentum: must be within [0, 1], not 1.5");
  CHECK(error_of(R"({"sgd": {"momentum": -0.1}})").message == "sgd.momentum: must be within [0, 1], not -0.1");
  CHECK(error_of(R"({"sgd": {"learning_rate": -1}})").message ==
        "sgd.learning_rate: must be a finite number >= 0, or a schedule, not -1");
  CHECK(error_of(R"({"sgd": {"learning_rate": "NaN"}})").message ==
        "sgd.learning_rate: must be a finite number >= 0, or a schedule, not \"NaN\"");
  CHECK(error_of(R"({"sgd": {"nesterov": 1}})").message == "sgd.nesterov: must be true or false, not a number");
  CHECK(error_of(R"({"sgd": {"learning_rat": 1}})").message ==
        "sgd.learning_rat: unknown key, did you mean 'learning_rate'?");
  CHECK(error_of(R"({"adam": {"beta_1": 1}})").message == "adam.beta_1: must be within [0, 1), not 1");
  CHECK(error_of(R"({"adam": 0.1})").message == "adam: must be an object, not a number");
  CHECK(error_of(R"({"adma": {}})").message == "adma: no such optimizer, did you mean 'adam'?");
  CHECK(
      error_of(R"({"adafactor": {}})").message.starts_with("adafactor: no such optimizer (available: sgd, adagrad, "));
  CHECK(error_of(R"({"adamax": {"v1": true}})").message == "adamax.v1: tf.compat.v1 has no such optimizer");
  CHECK(error_of(R"({"sgd": {"v1": true}})").message == "sgd.learning_rate: is missing");
  CHECK(error_of(R"({"adam": {"v1": true, "beta_1": 0.5}})").message ==
        "adam.beta_1: unknown key, did you mean 'beta1'?");
  CHECK(error_of(R"({"sgd": {"clipvalue": 1, "clipnorm": 2.5}})").message ==
        "sgd: sets clipnorm (2.5) and clipvalue (1), but may set only one of them");
  CHECK(error_of(R"({"sgd": {"gradient_accumulation_steps": 1}})").message ==
        "sgd.gradient_accumulation_steps: must be at least 2, not 1");
  CHECK(error_of(R"({"sgd": {"ema_momentum": 1.5}})").message == "sgd.ema_momentum: must be within [0, 1], not 1.5");
  CHECK(error_of(R"({"sgd": {"loss_scale_factor": 2}})").message == "sgd.loss_scale_factor: is called loss_scale here");
  CHECK(error_of(R"({"sgd": {"groups": {"enc/*": {"momentun": 0.5}}}})").message ==
        "sgd.groups.enc/*.momentun: unknown key, did you mean 'momentum'?");
  CHECK(error_of(R"({"sgd": {"groups": {"": {}}}})").message == "sgd.groups: a group needs a pattern");
  CHECK(error_of(R"({"sgd": {"groups": {"a": {"use_ema": true}}}})").code == Code::kInvalidArgument);
  CHECK(error_of(R"({"sgd": {"learning_rate": {"exponential_deacy": {}}}})").message ==
        "sgd.learning_rate.exponential_deacy: no such schedule, did you mean 'exponential_decay'?");
  CHECK(error_of(R"({"sgd": {"learning_rate": {"cosine_decay": {"initial_learning_rate": 1}}}})").message ==
        "sgd.learning_rate.cosine_decay.decay_steps: is missing");
  CHECK(error_of(
            R"({"sgd": {"learning_rate": {"piecewise_constant_decay": {"boundaries": [5, 2], "values": [1, 2, 3]}}}})")
            .message == "sgd.learning_rate.piecewise_constant_decay.boundaries: must ascend");
  CHECK(error_of(R"({"sgd": {"learning_rate": {"piecewise_constant_decay": {"boundaries": [5], "values": [1]}}}})")
            .message == "sgd.learning_rate.piecewise_constant_decay.values: 1 boundaries need 2 values, not 1");
  CHECK(optimizer_of(R"({"adam": {"clipnorm": null, "weight_decay": null, "gradient_accumulation_steps": null}})"));
  CHECK(error_of(R"({"sgd": {}, "adam": {}})").code == Code::kInvalidArgument);
  CHECK(error_of(R"("sgd")").code == Code::kInvalidArgument);
}
