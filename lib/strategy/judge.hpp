#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What follows from the chief's evaluations: which one is the best, and when there was no better one for too long.
// Private to the room. Thread rule: plain value.
#include <optional>

#include "tfd/program/program.hpp"
#include "tfd/strategy/kept_best.hpp"
#include "tfd/strategy/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

class Judge {
 public:
  /// `keeps`: train.checkpoint.keep_best is its business, and not an evaluator's.
  Judge(const program::TrainDef& train, bool keeps) : restores_(train.stop && train.stop->restore_best) {
    if (train.stop) {
      stop_by_.emplace(train.stop->by, train.stop->min_delta);
      patience_ = train.stop->patience;
    }
    if (keeps && train.checkpoint && train.checkpoint->keep_best) keep_by_.emplace(*train.checkpoint);
  }

  /// Whether what is evaluated may be wanted again: others change the variables meanwhile.
  bool needs_state() const { return keep_by_ || restores_; }
  /// Of an evaluation of `evaluated`, whose state is there where needs_state(). True: it is the best one to keep.
  bool observe(const Metrics& metrics, const variable::Checkpoint& evaluated) {
    if (stop_by_ && stop_by_->observe(metrics) && restores_) {
      best_ = evaluated;
      best_metrics_ = metrics;
    }
    return keep_by_ && keep_by_->observe(metrics);
  }
  /// What was observed last, which is the best one to keep.
  Result<std::string> keep(const variable::Checkpoint& evaluated) const { return keep_by_->save(evaluated); }
  bool is_over() const { return stop_by_ && stop_by_->since() >= patience_; }
  /// What the variables are to be at the end, where they are to be those of the best evaluation.
  const std::optional<variable::Checkpoint>& best() const { return best_; }
  const Metrics& best_metrics() const { return best_metrics_; }

 private:
  bool restores_;
  std::int64_t patience_ = 1;
  std::optional<Best> stop_by_;
  std::optional<KeptBest> keep_by_;
  std::optional<variable::Checkpoint> best_;
  Metrics best_metrics_;
};

}  // namespace tfd::strategy
