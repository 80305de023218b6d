#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a training says as JSON lines: start, step, eval, checkpoint, end (tfd-coordinate(1), OUTPUT), and the metrics
// of the steps between two of its lines. Private to the room. Thread rule: the training's thread.
#include <optional>
#include <string>

#include "tfd/base/deadline.hpp"
#include "tfd/base/json_line.hpp"
#include "tfd/step/call.hpp"
#include "tfd/train/train_loop.hpp"
#include "tfd/train/training.hpp"

namespace tfd::train {

class Reporter {
 public:
  /// `task`: who says it, and how many of the updates were its own, where several do; empty: neither is said. `options`
  /// must outlive it.
  explicit Reporter(const TrainOptions& options, std::string task = {}) : options_(options), task_(std::move(task)) {}

  JsonLine event(std::string_view name) const;
  Result<void> emit(JsonLine line) const;

  /// From here on: time, and the global step.
  void begin(std::int64_t step);
  /// The global step was set back to this one.
  void rewind(std::int64_t step) { reported_step_ = step; }
  /// Steps of this task's own.
  void count(const StepCount& steps);
  /// Whether the first metric that isn't finite is a warning, and in the `end` event; not where the program says what
  /// becomes of such steps.
  void warn_of_nonfinite(const program::Program& program);
  /// A line for people.
  void say(const std::string& line) const;
  Result<void> step(std::int64_t step);
  Result<void> evaluated(std::int64_t step, const Metrics& metrics, Clock::time_point begun);
  Result<void> saved(std::int64_t step, const std::string& path, bool best = false) const;
  void progress(std::int64_t step, std::optional<std::int64_t> steps) const;
  /// The metrics of the end are these, of an earlier evaluation.
  void restore_evaluation(Metrics metrics) { evaluation_ = std::move(metrics); }

  Result<void> worker(const WorkerEvent& news, std::int64_t step) const;

  struct End {
    std::string reason;
    std::int64_t step = 0;
    std::optional<std::int64_t> restored_step = {};
    const Error* error = nullptr;
  };
  Result<void> end(const End& end) const;

  /// Whether all of this task's own steps are in a `step` event.
  bool all_reported() const { return own_ == reported_own_; }
  std::int64_t reported_step() const { return reported_step_; }
  const Metrics& evaluation() const { return evaluation_; }
  /// The last training metrics, and over them the last evaluation's.
  Metrics metrics() const;
  Duration elapsed() const { return Clock::now() - started_; }

 private:
  void look_at(const std::string& metric, double value, std::int64_t step, std::string_view where);

  const TrainOptions& options_;
  std::string task_;
  bool warns_of_nonfinite_ = false;
  std::optional<std::pair<std::string, std::int64_t>> nonfinite_;  // the first such metric, and its step
  step::MetricAccumulator interval_;
  Metrics last_interval_;
  Metrics evaluation_;
  std::int64_t own_ = 0;
  std::int64_t reported_own_ = 0;
  std::int64_t reported_step_ = 0;
  Clock::time_point started_ = Clock::now();
  Clock::time_point reported_at_ = started_;
};

}  // namespace tfd::train
