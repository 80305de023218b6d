#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Initial values of variables, as Keras' initializers; random ones from Philox4x32-10 with a stated seed, so that the
// same program starts with the same weights everywhere. Thread rule: pure functions.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"
#include "tfd/variable/checkpoint_reader.hpp"

namespace tfd::variable {

struct ConstantInit {
  tensor::Tensor scalar;  // in every element
};
struct ValueInit {
  tensor::Tensor value;
};
struct RandomInit {
  enum class Distribution : std::uint8_t { kUniform, kNormal, kTruncatedNormal };
  Distribution distribution = Distribution::kUniform;
  double a = 0, b = 0;  // [a, b) of a uniform one; mean and standard deviation of the others
  std::optional<std::uint64_t> seed = {};
};
struct OrthogonalInit {
  double gain = 1;
  std::optional<std::uint64_t> seed = {};
};
struct IdentityInit {
  double gain = 1;
};
struct FileInit {
  std::string path;
  std::optional<std::string> key = {};  // of safetensors; absent: npy
};
/// A variable's initial value, which fits the variable's spec: parse_initializer() has checked that.
using Initializer = std::variant<ConstantInit, ValueInit, RandomInit, OrthogonalInit, IdentityInit, FileInit>;

/// {"zeros": {}}, {"ones": {}}, {"constant": {"value": 0.1}}, {"uniform": {"min", "max", "seed"}}, {"normal": {"mean",
/// "stddev", "seed"}}, {"truncated_normal": …}, {"variance_scaling": {"scale", "mode", "distribution", "seed"}},
/// {"glorot_uniform" | "glorot_normal" | "he_uniform" | "he_normal" | "lecun_uniform" | "lecun_normal": {"seed"}},
/// {"orthogonal": {"gain", "seed"}}, {"identity": {"gain"}}, {"value": nested lists}, {"npy": {"path"}},
/// {"safetensors": {"path", "key"}}. kInvalidArgument names the key (and the nearest known one). Random ones need a
/// floating dtype. Without a seed one is drawn from the system each time, so programs that want the same start again
/// state it; two variables of one seed start alike. Fans of a shape as Keras computes them (rank 1: both its size;
/// rank > 2: receptive field times the last two). A file's path starts in `directory`; where it is looked at, an npy
/// header must fit `spec`, and a safetensors file must have the key, which must fit. `files`: of all variables of a
/// program; null: no file is looked at.
/// Source: keras/src/initializers/random_initializers.py, 3.x.
Result<Initializer> parse_initializer(const nlohmann::ordered_json& init, const tensor::TensorSpec& spec,
                                      const std::string& directory = {}, CheckpointFiles* files = nullptr);
/// The JSON from which parse_initializer() makes the same value, for the same spec.
nlohmann::ordered_json to_json(const Initializer& init);

/// Whether the file has `key` with that spec. kNotFound names the nearest key; kInvalidArgument both specs.
Result<void> check_stored(const CheckpointReader& file, const std::string& key, const tensor::TensorSpec& spec);

/// Some of the rows: a shard of a partitioned variable, equal to those rows of the whole.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
/// The initial value of a variable of the spec that the initializer was parsed for, or only its `rows`. `files`: of all
/// variables whose values are being made. kNotFound, kInvalidArgument, kDataLoss: its file. Source: Salmon et al.,
/// SC'11 (Philox).
Result<tensor::Tensor> make_initial_value(const Initializer& init, const tensor::TensorSpec& spec,
                                          CheckpointFiles& files, std::optional<RowRange> rows = std::nullopt);

}  // namespace tfd::variable
