#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Optimizers, as Keras': SGD (momentum, Nesterov) and Adam here. They update one variable in place from one gradient;
// slots live beside their variable; t counts the applied updates of that variable.
// Thread rule: an Optimizer is immutable and thread-safe; a VariableState belongs to whoever updates it.
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/tensor/tensor.hpp"

namespace tfd::variable {

struct VariableState {
  std::string name;
  tensor::Tensor value;
  std::vector<std::pair<std::string, tensor::Tensor>> slots;  // "momentum", "velocity": same shape as the value
  std::int64_t updates = 0;                                   // applied so far: Keras' iterations for this variable
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Makes the slots that are missing (zeros).
  virtual void prepare(VariableState& state) const = 0;
  /// One update; counts it. The gradient has the value's dtype (f32 or f64) and shape: kInvalidArgument otherwise.
  /// Writes in place where nobody else holds the buffers, else into fresh ones.
  /// Source: keras/src/optimizers/{sgd,adam}.py, 3.x; within 2 ulp in float32. An f64 variable gets the settings as f64
  /// (Keras rounds the learning rate to float32 first).
  virtual Result<void> apply(VariableState& state, const tensor::Tensor& gradient) const = 0;
  virtual double learning_rate() const = 0;
};

/// {"sgd": {"learning_rate": 0.01, "momentum": 0, "nesterov": false}}, {"adam": {"learning_rate": 0.001, "beta_1": 0.9,
/// "beta_2": 0.999, "epsilon": 1e-7}}; "clipvalue", "clipnorm" are the worker's business and are refused here.
/// kInvalidArgument names the key: "adam.beta_3: unknown, did you mean 'beta_2'?", "sgd.momentum: must be within [0,
/// 1]".
Result<std::shared_ptr<const Optimizer>> make_optimizer(const nlohmann::ordered_json& optimizer);

}  // namespace tfd::variable
