#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Curves from events: the JSON lines that tfd-run and tfd-coordinate print. Thread rule: plain values.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/error.hpp"

namespace tfd::plot {

/// A metric of one run, of its training or of its evaluations.
struct Curve {
  std::string run;        // its name in the legend
  std::string task = {};  // of a worker that prints its own
  bool is_eval = false;
  bool is_of_epochs = false;                   // of `epoch` events, until one of both is left
  std::map<std::int64_t, double> points = {};  // by step: where a run went back to a checkpoint, the later value
};
/// One metric, with the curves of all runs in their order.
struct Chart {
  std::string metric;
  std::vector<Curve> curves;
};

/// Leaves out what a logarithmic scale can't show. kInvalidArgument: that is all.
Result<void> keep_positive(std::vector<Chart>& charts);

class Charts {
 public:
  /// Reads the events of one run. Several workers that print their own are curves of their own. kInvalidArgument says
  /// which line is no event, or that no event has a metric.
  Result<void> add(std::string_view text, const std::string& run);
  /// The charts of these metrics, or of all, the loss first. Runs are named by the settings in which they differ, as
  /// their `start` events state them: "learning_rate=0.1 seed=2"; else as add() was told. kNotFound: no run has that
  /// metric, with the existing ones.
  Result<std::vector<Chart>> of(const std::vector<std::string>& metrics) const;

 private:
  Result<bool> add_line(std::string_view line, const std::string& run);
  void add_point(const std::string& metric, const Curve& of, std::int64_t step, double value);
  /// Keeps one of a run's two curves, over its `step` events or its `epoch` events: the one with more points.
  void choose_between_steps_and_epochs();
  std::map<std::string, std::string> names_of_runs() const;

  using Settings = std::map<std::string, std::string>;  // "optimizer.adam.learning_rate" -> "0.1"
  std::vector<std::pair<std::string, Settings>> runs_;  // in their order
  std::vector<Chart> charts_;                           // in the order in which metrics came
};

}  // namespace tfd::plot
