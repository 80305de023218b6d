#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which evaluation is the best so far, and for how many there was no better one: train.stop and keep_best.
// Thread rule: plain value.
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "tfd/program/program.hpp"

namespace tfd::strategy {

class Best {
 public:
  explicit Best(program::BestDef by, double min_delta = 0) : by_(std::move(by)), min_delta_(min_delta) {}

  /// Whether this one is the best; NaN never is, and one without the metric isn't looked at.
  bool observe(const std::vector<std::pair<std::string, double>>& metrics) {
    for (const auto& [name, value] : metrics) {
      if (name != by_.metric) continue;
      const double gain = by_.higher ? value - value_.value_or(-INFINITY) : value_.value_or(INFINITY) - value;
      if (std::isnan(value) || !(gain > min_delta_)) {
        ++since_;
        return false;
      }
      value_ = value;
      since_ = 0;
      return true;
    }
    return false;
  }
  /// That it has been told of an earlier run.
  void restore(std::optional<double> value, std::int64_t since) {
    value_ = value;
    since_ = since;
  }
  std::int64_t since() const { return since_; }
  std::optional<double> value() const { return value_; }

 private:
  program::BestDef by_;
  double min_delta_;
  std::optional<double> value_;
  std::int64_t since_ = 0;
};

}  // namespace tfd::strategy
