// SPDX-License-Identifier: Apache-2.0
//
// Optimizers on f16 and bf16 variables: an update is that of an f32 variable with the same numbers, rounded to nearest,
// ties to even; the slots are f32.
#include <cmath>

#include "optimizer/optimizers.hpp"
#include "tensors.hpp"
#include "tfd/variable/store.hpp"

using namespace tfd;
using namespace tfd::variable;
using namespace tfd::variable::test;
using tensor::DType;
using tensor::Tensor;

namespace {

struct HalfType {
  DType dtype;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
};
constexpr HalfType kHalves[]{{DType::kBF16, tensor::bfloat16_to_float, tensor::float_to_bfloat16},
                             {DType::kF16, tensor::half_to_float, tensor::float_to_half}};

Tensor halves(const HalfType& type, const std::vector<float>& values, tensor::Shape shape) {
  std::vector<std::uint16_t> bits;
  for (const float x : values) bits.push_back(type.narrow(x));
  return tensor_of(type.dtype, bits, std::move(shape));
}
std::vector<float> widened(const HalfType& type, const Tensor& value) {
  std::vector<float> out;
  for (const std::uint16_t bits : value.as<std::uint16_t>()) out.push_back(type.widen(bits));
  return out;
}
/// The values of these floats after they have been stored.
std::vector<float> rounded(const HalfType& type, std::vector<float> values) {
  for (float& x : values) x = type.widen(type.narrow(x));
  return values;
}

/// 20 000 numbers: more than two blocks of an update, and a rest.
std::vector<float> numbers(float scale) {
  std::vector<float> out(20000);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = scale * std::sin(static_cast<float>(i) * 0.37F);
  return out;
}

std::string settings(const OptimizerInfo& info, const std::string& more = "") {
  return fmt::format(R"({{"{}": {{"v1": {}, "learning_rate": 0.1{}}}}})", info.name, info.v1, more);
}

void check_same_slots(const VariableState& half, const VariableState& full) {
  REQUIRE(half.slots.size() == full.slots.size());
  for (std::size_t i = 0; i < full.slots.size(); ++i) {
    CHECK(half.slots[i].first == full.slots[i].first);
    CHECK(same_bytes(half.slots[i].second, full.slots[i].second));
  }
}

}  // namespace

TEST_CASE("half: every optimizer updates as in f32 and rounds the value once per update") {
  const tensor::Shape shape{20000};
  for (const HalfType& type : kHalves)
    for (const OptimizerInfo& info : kOptimizers)
      for (const char* more : {"", R"(, "weight_decay": 0.01)", R"(, "gradient_accumulation_steps": 2)"}) {
        CAPTURE(tensor::dtype_name(type.dtype));
        CAPTURE(settings(info, more));
        const auto optimizer = optimizer_of(settings(info, more));
        VariableState half{"w", halves(type, numbers(2), shape), {}};
        VariableState full{"w", floats(rounded(type, numbers(2))), {}};
        for (const float scale : {0.5F, -0.25F, 0.03F, 1.0F}) {
          const Tensor gradient = halves(type, numbers(scale), shape);
          REQUIRE(optimizer->apply(half, gradient));
          REQUIRE(optimizer->apply(full, floats(widened(type, gradient))));
          full.value = floats(rounded(type, values_of(full.value)));
          REQUIRE(widened(type, half.value) == values_of(full.value));
        }
        CHECK(half.value.dtype() == type.dtype);
        CHECK(half.updates == full.updates);
        check_same_slots(half, full);
      }
}

TEST_CASE("half: a step that is less than half a unit in the last place is lost, and a tie goes to the even one") {
  const auto optimizer = optimizer_of(R"({"sgd": {"learning_rate": 1}})");
  const HalfType& bf16 = kHalves[0];  // 1, then 1 + 2^-7, 1 + 2^-6
  VariableState state{"w", halves(bf16, {1, 1, 1 + 0x1p-7F, 1}, {4}), {}};
  REQUIRE(optimizer->apply(state, halves(bf16, {-0x1.FEp-9F, -0x1p-8F, -0x1p-8F, -0x1.02p-8F}, {4})));
  CHECK(widened(bf16, state.value) == std::vector<float>{1, 1, 1 + 0x1p-6F, 1 + 0x1p-7F});
}

TEST_CASE("half: Adam's moments move where the half type's would stand still") {
  // In bf16 a velocity of 1 can't lose a thousandth of itself: after a gradient of 1, zeros let it be. In f32 it fades.
  const auto optimizer = optimizer_of(R"({"adam": {"learning_rate": 0.1}})");
  VariableState state{"w", halves(kHalves[0], {1}, {1}), {}};
  REQUIRE(optimizer->apply(state, halves(kHalves[0], {1}, {1})));
  const float before = state.slots[1].second.as<float>()[0];
  REQUIRE(optimizer->apply(state, halves(kHalves[0], {0}, {1})));
  CHECK(state.slots[1].second.as<float>()[0] == doctest::Approx(before * 0.999F).epsilon(1e-6));
}

