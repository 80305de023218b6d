// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/initializer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <random>
#include <variant>

#include "philox.hpp"
#include "settings.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/json.hpp"

namespace tfd::variable {
namespace {

using tensor::DType;
using tensor::Tensor;
using tensor::TensorSpec;

// What an initializer comes to, once its keys are read.
struct Filled {
  Tensor scalar;  // in every element
};
struct Given {
  Tensor value;
};
enum class Distribution { kUniform, kNormal, kTruncatedNormal };
struct Random {
  Distribution distribution = Distribution::kUniform;
  double a = 0, b = 0;  // [a, b) of a uniform one; mean and standard deviation of the others
  std::optional<std::uint64_t> seed;
};
using Plan = std::variant<Filled, Given, Random>;

Result<Tensor> scalar_of(const nlohmann::ordered_json& value, DType dtype) {
  return tensor_from_json(nlohmann::json(value), TensorSpec{dtype, {}});
}

Result<Plan> plan_filled(std::string_view name, Settings& settings, const TensorSpec& spec) {
  nlohmann::ordered_json value = name == "ones" ? 1U : 0U;
  if (name == "constant") {
    const auto* stated = settings.find("value", true);
    if (stated != nullptr) value = *stated;
  }
  TFD_TRY(settings.finish());
  return Filled{TFD_TRY(scalar_of(value, spec.dtype), std::string(name) + ".value")};
}

Result<Plan> plan_random(std::string_view name, Settings& settings) {
  Random random;
  if (name == "uniform") {
    random.a = settings.number("min", -0.05, kAnyNumber);
    random.b = settings.number("max", 0.05, kAnyNumber);
  } else {
    random.distribution = name == "normal" ? Distribution::kNormal : Distribution::kTruncatedNormal;
    random.a = settings.number("mean", 0, kAnyNumber);
    random.b = settings.number("stddev", 0.05, kNotNegative);
  }
  random.seed = settings.seed("seed");
  TFD_TRY(settings.finish());
  if (name == "uniform" && random.a > random.b)
    return fail(Code::kInvalidArgument, "uniform.min: {} is above max, {}", random.a, random.b);
  return random;
}

struct Fans {
  double in, out;
};

Fans fans_of(const tensor::Shape& shape) {
  if (shape.empty()) return {1, 1};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double receptive_field = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) receptive_field *= static_cast<double>(shape[i]);
  return {static_cast<double>(shape[shape.size() - 2]) * receptive_field,
          static_cast<double>(shape.back()) * receptive_field};
}

struct Scaling {
  std::string_view name;
  double scale;
  bool both_fans;  // their mean; else fan in
  Distribution distribution;
};
constexpr std::array kScalings{
    Scaling{"glorot_uniform", 1, true, Distribution::kUniform},
    Scaling{"glorot_normal", 1, true, Distribution::kTruncatedNormal},
    Scaling{"he_uniform", 2, false, Distribution::kUniform},
    Scaling{"he_normal", 2, false, Distribution::kTruncatedNormal},
    Scaling{"lecun_uniform", 1, false, Distribution::kUniform},
    Scaling{"lecun_normal", 1, false, Distribution::kTruncatedNormal},
};
constexpr std::array<std::string_view, 7> kOthers{"zeros",   "ones",   "constant",        "value",
                                                  "uniform", "normal", "truncated_normal"};

Result<Plan> plan_scaling(const Scaling& scaling, Settings& settings, const TensorSpec& spec) {
  Random random;
  random.seed = settings.seed("seed");
  TFD_TRY(settings.finish());
  const Fans fans = fans_of(spec.shape);
  const double variance = scaling.scale / std::max(1.0, scaling.both_fans ? (fans.in + fans.out) / 2 : fans.in);
  random.distribution = scaling.distribution;
  if (random.distribution == Distribution::kUniform) {
    random.b = std::sqrt(3 * variance);
    random.a = -random.b;
  } else {
    random.b = std::sqrt(variance) / 0.87962566103423978;  // the standard deviation of a normal cut at 2
  }
  return random;
}

Result<Plan> plan_initializer(const nlohmann::ordered_json& init, const TensorSpec& spec) {
  TFD_TRY(tensor::checked_byte_size(spec.dtype, spec.shape));
  const std::string name = TFD_TRY(only_key(init, R"({"zeros": {}})"));
  const nlohmann::ordered_json& body = init.begin().value();
  if (name == "value") return Given{TFD_TRY(tensor_from_json(nlohmann::json(body), spec), "value")};
  const auto scaling =
      std::find_if(kScalings.begin(), kScalings.end(), [&](const Scaling& s) { return s.name == name; });
  if (scaling == kScalings.end() && std::find(kOthers.begin(), kOthers.end(), name) == kOthers.end()) {
    std::vector<std::string> names(kOthers.begin(), kOthers.end());
    for (const Scaling& s : kScalings) names.emplace_back(s.name);
    const std::string hint = did_you_mean(name, names);
    return fail(Code::kInvalidArgument, "{}: no such initializer{}", printable(name),
                hint.empty() ? fmt::format(" (there are {})", join_words(names)) : hint);
  }
  Settings settings(body, name);
  if (name == "zeros" || name == "ones" || name == "constant") return plan_filled(name, settings, spec);
  if (!is_floating(spec.dtype))
    return fail(Code::kInvalidArgument, "{}: makes floating-point numbers, the variable is {}", name,
                format_spec(spec));
  return scaling != kScalings.end() ? plan_scaling(*scaling, settings, spec) : plan_random(name, settings);
}

Tensor filled(const TensorSpec& spec, const Tensor& scalar) {
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  const std::size_t size = scalar.byte_size();
  std::byte* to = out.mutable_data();
  for (std::size_t at = 0; at < out.byte_size(); at += size) std::memcpy(to + at, scalar.data(), size);
  return out;
}

template <class Draw>  // draw(i) -> double
Tensor drawn(const TensorSpec& spec, Draw&& draw) {
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  const auto fill = [&]<class T>(T* to, auto convert) {
    for (std::uint64_t i = 0, count = static_cast<std::uint64_t>(out.size()); i < count; ++i) to[i] = convert(draw(i));
  };
  const auto narrow = [](double x) { return static_cast<float>(x); };
  switch (spec.dtype) {
    case DType::kF64:
      fill(out.mutable_as<double>(), [](double x) { return x; });
      break;
    case DType::kF16:
      fill(out.mutable_as<std::uint16_t>(), [&](double x) { return tensor::float_to_half(narrow(x)); });
      break;
    case DType::kBF16:
      fill(out.mutable_as<std::uint16_t>(), [&](double x) { return tensor::float_to_bfloat16(narrow(x)); });
      break;
    default:
      fill(out.mutable_as<float>(), narrow);
      break;
  }
  return out;
}

// Element i is made of words of block i / 2, in double whatever the dtype: 53 bits, so that an f64 and an f32 variable
// of one seed start alike.
class UniformDraw {
 public:
  UniformDraw(const Random& random, std::uint64_t seed, DType dtype) : blocks_(seed), from_(random.a), to_(random.b) {
    // Rounding to the dtype must not reach the excluded end.
    if (to_ > from_)
      most_ = dtype == DType::kF64 ? std::nextafter(to_, from_) : below(to_, from_);
    else
      most_ = from_;
  }
  double operator()(std::uint64_t i) {
    if (i % 2 == 0 || i / 2 != held_) block_ = blocks_.block(held_ = i / 2);
    const std::size_t at = i % 2 * 2;
    const double unit =
        (static_cast<double>(block_[at] >> 5) * 0x1p26 + static_cast<double>(block_[at + 1] >> 6)) * 0x1p-53;
    return std::min(from_ + unit * (to_ - from_), most_);
  }

