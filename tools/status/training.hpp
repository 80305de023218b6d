#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where the training is that a cluster makes, as the first task says that has been told (task::kStandingKey). Thread
// rule: pure functions.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ask.hpp"

namespace tfd::status {

/// Seconds until the last step at this rate; nullopt: one of them isn't known, nothing is left, or it takes decades.
std::optional<double> seconds_left(std::int64_t step, std::optional<std::int64_t> steps,
                                   std::optional<double> steps_per_second);

struct Training {
  std::int64_t step = 0;
  std::optional<std::int64_t> steps = {};
  std::vector<std::pair<std::string, double>> metrics = {};  // of the last `step` event; a number each
  std::optional<double> steps_per_second = {};
  std::string checkpoint = {};  // path of the newest one
  Duration age = {};            // since whoever makes its steps has said this
  /// False if it hasn't been said again for some seconds.
  bool is_fresh() const;
  /// Seconds until the last step at this rate, where both are known, and fresh.
  std::optional<double> seconds_left() const;
};

/// The training that the tasks report; nullopt if none does. Values of an unexpected type are left out.
std::optional<Training> find_training(const std::vector<TaskReport>& reports);
/// "step 1200 of 20000  loss 0.0234  350 steps/s  ETA 54s  checkpoint ck/step-00001000.safetensors" and a newline, in
/// lines of at most `columns` columns, where each part fits. If a training is slow, stopped or dead it says how old
/// this is, "12s ago", in place of the remaining time.
std::string headline(const Training& training, std::size_t columns);

}  // namespace tfd::status
