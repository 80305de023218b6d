#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Initial values of variables, as Keras' initializers; random ones from Philox4x32-10 with a stated seed, so that the
// same program starts with the same weights everywhere. Thread rule: pure functions.
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::variable {

/// {"zeros": {}}, {"ones": {}}, {"constant": {"value": 0.1}}, {"uniform": {"min", "max", "seed"}}, {"normal": {"mean",
/// "stddev", "seed"}}, {"truncated_normal": …}, {"variance_scaling": {"scale", "mode", "distribution", "seed"}},
/// {"glorot_uniform" | "glorot_normal" | "he_uniform" | "he_normal" | "lecun_uniform" | "lecun_normal": {"seed"}},
/// {"orthogonal": {"gain", "seed"}}, {"identity": {"gain"}}, {"value": nested lists}, {"npy": {"path"}},
/// {"safetensors":
/// {"path", "key"}}. Checks without making anything or looking at files: kInvalidArgument names the key (and the
/// nearest known one). Random ones need a floating dtype. Without a seed one is drawn from the system each time, so
/// programs that want the same start again state it; two variables of one seed start alike.
Result<void> check_initializer(const nlohmann::ordered_json& init, const tensor::TensorSpec& spec);
/// The same with its file, if it has one: relative to `directory`. An npy header must fit `spec`; a safetensors file
/// must have the key, and it must fit. Returns its JSON with the path made absolute.
Result<std::string> check_initializer_file(const nlohmann::ordered_json& init, const tensor::TensorSpec& spec,
                                           const std::string& directory, bool look_at_file);

/// Whether a file with these tensors (tensor::load_safetensors_specs) has `key` with that spec. kNotFound names the
/// nearest key; kInvalidArgument both specs.
Result<void> check_stored(const std::map<std::string, tensor::TensorSpec>& stored, const std::string& path,
                          const std::string& key, const tensor::TensorSpec& spec);

/// Some of the rows: a shard of a partitioned variable, equal to those rows of the whole.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
/// The initial value of a variable of this spec, or only its `rows`. Fans of a shape as Keras computes them (rank 1:
/// both its size; rank > 2: receptive field times the last two). kNotFound, kDataLoss: its file. Source:
/// keras/src/initializers/random_initializers.py, 3.x; Salmon et al., SC'11 (Philox).
Result<tensor::Tensor> make_initial_value(const nlohmann::ordered_json& init, const tensor::TensorSpec& spec,
                                          std::optional<RowRange> rows = std::nullopt);

}  // namespace tfd::variable
