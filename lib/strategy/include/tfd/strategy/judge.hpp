#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What follows from evaluations: which one is the best, to be kept (train.checkpoint.keep_best) or restored at the end,
// and when there was no better one for too long (train.stop). What it knows outlives the process, beside the
// checkpoints: a training that goes on from one of them goes on judging as if it had not been interrupted.
// Thread rule: one thread.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tfd/base/log.hpp"
#include "tfd/program/program.hpp"
#include "tfd/strategy/best.hpp"
#include "tfd/strategy/kept_best.hpp"
#include "tfd/strategy/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::strategy {

class StopRecord;

class Judge {
 public:
  /// What was evaluated, where it is wanted.
  using TakeState = std::function<Result<variable::Checkpoint>()>;

  /// `keeps`: train.checkpoint.keep_best is its business, and not an evaluator's.
  Judge(const program::TrainDef& train, bool keeps, Log log);
  ~Judge();

  /// This run's training goes on: what it has kept as the best is known.
  void go_on(const std::string& run) {
    if (keep_by_) keep_by_->go_on(run);
  }
  /// Training goes on from this step: what an earlier run's evaluations up to it said counts, what later ones said
  /// doesn't.
  void resume(std::int64_t step);
  /// Training begins where nothing that was seen counts: what an earlier run left is removed.
  void begin_anew();
  /// Of the newest evaluation that counts for train.stop.
  std::optional<std::int64_t> seen_step() const { return seen_step_; }

  /// Whether observe() may ask for the state: others may change the variables meanwhile.
  bool needs_state() const { return keep_by_ || restores_; }
  /// Of an evaluation at this step. The path of the best checkpoint, where this one is it; else nothing. Errors are
  /// those of `take`: what can't be written is said, and training goes on.
  Result<std::optional<std::string>> observe(std::int64_t step, const Metrics& metrics, const TakeState& take);
  bool is_over() const { return stop_by_ && stop_by_->since() >= patience_; }

  /// The step whose variables are to be those of the end; nullopt: the last one.
  std::optional<std::int64_t> best_step() const { return best_step_; }
  Result<variable::Checkpoint> load_best() const;
  const Metrics& best_metrics() const { return best_metrics_; }

 private:
  Result<void> observe_for_stop(std::int64_t step, const Metrics& metrics, const TakeState& take);

  Log log_;
  bool restores_;
  std::int64_t patience_ = 1;
  std::optional<Best> stop_by_;
  std::optional<KeptBest> keep_by_;
  std::unique_ptr<StopRecord> record_;  // where there are a rule and a directory
  std::optional<std::int64_t> seen_step_;
  std::optional<std::int64_t> best_step_;
  std::optional<variable::Checkpoint> best_;  // of this run; that of an earlier one is on disk
  bool best_is_saved_ = false;                // that of this run is there, too
  Metrics best_metrics_;
};

}  // namespace tfd::strategy
