#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The settings of a group of variables, and the DeviceUpdate that they make. Thread rule: immutable and thread-safe.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "optimizers.hpp"
#include "schedule.hpp"
#include "tfd/variable/device_update.hpp"

namespace tfd::variable {

/// Settings on which an update of the group's variables depends.
struct GroupSettings {
  struct Ema {
    std::string slot;
    double momentum = 0.99;
    std::optional<std::int64_t> overwrite = {};
  };

  Rule rule;
  Schedule rate{0};
  std::int64_t accumulation = 1;  // gradients of an update: schedules count them
  double weight_decay = 0;
  std::optional<std::string> accumulator = {};  // its slot, where there is more than one
  std::optional<Ema> ema = {};
  std::optional<double> clipnorm = {}, clipvalue = {};
};
std::shared_ptr<const DeviceUpdate> make_device_update(GroupSettings settings);

}  // namespace tfd::variable
