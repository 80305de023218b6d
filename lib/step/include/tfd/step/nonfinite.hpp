#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A training ends when its loss, or a variable that it trains, is not a finite number, unless the program says
// otherwise (Program::stops_at_nonfinite()). The losses are those metrics of a step that are called "loss" or end in
// "loss"; if none is, all metrics. Metrics are on the host anyway, so looking at them is free. Thread rule: plain
// values.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tfd/base/error.hpp"
#include "tfd/program/program.hpp"
#include "tfd/step/call.hpp"

namespace tfd::step {

/// The losses of one function.
class LossWatch {
 public:
  /// Watches nothing.
  LossWatch() = default;
  /// Watches the losses of train.function, or of another one, if a loss that is not finite ends the training.
  explicit LossWatch(const program::Program& program)
      : LossWatch(program, program.train ? program.train->function : "") {}
  LossWatch(const program::Program& program, std::string_view function);

  bool is_loss(std::string_view metric) const;
  /// kInternal for the first loss that is not finite. `step` is the number of the step, from 1; `replica`: whose loss
  /// it is; negative: not known.
  Result<void> check(const std::vector<Metric>& metrics, std::int64_t step, int replica = -1) const;

 private:
  std::vector<std::string> losses_;
};

/// "NaN", "infinite".
std::string_view describe_nonfinite(double value);
/// The error of a loss: "metric 'loss' of replica 1 is NaN at step 57; train.on_nonfinite=continue goes on with it".
Error nonfinite_loss(std::string_view metric, double value, std::int64_t step, int replica = -1);
/// The error of a gradient, by the name of its variable.
Error nonfinite_gradient(std::string_view function, std::string_view variable, std::int64_t step);

/// Floating-point variables that the training changes and that were finite at first: they must stay finite in
/// checkpoints. Empty if the training goes on with numbers that are not finite.
std::vector<std::string> variables_to_stay_finite(const program::Program& program);

}  // namespace tfd::step
