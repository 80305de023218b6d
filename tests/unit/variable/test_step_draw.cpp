// SPDX-License-Identifier: Apache-2.0
//
// Random numbers of a step: the same for the same step, others for any other, evenly spread.
#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "tfd/variable/step_draw.hpp"

namespace tfd::variable {
namespace {

using tensor::DType;
using tensor::Tensor;
using tensor::TensorSpec;

std::vector<std::uint32_t> words(const StepDraw& draw, std::int64_t count = 2) {
  const auto drawn = draw_for_step({DType::kU32, {count}}, draw);
  REQUIRE(drawn);
  return {drawn->as<std::uint32_t>().begin(), drawn->as<std::uint32_t>().end()};
}

}  // namespace

TEST_CASE("step draw: is a function of seed, function, input, step and replica, and of nothing else") {
  const StepDraw draw{.seed = 7, .function = "step", .number = 3};
  CHECK(words(draw) == words(draw));
  std::set<std::vector<std::uint32_t>> all{words(draw)};
  const auto is_new = [&](auto change) {
    StepDraw other = draw;
    change(other);
    return all.insert(words(other)).second;
  };
  CHECK(is_new([](StepDraw& d) { d.seed = 8; }));
  CHECK(is_new([](StepDraw& d) { d.seed += std::uint64_t{1} << 32; }));
  CHECK(is_new([](StepDraw& d) { d.function = "other"; }));
  CHECK(is_new([](StepDraw& d) { d.input = 1; }));
  CHECK(is_new([](StepDraw& d) { d.replica = 1; }));
  CHECK(is_new([](StepDraw& d) { d.is_closure = true; }));
  for (std::uint64_t number = 4; number < 1004; ++number) CHECK(is_new([&](StepDraw& d) { d.number = number; }));
  CHECK(is_new([](StepDraw& d) { d.number = std::uint64_t{3} << 32; }));
}

TEST_CASE("step draw: a longer one starts with a shorter one, and the values stay those of this version") {
  const StepDraw draw{.seed = 7, .function = "step", .number = 3};
  const auto few = words(draw, 2), many = words(draw, 9);
  CHECK(std::equal(few.begin(), few.end(), many.begin()));
  CHECK(few == std::vector<std::uint32_t>{634875547U, 2666010156U});
}

TEST_CASE("step draw: floating-point numbers are spread evenly over [0, 1)") {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const auto drawn = draw_for_step({dtype, {100, 100}}, {.seed = 1, .function = "f"});
    REQUIRE(drawn);
    double sum = 0, square = 0;
    for (std::int64_t i = 0; i < drawn->size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double x = dtype == DType::kF32 ? drawn->as<float>()[at] : drawn->as<double>()[at];
      REQUIRE((x >= 0 && x < 1));
      sum += x;
      square += x * x;
    }
    CHECK(sum / 1e4 == doctest::Approx(0.5).epsilon(0.02));
    CHECK(square / 1e4 == doctest::Approx(1.0 / 3).epsilon(0.03));
  }
  const auto half = draw_for_step({DType::kBF16, {1000}}, {.seed = 1, .function = "f"});
  REQUIRE(half);
  for (const std::uint16_t bits : half->as<std::uint16_t>()) CHECK(tensor::bfloat16_to_float(bits) < 1);
}

TEST_CASE("step draw: every integer has all its bits random, and bools are refused") {
  const auto bytes = draw_for_step({DType::kU8, {4096}}, {.seed = 5, .function = "f"});
  REQUIRE(bytes);
  std::set<int> seen(bytes->as<std::uint8_t>().begin(), bytes->as<std::uint8_t>().end());
  CHECK(seen.size() == 256);
  const auto longs = draw_for_step({DType::kS64, {3}}, {.seed = 5, .function = "f"});
  REQUIRE(longs);
  CHECK(std::memcmp(longs->data(), bytes->data(), longs->byte_size()) == 0);
  CHECK_FALSE(draw_for_step({DType::kBool, {2}}, {}));
}

}  // namespace tfd::variable
