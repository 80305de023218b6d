#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Learning-rate schedules: a number, or a function of `iterations`, the updates that were applied before.
// Thread rule: immutable after it was read.
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tfd/base/error.hpp"

namespace tfd::variable {

class Schedule {
 public:
  explicit Schedule(double rate) : rate_(rate) {}
  explicit Schedule(std::function<double(double)> function) : function_(std::move(function)) {}
  double at(std::int64_t iterations) const { return function_ ? function_(static_cast<double>(iterations)) : rate_; }
  bool is_constant() const { return !function_; }

 private:
  double rate_ = 0;
  std::function<double(double)> function_;
};

/// 0.01, or {"exponential_decay": {…}} with Keras' names: constant, exponential_decay, inverse_time_decay,
/// polynomial_decay, piecewise_constant_decay, cosine_decay (with warm-up), cosine_decay_restarts. kInvalidArgument
/// starts with `path`.
Result<Schedule> parse_schedule(const nlohmann::ordered_json& json, const std::string& path);

}  // namespace tfd::variable
