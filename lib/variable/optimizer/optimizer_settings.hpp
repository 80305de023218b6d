#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// An optimizer as the program states it, read and checked. Thread rule: immutable after it was read.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "optimizers.hpp"
#include "schedule.hpp"
#include "tfd/base/error.hpp"
#include "tfd/variable/optimizer.hpp"

namespace tfd::variable {

/// Settings of the variables whose names match a pattern.
struct Group {
  std::string pattern;  // empty: all others
  Rule rule;
  Schedule rate{0};
  double weight_decay = 0;
  std::optional<double> clipnorm, clipvalue;
};

struct OptimizerSettings {
  const OptimizerInfo* info = nullptr;
  std::vector<Group> groups;  // in the order of the program; the last is for all others
  std::vector<std::string> no_decay;
  std::optional<double> global_clipnorm;
  bool clips = false;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite;
  std::int64_t accumulation = 1;
  bool lazy_rows = false;
  OnNonfinite on_nonfinite = OnNonfinite::kApply;
  std::optional<LossScale> loss_scale;
};

Result<OptimizerSettings> parse_optimizer_settings(const nlohmann::ordered_json& optimizer);

}  // namespace tfd::variable
