#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// train.stop: whether there was no better evaluation for too long, and which one's variables are to be those of the
// end. What it knows outlives the process, beside the checkpoints: a training that goes on from one of them stops where
// it would have without the interruption. Private to the room. Thread rule: one thread.
#include <memory>
#include <optional>

#include "tfd/base/log.hpp"
#include "tfd/program/program.hpp"
#include "tfd/train/checkpoint_notes.hpp"
#include "tfd/train/training.hpp"
#include "tfd/variable/checkpoint.hpp"

namespace tfd::train {

class EarlyStopping {
 public:
  /// Without train.stop it never stops, and has no best.
  EarlyStopping(const program::TrainDef& train, Log log);

  /// Training goes on from this step: the evaluations of an earlier run up to it count, later ones don't.
  void resume(std::int64_t step);
  /// No earlier evaluation counts: what an earlier run left is removed.
  void begin_anew();
  /// Of the newest evaluation that counts.
  std::optional<std::int64_t> seen_step() const { return seen_step_; }

  /// Whether observe() may ask for the state: others may change the variables meanwhile.
  bool needs_state() const { return restores_; }
  /// An evaluation at this step. Errors are those of `take`: what can't be written is logged, and training goes on.
  Result<void> observe(std::int64_t step, const Metrics& metrics, const TakeState& take);
  bool is_over() const { return best_ && best_->since() >= patience_; }

  /// The step whose variables are to be those of the end; nullopt: the last one.
  std::optional<std::int64_t> best_step() const { return best_step_; }
  Result<variable::Checkpoint> load_best() const;
  const Metrics& best_metrics() const { return best_metrics_; }

 private:
  Log log_;
  bool restores_;
  std::int64_t patience_ = 1;
  std::optional<Best> best_;
  std::optional<StopRecord> record_;  // where there are a rule and a directory
  std::optional<std::int64_t> seen_step_;
  std::optional<std::int64_t> best_step_;
  std::optional<variable::Checkpoint> best_state_;  // of this run; that of an earlier one is on disk
  bool best_is_saved_ = false;                      // that of this run is there, too
  Metrics best_metrics_;
};

}  // namespace tfd::train
