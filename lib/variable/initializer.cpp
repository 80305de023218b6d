// SPDX-License-Identifier: Apache-2.0
#include "tfd/variable/initializer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "draws.hpp"
#include "tfd/base/random.hpp"
#include "tfd/base/text.hpp"
#include "tfd/tensor/file.hpp"
#include "tfd/tensor/json.hpp"
#include "tfd/tensor/json_object.hpp"
#include "tfd/tensor/npy.hpp"
#include "tfd/tensor/safetensors.hpp"

namespace tfd::variable {
namespace {

// Orthogonal matrices from random ones, by Gram and Schmidt. Each vector is made orthogonal twice: once leaves errors
// as large as the matrix is badly conditioned. source: Giraud et al. 2005, "twice is enough".

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void subtract_scaled(double* a, const double* b, double scale, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) a[i] -= b[i] * scale;
}

/// `columns` vectors of `rows` >= columns numbers, one after another, made orthonormal in their order: the Q of a QR
/// decomposition whose R has a positive diagonal. O(rows * columns^2).
void orthonormalize(std::vector<double>& vectors, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; ++column) {
    double* const own = vectors.data() + column * rows;
    for (int round = 0; round < 2; ++round) {
      for (std::int64_t before = 0; before < column; ++before) {
        const double* other = vectors.data() + before * rows;
        subtract_scaled(own, other, dot(own, other, rows), rows);
      }
    }
    const double scale = 1 / std::sqrt(dot(own, own, rows));
    for (std::int64_t i = 0; i < rows; ++i) own[i] *= scale;
  }
}

using tensor::DType;
using tensor::JsonObject;
using tensor::JsonValue;
using tensor::kAnyNumber;
using tensor::kNotNegative;
using tensor::kPositive;
using tensor::Tensor;
using tensor::TensorSpec;

using Distribution = RandomInit::Distribution;

Result<Tensor> scalar_of(const nlohmann::ordered_json& value, DType dtype) {
  return tensor_from_json(nlohmann::json(value), TensorSpec{dtype, {}});
}

Result<Initializer> parse_filled(std::string_view name, JsonObject& settings, const TensorSpec& spec) {
  nlohmann::ordered_json value = name == "ones" ? 1U : 0U;
  if (name == "constant") {
    const auto* stated = settings.required("value");
    if (stated != nullptr) value = *stated;
  }
  TFD_TRY(settings.finish());
  Tensor scalar = TFD_TRY(scalar_of(value, spec.dtype), std::string(name) + ".value");
  return ConstantInit{std::move(scalar)};
}

