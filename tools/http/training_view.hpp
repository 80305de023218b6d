#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A training as its events tell it: how far it is, its last metrics, and their curves, thinned out so that a long
// training takes no more memory than a short one. Thread rule: thread-compatible.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tfd/base/deadline.hpp"
#include "tfd/train/training.hpp"

namespace tfd::http {

/// Values of one metric by step. Where there are too many points, every second one goes, and fewer are taken from then
/// on; the last one is always there.
class Curve {
 public:
  /// A step that isn't after the last one begins anew there: an earlier state was restored.
  void add(std::int64_t step, double value);
  std::vector<std::pair<std::int64_t, double>> points() const;

 private:
  std::vector<std::pair<std::int64_t, double>> kept_;
  std::optional<std::pair<std::int64_t, double>> last_;  // unless it was kept
  std::uint64_t every_ = 1;                              // number of points per kept point
  std::uint64_t passed_ = 0;                             // since one was kept
};

struct TrainingView {
  bool has_begun = false;
  std::string program;
  std::int64_t step = 0;
  std::optional<std::int64_t> steps;
  std::optional<double> steps_per_second;
  train::Metrics metrics;     // of the last steps
  train::Metrics evaluation;  // of the last evaluation
  std::string checkpoint;     // path of the newest one
  std::optional<std::int64_t> checkpoint_step;
  std::uint64_t checkpoints = 0;   // that were saved
  std::uint64_t lost_workers = 0;  // how often one was lost
  std::uint64_t lost_servers = 0;
  std::string awaited_server;  // that was lost, and without which nothing goes on
  std::string ended;           // the reason; empty: it goes on
  std::map<std::string, Curve> train_curves, evaluation_curves;
  std::optional<Clock::time_point> moved;  // when `step` was last another one
  std::optional<Duration> silence;         // how long tasks haven't been told of it: it is slow, over or dead

  /// Takes an event, one line of JSON; other lines are skipped. `now`: when it came.
  void add_event(std::string_view line, Clock::time_point now);
  /// Takes the status of a training's task, or of its loop, which knows the step between two events.
  void set_step(std::int64_t reached, Clock::time_point now);
  void add_metrics(std::int64_t at, const train::Metrics& values);

  /// Seconds until the last step at this rate, where both are known and it goes on.
  std::optional<double> seconds_left() const;
};

}  // namespace tfd::http
