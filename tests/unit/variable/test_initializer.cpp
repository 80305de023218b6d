// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "philox.hpp"
#include "tfd/tensor/npy.hpp"
#include "tfd/tensor/safetensors.hpp"
#include "tfd/variable/initializer.hpp"

using namespace tfd;
using namespace tfd::variable;
using tensor::DType;
using tensor::Tensor;
using tensor::TensorSpec;

namespace {

Initializer parsed(const std::string& text, const TensorSpec& spec) {
  auto init = parse_initializer(nlohmann::ordered_json::parse(text), spec);
  REQUIRE_MESSAGE(init.has_value(), (init ? std::string() : init.error().message));
  return *std::move(init);
}

Tensor value_of(const std::string& text, const TensorSpec& spec) {
  const Initializer init = parsed(text, spec);
  CheckpointFiles files;
  auto made = make_initial_value(init, spec, files);
  REQUIRE_MESSAGE(made.has_value(), (made ? std::string() : made.error().message));
  CHECK(made->spec() == spec);
  CHECK(made->is_sole_owner());
  // A task's copy makes the same, but for seeds that nobody stated.
  const Initializer there = parsed(to_json(init).dump(), spec);
  CHECK(to_json(there) == to_json(init));
  if (same_bytes(make_initial_value(init, spec, files).value(), *made))
    CHECK(same_bytes(make_initial_value(there, spec, files).value(), *made));
  return std::move(*made);
}

Error error_of(const std::string& text, const TensorSpec& spec) {
  const auto init = parse_initializer(nlohmann::ordered_json::parse(text), spec);
  REQUIRE_FALSE(init);
  return init.error();
}

struct Moments {
  double mean, deviation, least, most;
};
Moments moments_of(const Tensor& t) {
  const auto x = t.as<float>();
  const double n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double squares = 0;
  for (const float v : x) squares += (v - mean) * (v - mean);
  return {mean, std::sqrt(squares / n), *std::min_element(x.begin(), x.end()), *std::max_element(x.begin(), x.end())};
}

const TensorSpec kLarge{DType::kF32, {400, 600}};

}  // namespace