Result<Initializer> parse_random(std::string_view name, JsonObject& settings) {
  RandomInit random;
  if (name == "uniform") {
    random.a = settings.number("min", kAnyNumber).value_or(-0.05);
    random.b = settings.number("max", kAnyNumber).value_or(0.05);
  } else {
    random.distribution = name == "normal" ? Distribution::kNormal : Distribution::kTruncatedNormal;
    random.a = settings.number("mean", kAnyNumber).value_or(0);
    random.b = settings.number("stddev", kNotNegative).value_or(0.05);
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

enum class Mode { kFanIn, kFanOut, kFanAvg };
struct Scaling {
  std::string_view name;
  double scale;
  Mode mode;
  Distribution distribution;
};
constexpr std::array kScalings{
    Scaling{"glorot_uniform", 1, Mode::kFanAvg, Distribution::kUniform},
    Scaling{"glorot_normal", 1, Mode::kFanAvg, Distribution::kTruncatedNormal},
    Scaling{"he_uniform", 2, Mode::kFanIn, Distribution::kUniform},
    Scaling{"he_normal", 2, Mode::kFanIn, Distribution::kTruncatedNormal},
    Scaling{"lecun_uniform", 1, Mode::kFanIn, Distribution::kUniform},
    Scaling{"lecun_normal", 1, Mode::kFanIn, Distribution::kTruncatedNormal},
};
constexpr std::array<std::string_view, 12> kOthers{
    "zeros",      "ones",     "constant", "value",      "uniform", "normal", "truncated_normal", "variance_scaling",
    "orthogonal", "identity", "npy",      "safetensors"};

RandomInit scaled(const Scaling& scaling, const TensorSpec& spec, std::optional<std::uint64_t> seed) {
  RandomInit random;
  random.seed = seed;
  random.distribution = scaling.distribution;
  const Fans fans = fans_of(spec.shape);
  const double fan = scaling.mode == Mode::kFanIn    ? fans.in
                     : scaling.mode == Mode::kFanOut ? fans.out
                                                     : (fans.in + fans.out) / 2;
  const double variance = scaling.scale / std::max(1.0, fan);
  if (random.distribution == Distribution::kUniform) {
    random.b = std::sqrt(3 * variance);
    random.a = -random.b;
  } else {
    // The standard deviation of a normal distribution cut at 2 is less than that of the whole.
    const bool cut = random.distribution == Distribution::kTruncatedNormal;
    random.b = std::sqrt(variance) / (cut ? 0.87962566103423978 : 1);
  }
  return random;
}

Result<Initializer> parse_named_scaling(const Scaling& scaling, JsonObject& settings, const TensorSpec& spec) {
  const auto seed = settings.seed("seed");
  TFD_TRY(settings.finish());
  return scaled(scaling, spec, seed);
}

Result<Initializer> parse_variance_scaling(JsonObject& settings, const TensorSpec& spec) {
  Scaling scaling{};
  scaling.scale = settings.number("scale", kPositive).value_or(1);
  const std::string mode = settings.choice("mode", "fan_in", {"fan_in", "fan_out", "fan_avg"});
  scaling.mode = mode == "fan_in" ? Mode::kFanIn : mode == "fan_out" ? Mode::kFanOut : Mode::kFanAvg;
  const std::string distribution =
      settings.choice("distribution", "truncated_normal", {"truncated_normal", "untruncated_normal", "uniform"});
  scaling.distribution = distribution == "uniform"            ? Distribution::kUniform
                         : distribution == "truncated_normal" ? Distribution::kTruncatedNormal
                                                              : Distribution::kNormal;
  const auto seed = settings.seed("seed");
  TFD_TRY(settings.finish());
  return scaled(scaling, spec, seed);
}

Result<Initializer> parse_matrix(std::string_view name, JsonObject& settings, const TensorSpec& spec) {
  const double gain = settings.number("gain", kAnyNumber).value_or(1);
  const bool orthogonal = name == "orthogonal";
  const auto seed = orthogonal ? settings.seed("seed") : std::nullopt;
  TFD_TRY(settings.finish());
  if (orthogonal ? spec.shape.size() < 2 : spec.shape.size() != 2)
    return fail(Code::kInvalidArgument, "{}: makes {}, but the variable is {}", name,
                orthogonal ? "arrays of at least two dimensions" : "matrices", format_spec(spec));
  if (orthogonal) return OrthogonalInit{gain, seed};
  return IdentityInit{gain};
}

Result<Initializer> parse_file(std::string_view name, JsonObject& settings) {
  FileInit file;
  file.path = settings.required_text("path");
  if (name == "safetensors") file.key = settings.required_text("key");
  TFD_TRY(settings.finish());
  return file;
}

Result<Initializer> parse_other(const std::string& name, const JsonValue& body, const TensorSpec& spec) {
  if (name == "value") {
    Tensor value = TFD_TRY(tensor_from_json(nlohmann::json(body.json()), spec), "value");
    return ValueInit{std::move(value)};
  }
  JsonObject settings(body);
  if (name == "zeros" || name == "ones" || name == "constant") return parse_filled(name, settings, spec);
  if (name == "npy" || name == "safetensors") return parse_file(name, settings);
  if (!is_floating(spec.dtype))
    return fail(Code::kInvalidArgument, "{}: makes floating-point numbers, but the variable is {}", name,
                format_spec(spec));
  for (const Scaling& scaling : kScalings)
    if (scaling.name == name) return parse_named_scaling(scaling, settings, spec);
  if (name == "variance_scaling") return parse_variance_scaling(settings, spec);
  if (name == "orthogonal" || name == "identity") return parse_matrix(name, settings, spec);
  return parse_random(name, settings);
}

Result<Initializer> parse_stated(const nlohmann::ordered_json& init, const TensorSpec& spec) {
  TFD_TRY(tensor::checked_byte_size(spec.dtype, spec.shape));
  const auto [name, body] = TFD_TRY(JsonValue(init, "").only_member(R"({"zeros": {}})"));
  std::vector<std::string> names(kOthers.begin(), kOthers.end());
  for (const Scaling& scaling : kScalings) names.emplace_back(scaling.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return parse_other(name, body, spec);
  const std::string hint = did_you_mean(name, names);
  return fail(Code::kInvalidArgument, "{}: no such initializer{}", printable(name),
              hint.empty() ? fmt::format(" (available: {})", join_words(names)) : hint);
}

Tensor filled(const TensorSpec& spec, const Tensor& scalar) {
  if (std::ranges::all_of(scalar.bytes(), [](std::byte one) { return one == std::byte{0}; }))
    return Tensor::zeros(spec.dtype, spec.shape);
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  const std::size_t size = scalar.byte_size();
  std::byte* to = out.mutable_data();
  for (std::size_t at = 0; at < out.byte_size(); at += size) std::memcpy(to + at, scalar.data(), size);
  return out;
}

template <class Draw>  // draw(i) -> double, for the elements from `first` on
Tensor drawn(const TensorSpec& spec, std::uint64_t first, Draw&& draw) {
  Tensor out = Tensor::uninitialized(spec.dtype, spec.shape);
  const auto fill = [&]<class T>(T* to, auto convert) {
    for (std::uint64_t i = 0, count = static_cast<std::uint64_t>(out.size()); i < count; ++i)
      to[i] = convert(draw(first + i));
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

std::uint64_t seed_of(const std::optional<std::uint64_t>& stated) { return stated ? *stated : random_bits(); }

// Keras': the last dimension are the columns, all others the rows; of a wide matrix the rows are orthogonal.
Tensor orthogonal(const TensorSpec& spec, const OrthogonalInit& init) {
  const std::int64_t columns = spec.shape.back();
  const std::int64_t rows = columns == 0 ? 0 : tensor::element_count(spec.shape) / columns;
  const std::int64_t length = std::max(rows, columns), count = std::min(rows, columns);
  NormalDraw normal(0, 1, false, seed_of(init.seed));
  std::vector<double> vectors(static_cast<std::size_t>(length * count));
  for (std::size_t i = 0; i < vectors.size(); ++i) vectors[i] = normal(i);
  orthonormalize(vectors, length, count);
  return drawn(spec, 0, [&](std::uint64_t i) {
    const auto row = static_cast<std::int64_t>(i) / columns, column = static_cast<std::int64_t>(i) % columns;
    return init.gain *
           vectors[static_cast<std::size_t>(rows >= columns ? column * length + row : row * length + column)];
  });
}

Result<Tensor> from_safetensors(const FileInit& init, const TensorSpec& spec, CheckpointFiles& files,
                                const std::optional<RowRange>& rows) {
  const CheckpointReader& file = *TFD_TRY(files.open_whole(init.path));
  TFD_TRY(check_stored(file, *init.key, spec));
  return rows ? file.read_rows(*init.key, rows->first, rows->count) : file.read(*init.key);
}

Result<Tensor> from_npy(const std::string& path, const TensorSpec& spec) {
  Tensor value = TFD_TRY(tensor::load_npy(path));
  if (value.spec() == spec) return value;
  return fail(Code::kInvalidArgument, "{} is {}, but the variable is {}", path, format_spec(value.spec()),
              format_spec(spec));
}

Result<Tensor> make_whole(const Initializer& init, const TensorSpec& spec) {
  if (const auto* given = std::get_if<ValueInit>(&init)) return given->value;
  if (const auto* file = std::get_if<FileInit>(&init)) return from_npy(file->path, spec);
  if (const auto* matrix = std::get_if<OrthogonalInit>(&init)) return orthogonal(spec, *matrix);
  const double gain = std::get<IdentityInit>(init).gain;
  const auto stride = static_cast<std::uint64_t>(spec.shape[1]) + 1;
  return drawn(spec, 0, [&](std::uint64_t i) { return i % stride == 0 && i / stride < stride - 1 ? gain : 0; });
}

Result<void> check_file(const FileInit& file, const TensorSpec& spec, CheckpointFiles& files) {
  if (file.key) {
    const CheckpointReader* const stored = TFD_TRY(files.open(file.path), "safetensors.path");
    TFD_TRY(check_stored(*stored, *file.key, spec), "safetensors.key");
    return {};
  }
  const TensorSpec found = TFD_TRY(tensor::load_npy_spec(file.path), "npy.path");
  if (found == spec) return {};
  return fail(Code::kInvalidArgument, "npy.path: {} is {}, but the variable is {}", file.path, format_spec(found),
              format_spec(spec));
}

nlohmann::ordered_json write(const ConstantInit& init) {
  return {{"constant", {{"value", nlohmann::ordered_json(tensor_to_json(init.scalar))}}}};
}
nlohmann::ordered_json write(const ValueInit& init) {
  return {{"value", nlohmann::ordered_json(tensor_to_json(init.value))}};
}
nlohmann::ordered_json write(const RandomInit& init) {
  const bool is_uniform = init.distribution == Distribution::kUniform;
  nlohmann::ordered_json body = {{is_uniform ? "min" : "mean", init.a}, {is_uniform ? "max" : "stddev", init.b}};
  if (init.seed) body["seed"] = *init.seed;
  const char* name = is_uniform                                   ? "uniform"
                     : init.distribution == Distribution::kNormal ? "normal"
                                                                  : "truncated_normal";
  return {{name, std::move(body)}};
}
nlohmann::ordered_json write(const OrthogonalInit& init) {
  nlohmann::ordered_json body = {{"gain", init.gain}};
  if (init.seed) body["seed"] = *init.seed;
  return {{"orthogonal", std::move(body)}};
}
nlohmann::ordered_json write(const IdentityInit& init) { return {{"identity", {{"gain", init.gain}}}}; }
nlohmann::ordered_json write(const FileInit& init) {
  if (!init.key) return {{"npy", {{"path", init.path}}}};
  return {{"safetensors", {{"path", init.path}, {"key", *init.key}}}};
}

}  // namespace

Result<void> check_stored(const CheckpointReader& file, const std::string& key, const TensorSpec& spec) {
  const auto found = file.specs().find(key);
  if (file.unsupported().contains(key)) return fail(file.read(key).error());
  if (found == file.specs().end()) {
    std::vector<std::string> keys;
    for (const auto& [name, ignored] : file.specs()) keys.push_back(name);
    return fail(Code::kNotFound, "{} has no '{}'{}", file.path(), printable(key), did_you_mean(key, keys));
  }
  if (found->second == spec) return {};
  return fail(Code::kInvalidArgument, "{}: {} is {}, but the variable is {}", file.path(), printable(key),
              format_spec(found->second), format_spec(spec));
}

Result<Initializer> parse_initializer(const nlohmann::ordered_json& init, const TensorSpec& spec,
                                      const std::string& directory, CheckpointFiles* files) {
  Initializer parsed = TFD_TRY(parse_stated(init, spec));
  if (auto* file = std::get_if<FileInit>(&parsed)) {
    file->path = (std::filesystem::path(directory) / file->path).lexically_normal().string();
    if (files != nullptr) TFD_TRY(check_file(*file, spec, *files));
  }
  return parsed;
}

nlohmann::ordered_json to_json(const Initializer& init) {
  return std::visit([](const auto& one) { return write(one); }, init);
}

Result<Tensor> make_initial_value(const Initializer& init, const TensorSpec& spec, CheckpointFiles& files,
                                  std::optional<RowRange> rows) try {
  TensorSpec part = spec;
  std::uint64_t first = 0;
  if (rows) {
    if (spec.shape.empty() || rows->first < 0 || rows->count < 0 || rows->first > spec.shape[0] - rows->count)
      return fail(Code::kInvalidArgument, "no rows {} to {} of {}", rows->first, rows->first + rows->count,
                  format_spec(spec));
    part.shape[0] = rows->count;
    if (spec.shape[0] > 0)
      first = static_cast<std::uint64_t>(tensor::element_count(spec.shape) / spec.shape[0] * rows->first);
  }
  if (const auto* fill = std::get_if<ConstantInit>(&init)) return filled(part, fill->scalar);
  if (const auto* random = std::get_if<RandomInit>(&init)) {
    const std::uint64_t seed = seed_of(random->seed);
    if (random->distribution == Distribution::kUniform)
      return drawn(part, first, UniformDraw(random->a, random->b, seed, spec.dtype));
    const bool truncated = random->distribution == Distribution::kTruncatedNormal;
    return drawn(part, first, NormalDraw(random->a, random->b, truncated, seed));
  }
  if (const auto* file = std::get_if<FileInit>(&init); file != nullptr && file->key)
    return from_safetensors(*file, spec, files, rows);
  Tensor whole = TFD_TRY(make_whole(init, spec));
  if (rows) whole = Tensor(whole).slice_rows(rows->first, rows->count);
  return whole.unshared();
} catch (const std::bad_alloc&) {  // less may be granted than is free
  return fail(Code::kResourceExhausted, "no memory for {}", format_spec(spec));
}

}  // namespace tfd::variable
