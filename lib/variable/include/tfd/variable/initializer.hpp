#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Initial values of variables, as Keras' initializers; random ones from Philox4x32-10 with a stated seed, so that the
// same program starts with the same weights everywhere. Thread rule: pure functions.
#include <nlohmann/json_fwd.hpp>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::variable {

/// {"zeros": {}}, {"ones": {}}, {"constant": {"value": 0.1}}, {"uniform": {"min", "max", "seed"}}, {"normal": {"mean",
/// "stddev", "seed"}}, {"truncated_normal": …}, {"glorot_uniform" | "glorot_normal" | "he_uniform" | "he_normal" |
/// "lecun_uniform" | "lecun_normal": {"seed"}}, {"value": nested lists}. Checks without making anything:
/// kInvalidArgument names the key (and the nearest known one). Random ones need a floating dtype. Without a seed one is
/// drawn from the system each time, so programs that want the same start again state it; two variables of one seed
/// start alike.
Result<void> check_initializer(const nlohmann::ordered_json& init, const tensor::TensorSpec& spec);
/// The initial value. Fans of a shape as Keras computes them (rank 1: both its size; rank > 2: receptive field times
/// the last two). Source: keras/src/initializers/random_initializers.py, 3.x; Salmon et al., SC'11 (Philox).
Result<tensor::Tensor> make_initial_value(const nlohmann::ordered_json& init, const tensor::TensorSpec& spec);

}  // namespace tfd::variable