TEST_CASE("initializer: Philox4x32-10 gives the known answers of Random123") {
  CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) == PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32_10({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) ==
        PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("initializer: fills with zeros, ones, constants and given values of any dtype") {
  CHECK(same_bytes(value_of(R"({"zeros": {}})", {DType::kF32, {2, 3}}), Tensor::zeros(DType::kF32, {2, 3})));
  const Tensor ones = value_of(R"({"ones": {}})", {DType::kF32, {5}});
  for (const float x : ones.as<float>()) CHECK(x == 1.0F);
  const Tensor tenths = value_of(R"({"constant": {"value": 0.1}})", {DType::kF32, {5}});
  for (const float x : tenths.as<float>()) CHECK(x == 0.1F);
  CHECK(value_of(R"({"constant": {"value": -7}})", {DType::kS64, {}}).as<std::int64_t>()[0] == -7);
  CHECK(value_of(R"({"ones": {}})", {DType::kBool, {2}}).as<std::uint8_t>()[1] == 1);
  CHECK(value_of(R"({"ones": {}})", {DType::kBF16, {1}}).as<std::uint16_t>()[0] == 0x3f80);
  CHECK(value_of(R"({"value": [[1, 2], [3, 4]]})", {DType::kS32, {2, 2}}).as<std::int32_t>()[3] == 4);
  CHECK(value_of(R"({"glorot_uniform": {"seed": 1}})", {DType::kF32, {0, 4}}).size() == 0);
}

TEST_CASE("initializer: the same seed gives the same values, another one others") {
  for (const char* name : {"uniform", "normal", "truncated_normal", "glorot_uniform", "he_normal"}) {
    CAPTURE(name);
    const auto text = [&](int seed) { return fmt::format(R"({{"{}": {{"seed": {}}}}})", name, seed); };
    const Tensor a = value_of(text(1), {DType::kF32, {33}});
    CHECK(same_bytes(a, value_of(text(1), {DType::kF32, {33}})));
    CHECK_FALSE(same_bytes(a, value_of(text(2), {DType::kF32, {33}})));
    // A longer variable starts the same way where the shape doesn't matter.
    if (std::string(name).find('_') == std::string::npos)
      CHECK(same_bytes(a, value_of(text(1), {DType::kF32, {64}}).slice_rows(0, 33)));
  }
  const std::string unseeded = R"({"uniform": {}})";
  CHECK_FALSE(same_bytes(value_of(unseeded, {DType::kF32, {33}}), value_of(unseeded, {DType::kF32, {33}})));
}

TEST_CASE("initializer: values of a seed stay what they were") {
  // Written down once: a change here would change every program's start.
  const Tensor uniform = value_of(R"({"uniform": {"min": 0, "max": 1, "seed": 0}})", {DType::kF64, {2}});
  // Words 6627e8d5 e169c58d: (0x6627e8d5 >> 5) * 2^26 + (0xe169c58d >> 6), over 2^53.
  CHECK(uniform.as<double>()[0] == ((0x6627e8d5U >> 5) * 0x1p26 + (0xe169c58dU >> 6)) * 0x1p-53);
  CHECK(uniform.as<double>()[1] == ((0xbc57ac4cU >> 5) * 0x1p26 + (0x9b00dbd8U >> 6)) * 0x1p-53);
  const Tensor normal = value_of(R"({"normal": {"mean": 0, "stddev": 1, "seed": 0}})", {DType::kF64, {2}});
  const double radius = std::sqrt(-2 * std::log((0x6627e8d5U + 1.0) * 0x1p-32));
  CHECK(normal.as<double>()[0] == doctest::Approx(radius * std::cos(2 * M_PI * 0xe169c58dU * 0x1p-32)).epsilon(1e-14));
  CHECK(normal.as<double>()[1] == doctest::Approx(radius * std::sin(2 * M_PI * 0xe169c58dU * 0x1p-32)).epsilon(1e-14));
}

TEST_CASE("initializer: uniform has its bounds and moments, and never reaches its maximum") {
  const Moments m = moments_of(value_of(R"({"uniform": {"min": -1, "max": 3, "seed": 11}})", kLarge));
  CHECK(std::abs(m.mean - 1) < 0.01);
  CHECK(std::abs(m.deviation - 4 / std::sqrt(12.0)) < 0.01);
  CHECK(m.least >= -1);
  CHECK(m.least < -0.99);
  CHECK(m.most < 3);
  CHECK(m.most > 2.99);
  const Moments narrow = moments_of(value_of(R"({"uniform": {"min": 1, "max": 1.0000001, "seed": 1}})", kLarge));
  CHECK(narrow.least == 1);
  CHECK(narrow.most < 1.0000001);
  const Moments point = moments_of(value_of(R"({"uniform": {"min": 2, "max": 2}})", kLarge));
  CHECK(point.least == 2);
  CHECK(point.most == 2);
}

TEST_CASE("initializer: normal and truncated normal have their moments") {
  const Moments normal = moments_of(value_of(R"({"normal": {"mean": 2, "stddev": 0.5, "seed": 3}})", kLarge));
  CHECK(std::abs(normal.mean - 2) < 0.005);
  CHECK(std::abs(normal.deviation - 0.5) < 0.005);
  CHECK(normal.most > 2 + 4 * 0.5);
  const Moments cut = moments_of(value_of(R"({"truncated_normal": {"mean": 2, "stddev": 0.5, "seed": 3}})", kLarge));
  CHECK(std::abs(cut.mean - 2) < 0.005);
  CHECK(std::abs(cut.deviation - 0.5 * 0.87962566103423978) < 0.005);
  CHECK(cut.least >= 1);
  CHECK(cut.most <= 3);
  CHECK(cut.most > 2.99);
}

TEST_CASE("initializer: glorot, he and lecun have Keras' scales") {
  const double fan_in = 400, fan_out = 600;
  const auto deviation = [](const char* text, const TensorSpec& spec) {
    return moments_of(value_of(text, spec)).deviation;
  };
  const Moments glorot = moments_of(value_of(R"({"glorot_uniform": {"seed": 1}})", kLarge));
  const double limit = std::sqrt(6 / (fan_in + fan_out));
  CHECK(std::abs(glorot.deviation / (limit / std::sqrt(3.0)) - 1) < 0.01);
  CHECK(glorot.most < limit);
  CHECK(glorot.least >= -limit);
  CHECK(glorot.most > 0.999 * limit);
  CHECK(std::abs(deviation(R"({"glorot_normal": {"seed": 1}})", kLarge) / std::sqrt(2 / (fan_in + fan_out)) - 1) <
        0.01);
  CHECK(std::abs(deviation(R"({"he_normal": {"seed": 1}})", kLarge) / std::sqrt(2 / fan_in) - 1) < 0.01);
  CHECK(std::abs(deviation(R"({"he_uniform": {"seed": 1}})", kLarge) / std::sqrt(2 / fan_in) - 1) < 0.01);
  CHECK(std::abs(deviation(R"({"lecun_normal": {"seed": 1}})", kLarge) / std::sqrt(1 / fan_in) - 1) < 0.01);
  CHECK(std::abs(deviation(R"({"lecun_uniform": {"seed": 1}})", kLarge) / std::sqrt(1 / fan_in) - 1) < 0.01);
  // A convolution: the receptive field times the last two dimensions. A vector: both fans are its size.
  const TensorSpec kernel{DType::kF32, {3, 3, 32, 64}};
  CHECK(std::abs(deviation(R"({"he_normal": {"seed": 1}})", kernel) / std::sqrt(2.0 / (9 * 32)) - 1) < 0.02);
  CHECK(std::abs(deviation(R"({"glorot_normal": {"seed": 1}})", {DType::kF32, {100000}}) / std::sqrt(1.0 / 100000) -
                 1) < 0.02);
}

TEST_CASE("initializer: makes f64, f16 and bf16 near the f32 of the same seed") {
  const std::string text = R"({"normal": {"seed": 5}})";
  const Tensor single = value_of(text, {DType::kF32, {50}});
  const Tensor wide = value_of(text, {DType::kF64, {50}});
  const Tensor half = value_of(text, {DType::kF16, {50}});
  const Tensor brain = value_of(text, {DType::kBF16, {50}});
  for (std::size_t i = 0; i < 50; ++i) {
    const float x = single.as<float>()[i];
    CHECK(static_cast<float>(wide.as<double>()[i]) == x);
    CHECK(half.as<std::uint16_t>()[i] == tensor::float_to_half(x));
    CHECK(brain.as<std::uint16_t>()[i] == tensor::float_to_bfloat16(x));
  }
}

TEST_CASE("initializer: variance scaling has the scale, the fan and the distribution that are stated") {
  const auto moments = [](const std::string& more, const TensorSpec& spec) {
    return moments_of(value_of(R"({"variance_scaling": {"seed": 4)" + more + "}}", spec));
  };
  // The default is LeCun's.
  CHECK(same_bytes(value_of(R"({"variance_scaling": {"seed": 4}})", kLarge),
                   value_of(R"({"lecun_normal": {"seed": 4}})", kLarge)));
  CHECK(
      same_bytes(value_of(R"({"variance_scaling": {"seed": 4, "mode": "fan_avg", "distribution": "uniform"}})", kLarge),
                 value_of(R"({"glorot_uniform": {"seed": 4}})", kLarge)));
  const Moments out = moments(R"(, "scale": 3, "mode": "fan_out", "distribution": "untruncated_normal")", kLarge);
  CHECK(std::abs(out.deviation / std::sqrt(3.0 / 600) - 1) < 0.01);
  CHECK(out.most > 4 * std::sqrt(3.0 / 600));
  const Moments cut = moments(R"(, "scale": 3, "mode": "fan_out")", kLarge);
  CHECK(std::abs(cut.deviation / std::sqrt(3.0 / 600) - 1) < 0.01);
  CHECK(cut.most < 2 * std::sqrt(3.0 / 600) / 0.8796);
  const Moments kernel = moments(R"(, "mode": "fan_out", "distribution": "uniform")", {DType::kF32, {3, 3, 32, 64}});
  CHECK(std::abs(kernel.most / std::sqrt(3.0 / (9 * 64)) - 1) < 0.01);
  CHECK(error_of(R"({"variance_scaling": {"mode": "fan_inn"}})", kLarge).message ==
        R"(variance_scaling.mode: must be "fan_in", "fan_out" or "fan_avg", not "fan_inn", did you mean 'fan_in'?)");
  CHECK(error_of(R"({"variance_scaling": {"scale": 0}})", kLarge).message ==
        "variance_scaling.scale: must be a finite number > 0, not 0");
}

TEST_CASE("initializer: orthogonal matrices are, tall, wide or of more dimensions") {
  for (const tensor::Shape& shape : {tensor::Shape{40, 7}, {7, 40}, {9, 9}, {3, 3, 4, 8}, {1, 5}}) {
    const std::int64_t columns = shape.back(), rows = tensor::element_count(shape) / columns;
    const Tensor t = value_of(R"({"orthogonal": {"gain": 3, "seed": 8}})", {DType::kF64, shape});
    const auto x = t.as<double>();
    const auto at = [&](std::int64_t row, std::int64_t column) {
      return x[static_cast<std::size_t>(row * columns + column)];
    };
    const bool tall = rows >= columns;
    const std::int64_t count = std::min(rows, columns), length = std::max(rows, columns);
    for (std::int64_t a = 0; a < count; ++a) {
      for (std::int64_t b = 0; b < count; ++b) {
        double dot = 0;
        for (std::int64_t i = 0; i < length; ++i) dot += tall ? at(i, a) * at(i, b) : at(a, i) * at(b, i);
        REQUIRE(std::abs(dot - (a == b ? 9 : 0)) < 1e-12);
      }
    }
    CHECK(same_bytes(t, value_of(R"({"orthogonal": {"gain": 3, "seed": 8}})", {DType::kF64, shape})));
  }
  // Both signs occur: the first column of a random one is a direction like any other.
  int positive = 0;
  for (int seed = 0; seed < 100; ++seed)
    positive +=
        value_of(fmt::format(R"({{"orthogonal": {{"seed": {}}}}})", seed), {DType::kF32, {2, 2}}).as<float>()[0] > 0;
  CHECK(positive > 30);
  CHECK(positive < 70);
  CHECK(error_of(R"({"orthogonal": {}})", {DType::kF32, {4}}).message ==
        "orthogonal: makes arrays of at least two dimensions, but the variable is f32[4]");
  CHECK(value_of(R"({"orthogonal": {"seed": 1}})", {DType::kF32, {0, 4}}).size() == 0);
}

TEST_CASE("initializer: identity has its gain on the diagonal, of any matrix") {
  const auto floats_of = [](const Tensor& t) { return std::vector<float>(t.as<float>().begin(), t.as<float>().end()); };
  CHECK(floats_of(value_of(R"({"identity": {"gain": 2}})", {DType::kF32, {2, 3}})) ==
        std::vector<float>{2, 0, 0, 0, 2, 0});
  CHECK(floats_of(value_of(R"({"identity": {}})", {DType::kF32, {3, 2}})) == std::vector<float>{1, 0, 0, 1, 0, 0});
  CHECK(floats_of(value_of(R"({"identity": {}})", {DType::kF32, {4, 1}})) == std::vector<float>{1, 0, 0, 0});
  CHECK(error_of(R"({"identity": {}})", {DType::kF32, {2, 2, 2}}).message ==
        "identity: makes matrices, but the variable is f32[2, 2, 2]");
}

TEST_CASE("initializer: a shard's rows are those of the whole") {
  const TensorSpec spec{DType::kF32, {11, 3}};
  CheckpointFiles files;
  for (const char* text :
       {R"({"uniform": {"seed": 3}})", R"({"normal": {"seed": 3}})", R"({"truncated_normal": {"seed": 3}})",
        R"({"glorot_uniform": {"seed": 3}})", R"({"he_normal": {"seed": 3}})", R"({"orthogonal": {"seed": 3}})",
        R"({"identity": {}})", R"({"constant": {"value": 4}})"}) {
    CAPTURE(text);
    const Tensor whole = value_of(text, spec);
    for (const RowRange rows : {RowRange{0, 4}, RowRange{4, 4}, RowRange{8, 3}, RowRange{5, 0}}) {
      const auto part = make_initial_value(parsed(text, spec), spec, files, rows);
      REQUIRE(part);
      CHECK(same_bytes(*part, whole.slice_rows(rows.first, rows.count)));
      CHECK(part->is_sole_owner());
    }
  }
  const Initializer zeros = parsed(R"({"zeros": {}})", spec);
  CHECK_FALSE(make_initial_value(zeros, spec, files, RowRange{9, 3}));
  CHECK_FALSE(make_initial_value(zeros, {DType::kF32, {}}, files, RowRange{0, 1}));
}

TEST_CASE("initializer: takes values from npy and safetensors files") {
  std::string pattern = (std::filesystem::temp_directory_path() / "tfd-initializer-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  const std::filesystem::path directory(pattern);
  const TensorSpec spec{DType::kF32, {2, 3}};
  const Tensor value = value_of(R"({"normal": {"seed": 2}})", spec);
  REQUIRE(tensor::save_npy((directory / "w.npy").string(), value));
  REQUIRE(tensor::save_safetensors((directory / "all.safetensors").string(), {{{"enc/w", value}}, {}}));
  CheckpointFiles files;
  const auto text = [&](const char* init, const TensorSpec& s) {
    return parse_initializer(nlohmann::ordered_json::parse(init), s, directory.string(), &files);
  };
  for (const char* init :
       {R"({"npy": {"path": "w.npy"}})", R"({"safetensors": {"path": "all.safetensors", "key": "enc/w"}})"}) {
    const auto absolute = text(init, spec);
    REQUIRE(absolute);
    const auto made = make_initial_value(*absolute, spec, files);
    REQUIRE(made);
    CHECK(same_bytes(*made, value));
    const auto part = make_initial_value(*absolute, spec, files, RowRange{1, 1});
    REQUIRE(part);
    CHECK(same_bytes(*part, value.slice_rows(1, 1)));
  }
  // Another one of that name now: the file opened for these variables stays the same.
  const auto before = text(R"({"safetensors": {"path": "all.safetensors", "key": "enc/w"}})", spec);
  REQUIRE(tensor::save_safetensors((directory / "all.safetensors").string(), {{{"other", value}}, {}}));
  CHECK(same_bytes(make_initial_value(*before, spec, files).value(), value));
  CheckpointFiles later;
  CHECK(make_initial_value(*before, spec, later).error().message ==
        (directory / "all.safetensors").string() + " has no 'enc/w'");
  CHECK(text(R"({"npy": {"path": "v.npy"}})", spec).error().code == Code::kNotFound);
  CHECK(text(R"({"safetensors": {"path": "v.safetensors", "key": "w"}})", spec).error().code == Code::kNotFound);
  CHECK(text(R"({"npy": {"path": "w.npy"}})", {DType::kF32, {3, 2}}).error().message ==
        "npy.path: " + (directory / "w.npy").string() + " is f32[2, 3], but the variable is f32[3, 2]");
  const auto missing = text(R"({"safetensors": {"path": "all.safetensors", "key": "enc/v"}})", spec);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message ==
        "safetensors.key: " + (directory / "all.safetensors").string() + " has no 'enc/v', did you mean 'enc/w'?");
  CHECK(
      text(R"({"safetensors": {"path": "all.safetensors", "key": "enc/w"}})", {DType::kF64, {2, 3}}).error().message ==
      "safetensors.key: " + (directory / "all.safetensors").string() +
          ": enc/w is f32[2, 3], but the variable is f64[2, 3]");
  CHECK(error_of(R"({"safetensors": {"path": "all.safetensors"}})", spec).message == "safetensors.key: is missing");
  CHECK(error_of(R"({"npy": {"path": ""}})", spec).message == "npy.path: must not be empty");
  std::filesystem::remove_all(directory);
}

TEST_CASE("initializer: names what is wrong") {
  const TensorSpec spec{DType::kF32, {2}};
  CHECK(error_of(R"({"glorot_unifrom": {}})", spec).message ==
        "glorot_unifrom: no such initializer, did you mean 'glorot_uniform'?");
  CHECK(error_of(R"({"glorot_uniform": {"sed": 1}})", spec).message ==
        "glorot_uniform.sed: unknown key, did you mean 'seed'?");
  CHECK(error_of(R"({"glorot_uniform": {"seed": -1}})", spec).message ==
        "glorot_uniform.seed: must be a whole number >= 0");
  CHECK(error_of(R"({"glorot_uniform": {"seed": 1.5}})", spec).code == Code::kInvalidArgument);
  CHECK(error_of(R"({"constant": {}})", spec).message == "constant.value: is missing");
  CHECK(error_of(R"({"constant": {"value": "x"}})", spec).code == Code::kInvalidArgument);
  CHECK(error_of(R"({"constant": {"value": 300}})", {DType::kU8, {2}}).message.starts_with("constant.value: "));
  CHECK(error_of(R"({"uniform": {"min": 1, "max": 0}})", spec).message == "uniform.min: 1 is above max, 0");
  CHECK(error_of(R"({"normal": {"stddev": -1}})", spec).message ==
        "normal.stddev: must be a finite number >= 0, not -1");
  CHECK(error_of(R"({"normal": {}})", {DType::kS32, {2}}).message ==
        "normal: makes floating-point numbers, but the variable is s32[2]");
  CHECK(error_of(R"({"value": [1, 2, 3]})", spec).message.starts_with("value: "));
  CHECK(error_of(R"({"zeros": {"seed": 1}})", spec).message.starts_with("zeros.seed: unknown key"));
  CHECK(error_of(R"({"zeros": {}})", {DType::kF32, {-1}}).code == Code::kInvalidArgument);
  CHECK(error_of(R"({"zeros": {}})", {DType::kF32, {1 << 30, 1 << 30}}).code == Code::kInvalidArgument);
  CHECK(error_of(R"("zeros")", spec).code == Code::kInvalidArgument);
  CHECK(error_of(R"({})", spec).code == Code::kInvalidArgument);
}
