#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// train.stop (Keras' EarlyStopping): decides whether there was no better evaluation for too long, and which
// evaluation's variables are restored at the end. Its state is saved beside the checkpoints: a training that continues
// from one of them stops where it would have without the interruption. Private to the room. Thread rule: one thread.
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
  /// Makes the state; without train.stop it never stops, and has no best.
  EarlyStopping(const program::TrainDef& train, Log log);

  /// Continues training from this step: evaluations of an earlier run count up to it.
  void resume(std::int64_t step);
  /// Starts anew: removes the records of an earlier run.
  void begin_anew();
  /// Step of the newest evaluation that counts.
  std::optional<std::int64_t> seen_step() const { return seen_step_; }

  /// True if observe() may take the state; others may change the variables meanwhile.
  bool needs_state() const { return restores_; }
  /// Records an evaluation at this step. Errors of `take`; failed writes are logged, and training continues.
  Result<void> observe(std::int64_t step, const Metrics& metrics, const TakeState& take);
  bool is_over() const { return best_ && best_->since() >= patience_; }

  /// Step whose variables are restored at the end; nullopt: none, the last ones stay.
  std::optional<std::int64_t> best_step() const { return best_step_; }
  Result<variable::Checkpoint> load_best() const;
  const Metrics& best_metrics() const { return best_metrics_; }

 private:
  Log log_;
  bool restores_;
  std::int64_t patience_ = 1;
  std::optional<Best> best_;
  std::optional<StopRecord> record_;  // set if there are a rule and a directory
  std::optional<std::int64_t> seen_step_;
  std::optional<std::int64_t> best_step_;
  std::optional<variable::Checkpoint> best_state_;  // this run's; an earlier run's is on disk
  bool best_is_saved_ = false;                      // this run's is on disk, too
  Metrics best_metrics_;
};

}  // namespace tfd::train