TEST_CASE("half: gradients of rows are the dense ones, and duplicates are added up before they are rounded") {
  for (const HalfType& type : kHalves)
    for (const OptimizerInfo& info : kOptimizers)
      for (const char* more : {"", R"(, "lazy_rows": true)"}) {
        if (info.v1 && info.other_rows == OtherRows::kRest) continue;
        CAPTURE(tensor::dtype_name(type.dtype));
        CAPTURE(settings(info, more));
        const auto optimizer = optimizer_of(settings(info, more));
        const std::vector<float> start = rounded(type, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
        VariableState half{"t", halves(type, start, {5, 2}), {}}, full{"t", floats(start, {5, 2}), {}};
        for (int step = 0; step < 3; ++step) {
          REQUIRE(optimizer->apply_rows(half, {ids({3, 1, 3}), halves(type, {1, 2, 3, 4, 5, 6}, {3, 2})}));
          REQUIRE(optimizer->apply_rows(full, {ids({3, 1, 3}), floats({1, 2, 3, 4, 5, 6}, {3, 2})}));
          full.value = floats(rounded(type, values_of(full.value)), {5, 2});
          REQUIRE(widened(type, half.value) == values_of(full.value));
        }
        check_same_slots(half, full);
      }
  // 256 + 1 is 256 in bf16, so one by one nothing would be added.
  const auto summed = sum_duplicates({ids({4, 4, 4}), halves(kHalves[0], {256, 1, 1}, {3, 1})});
  REQUIRE(summed);
  CHECK(summed->values.dtype() == DType::kBF16);
  CHECK(widened(kHalves[0], summed->values) == std::vector<float>{258});
}

TEST_CASE("half: averages are kept in f32, and become the value") {
  const HalfType& bf16 = kHalves[0];
  const auto optimizer = optimizer_of(R"({"sgd": {"learning_rate": 1, "use_ema": true, "ema_momentum": 0.5}})");
  VariableState state{"w", halves(bf16, {4}, {1}), {}};
  for (int step = 0; step < 3; ++step) REQUIRE(optimizer->apply(state, halves(bf16, {1}, {1})));  // 3, 2, 1
  CHECK(state.slots.at(0).second.spec() == tensor::TensorSpec{DType::kF32, {1}});
  CHECK(values_of(state.slots[0].second) == std::vector<float>{1.75F});
  CHECK(widened(bf16, state.value) == std::vector<float>{1});
  optimizer->use_average(state);
  CHECK(state.value.dtype() == DType::kBF16);
  CHECK(widened(bf16, state.value) == std::vector<float>{1.75F});
  const auto overwriting = optimizer_of(
      R"({"sgd": {"learning_rate": 1, "use_ema": true, "ema_momentum": 0.5, "ema_overwrite_frequency": 2}})");
  VariableState other{"w", halves(bf16, {4}, {1}), {}};
  for (int step = 0; step < 2; ++step) REQUIRE(overwriting->apply(other, halves(bf16, {1}, {1})));
  CHECK(widened(bf16, other.value) == std::vector<float>{2.5F});
}

TEST_CASE("half: gradients are clipped in f32 and stay of their type") {
  const HalfType& bf16 = kHalves[0];
  const std::vector<std::string> names{"a", "b"};
  const auto clip = [&](const std::string& how) {
    std::vector<Tensor> gradients{halves(bf16, {3, -4}, {2}), floats({12})};
    REQUIRE(optimizer_of(R"({"sgd": {"learning_rate": 1, )" + how + "}}")->clip(names, gradients));
    CHECK(gradients[0].spec() == tensor::TensorSpec{DType::kBF16, {2}});
    CHECK(gradients[1].dtype() == DType::kF32);
    auto out = widened(bf16, gradients[0]);
    out.push_back(gradients[1].as<float>()[0]);
    return out;
  };
  CHECK(clip(R"("global_clipnorm": 6.5)") == std::vector<float>{1.5F, -2, 6});
  CHECK(clip(R"("clipnorm": 2.5)") == std::vector<float>{1.5F, -2, 2.5F});
  CHECK(clip(R"("clipvalue": 3.5)") == std::vector<float>{3, -3.5F, 3.5F});
}

TEST_CASE("half: a store updates them exactly once, and their state goes on elsewhere") {
  const HalfType& bf16 = kHalves[0];
  const auto optimizer = optimizer_of(R"({"adam": {"learning_rate": 0.1}})");
  VariableStore first, second;
  for (VariableStore* store : {&first, &second}) {
    store->set_optimizer(optimizer);
    REQUIRE(store->create("w", halves(bf16, {1, 2}, {2})));
  }
  const auto push = [&](VariableStore& store, std::uint64_t sequence) {
    const auto applied = store.apply(sequence, {{UpdateKind::kGradient, "w", halves(bf16, {0.5F, -1}, {2})}});
    if (!applied) FAIL(applied.error().message);
    return *applied;
  };
  CHECK(push(first, 0));
  CHECK_FALSE(push(first, 0));
  REQUIRE(second.import_state(first.export_state()));
  CHECK(push(first, 1));
  CHECK(push(second, 1));
  CHECK(same_bytes(*first.read("w"), *second.read("w")));
  CHECK(first.byte_size() == 2 * 2 + 2 * 2 * 4);
  const auto wrong = first.apply(2, {{UpdateKind::kGradient, "w", floats({1, 1})}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message == "the gradient of 'w' is f32[2], but the variable is bf16[2]");
  // Slots of the variable's own type are another program's.
  auto state = first.export_state();
  for (auto& [name, value] : state)
    if (name == "w/.optimizer/adam/velocity") value = halves(bf16, {1, 1}, {2});
  CHECK_FALSE(second.import_state(state));
}