 private:
  static double below(double to, double from) {
    const float rounded = static_cast<float>(to);
    return rounded < to ? rounded : std::nextafterf(rounded, static_cast<float>(from));
  }
  RandomBlocks blocks_;
  double from_, to_, most_ = 0;
  std::uint64_t held_ = ~std::uint64_t{0};
  PhiloxCounter block_{};
};

// Box and Muller: two normals of two words each.
std::array<double, 4> normals_of(const PhiloxCounter& words) {
  std::array<double, 4> out{};
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    const double radius = std::sqrt(-2 * std::log((static_cast<double>(words[pair]) + 1) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * static_cast<double>(words[pair + 1]) * 0x1p-32;
    out[pair] = radius * std::cos(angle);
    out[pair + 1] = radius * std::sin(angle);
  }
  return out;
}

class NormalDraw {
 public:
  NormalDraw(const Random& random, std::uint64_t seed) : blocks_(seed), random_(random) {}
  double operator()(std::uint64_t i) {
    if (i / 4 != held_) normals_ = normals_of(blocks_.block(held_ = i / 4));
    double x = normals_[i % 4];
    if (random_.distribution == Distribution::kTruncatedNormal && std::abs(x) > 2) x = redrawn(i);
    return random_.a + random_.b * x;
  }

 private:
  // What lies beyond two standard deviations is drawn again, from streams of its own.
  double redrawn(std::uint64_t i) const {
    for (std::uint32_t attempt = 1;; ++attempt)
      for (const double x : normals_of(blocks_.block(i, attempt)))
        if (std::abs(x) <= 2) return x;
  }
  RandomBlocks blocks_;
  Random random_;
  std::uint64_t held_ = ~std::uint64_t{0};
  std::array<double, 4> normals_{};
};

std::uint64_t fresh_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace

Result<void> check_initializer(const nlohmann::ordered_json& init, const TensorSpec& spec) {
  TFD_TRY(plan_initializer(init, spec));
  return {};
}

Result<Tensor> make_initial_value(const nlohmann::ordered_json& init, const TensorSpec& spec) {
  Plan plan = TFD_TRY(plan_initializer(init, spec));
  if (const auto* fill = std::get_if<Filled>(&plan)) return filled(spec, fill->scalar);
  if (auto* given = std::get_if<Given>(&plan)) return given->value.unshared();
  const Random& random = std::get<Random>(plan);
  const std::uint64_t seed = random.seed.value_or(random.seed ? 0 : fresh_seed());
  if (random.distribution == Distribution::kUniform) return drawn(spec, UniformDraw(random, seed, spec.dtype));
  return drawn(spec, NormalDraw(random, seed));
}

}  // namespace tfd::variable
